"""The hottest loops, in C, compiled once for each instruction set; the fastest that the machine can run is used."""
