# The automatic forecaster's row, and the way in for Python.
