"""What a row costs on Spark: the engine's part and the model's, at several numbers of keys."""
