"""How good: log score, CRPS, calibration and errors beside other libraries, on the same streams in the same run."""
