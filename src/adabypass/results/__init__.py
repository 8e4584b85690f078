"""What runs and forecasts return: traces, scores, forecasts many steps ahead."""
