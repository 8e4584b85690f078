"""Build the files of a release, check them, and try them as a user would."""
