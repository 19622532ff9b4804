"""Properties are tried on the same examples in every run; `make properties` tries many new ones."""

from hypothesis import HealthCheck, settings

settings.register_profile("fixed", max_examples=40, derandomize=True, deadline=None)
settings.register_profile(
    "wide", max_examples=400, deadline=None, suppress_health_check=list(HealthCheck)
)
settings.load_profile("fixed")

#: A program of its own, for an environment without extras (`make wheel`).
collect_ignore = ["core.py"]
