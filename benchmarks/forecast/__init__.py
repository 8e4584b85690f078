"""How good many steps ahead: errors, CRPS, intervals and time beside other libraries, on the same series."""
