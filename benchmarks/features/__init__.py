"""What forms of the covariance cost, and what they lose: `python -m benchmarks.features`."""
