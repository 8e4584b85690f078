"""How much `adabypass serve` holds: `make bench-serve`."""
