"""One setting for every property-based test: fixed seeds, no clock."""

from hypothesis import settings

settings.register_profile("fixed", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("fixed")
