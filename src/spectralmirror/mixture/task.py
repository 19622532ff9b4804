"""What is to be fitted: the likelihood, the number of components, and where to start."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from spectralmirror.mixture.lbfgs import Climber
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.starts import Maximum
from spectralmirror.rows.types import Matrix

__all__ = ["Subspace", "Task"]

#: A subspace is clear if its weakest direction stands out of the noise this many times.
CLEAR = 2.0
#: Limit on the passes of one climb over rows that are not in memory.
MOST_PASSES = 500


@dataclass(frozen=True, eq=False)
class Subspace:
    """The subspace in which to look for starts.

    Attributes
    ----------
    basis : ndarray of shape (K, d)
        Vectors that span it, in the units of x.
    separation : float
        How far its weakest direction stands out of the noise.
    """

    basis: Matrix
    separation: float

    @property
    def is_clear(self) -> bool:
        """Whether all of its directions clearly stand out of the noise."""
        return self.separation >= CLEAR


@dataclass(frozen=True, eq=False)
class Task:
    """A mixture to fit. It stays the same during the fit, apart from the state of `rng`.

    Attributes
    ----------
    k : int
        Number of components.
    likelihood : Likelihood
        Of all rows, over the whole space.
    subspace : Subspace or None
        Where to look for starts; None means the whole space.
    refine : bool
        Whether to leave the subspace in the end.
    init : Parameters, "spectral" or "random"
        Where to start.
    n_init, max_iter : int
        Limits on the number of starts and on the steps of a climb.
    tol : float
        The last climb ends at a step that gains less than this.
    solver : Climber
        :func:`climb` or :func:`em`.
    rng : RandomState
        Source of randomness.
    choose_l2 : bool
        Whether the penalty is chosen from the data; that of the likelihood is then the first one.
    compare_fewer : bool
        Whether to find out if fewer components have more evidence.
    before : Parameters or None
        What an earlier fit has found with k components, or with k - 1, in the same coordinates.
    found : tuple of Maximum
        All maxima of an earlier search for k components, which this one continues.
    """

    k: int
    likelihood: Likelihood
    subspace: Subspace | None
    refine: bool
    init: Parameters | str
    n_init: int
    max_iter: int
    tol: float
    solver: Climber
    rng: np.random.RandomState
    choose_l2: bool = False
    compare_fewer: bool = False
    before: Parameters | None = None
    found: tuple[Maximum, ...] = ()

    @property
    def climber(self) -> Climber:
        """The solver, limited to `max_iter` steps."""
        return partial(self.solver, max_iter=self.max_iter)

    @property
    def is_spectral(self) -> bool:
        """Whether starts are grown from the data, rather than random or given."""
        return isinstance(self.init, str) and self.init == "spectral"

    @property
    def max_passes(self) -> int | None:
        """Limit on the passes of a climb over all rows; None for rows in memory."""
        return None if self.likelihood.rows.in_memory else MOST_PASSES

    @cached_property
    def seed(self) -> int:
        """Seed of the first sample; samples of a sample add to it."""
        return int(self.rng.randint(2**31))
