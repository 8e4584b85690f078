"""What a forecast is: a distribution of the next observation, or of many."""
