"""Other libraries' interfaces, one file or folder each: what one of them needs is imported there and nowhere else."""
