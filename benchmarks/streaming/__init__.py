"""What a stream of many series costs: time a row, memory, checkpoints, and starts."""
