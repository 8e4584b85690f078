"""What is believed: the noise, the hyperparameters, the layout of a row, predictive distributions."""
