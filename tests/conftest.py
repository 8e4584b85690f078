"""One setting for every property-based test: fixed seeds, no clock.

Examples still depend on which modules are loaded: hypothesis tries the constants that it finds in them.
"""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "fixed", deadline=None, derandomize=True, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("fixed")
