"""How fast: ratios measured in one run, since machines differ and are noisy."""
