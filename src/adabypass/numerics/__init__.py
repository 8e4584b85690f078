"""Numbers: limits, special functions, families of noise."""
