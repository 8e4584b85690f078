"""Other libraries' interfaces, one file or folder each, the only place that imports the library."""
