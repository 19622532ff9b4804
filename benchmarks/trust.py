"""Coverage, calibration, false-positive rates and power on simulated data, also misspecified.

Run with ``make trust``, about 25 minutes on two cores; ``SECTION=coverage`` runs one of `SECTIONS`.
Seeds are fixed. Every number is a mean over data sets, with its standard error.
"""

from __future__ import annotations

import os

from benchmarks.trust_counts import counts, power
from benchmarks.trust_faults import faults, responses
from benchmarks.trust_intervals import calibration, coverage
from benchmarks.trust_loss import loss
from benchmarks.trust_membership import membership
from benchmarks.trust_selection import bootstrap, tests
from benchmarks.trust_spread import spread

SECTIONS = {
    "coverage": coverage,
    "calibration": calibration,
    "loss": loss,
    "counts": counts,
    "power": power,
    "faults": faults,
    "responses": responses,
    "spread": spread,
    "membership": membership,
    "tests": tests,
    "bootstrap": bootstrap,
}


def main() -> None:
    """Print the tables."""
    for name, section in SECTIONS.items():
        if os.environ.get("SECTION", name) == name:
            section()
