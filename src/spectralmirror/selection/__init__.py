"""How many classes there are: criteria, held-out likelihood, and tests.

`compare` runs everything, on `parts` of the groups where needed; `ratio_test` is the bootstrap
likelihood-ratio test, whose resamples come from `simulation`; `split_test` says how many classes
there are at least; `comparison` is the result.
"""

from spectralmirror.selection.compare import compare_components
from spectralmirror.selection.comparison import ComponentComparison

__all__ = ["ComponentComparison", "compare_components"]
