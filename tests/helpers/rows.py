"""Rows in groups, for tests of what is summed over them."""

from dataclasses import replace

import numpy as np

from spectralmirror.rows.grouped import InMemoryGroups


def in_groups(rows, groups=None):
    """Return rows in the groups that integers name, or each row on its own."""
    keys = None if groups is None else np.asarray(groups).astype(np.uint64)
    return InMemoryGroups.of(replace(rows, keys=keys))
