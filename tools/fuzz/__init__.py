"""Random calls of the public interface with hostile arguments: see `tools/fuzz_api.py`."""
