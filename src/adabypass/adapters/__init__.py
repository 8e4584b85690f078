"""Other libraries' interfaces, one file each: what one of them needs is imported there and nowhere else."""
