"""How a panel's time and memory grow with the number of series and threads: `python -m benchmarks.panel`."""
