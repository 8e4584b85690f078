"""What a model consists of: its hyperparameters, and the layout of its row."""
