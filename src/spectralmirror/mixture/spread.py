"""How much persons of one class differ: the shape of B, and the nodes that stand for persons.

Person g of class l has the profile u_l + B z_g with z_g ~ N(0, I), per standard deviation of the
features; the intercept, if there is one, is the last coefficient, at the mean of the features. An
integral over z is a sum over nodes z_r of weights w_r, so that the labels come from k R classifiers
u_l + B z_r whose parameters are tied: the sums over rows are those of a mixture without spread.

B has few free entries b, and is

    "intercept"   b e           for the intercept alone, whose unit vector is e
    "diagonal"    diag(b)       each coefficient by itself
    "factor"      [diag(b), c]  and one factor that all share, B B' = diag(b^2) + c c'
    "full"        symmetric     any covariance B B'

With labels of C > 2 kinds, each of the C - 1 contrasts of a coefficient (:mod:`label_contrasts`)
has such a B of its own, all with the same entries: I (x) B in place of B. Persons then scatter
equally about all labels, whichever label comes first, as the contrasts of other labels are rotated
ones; and b is the standard deviation of the difference of any two labels.

The prior of b is proportional to |b| exp(-1/2 sum_e l2_e b_e^2). Persons always differ a little:
its first factor keeps B away from 0, where the few labels of a person would put it half of the time
even if B is not 0 (Chung et al. 2013), and has next to no effect where labels determine B.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, ndtri
from scipy.stats import qmc

from spectralmirror.rows.types import AnyArray, Matrix, Vector

__all__ = ["KINDS", "Spread", "node_sets", "nodes_of", "quadrature"]

KINDS = ("intercept", "diagonal", "factor", "full")
#: The first penalty on b: a prior of standard deviation 3, for log-odds per standard deviation.
FIRST_L2 = 0.1
#: Nodes of the quadrature of one dimension, and for each of two dimensions.
ONE, TWO = 41, 15
#: Norms of b count as at least the root of this.
TINY = 1e-12
#: Binary digits of a Sobol point, and how many of several sets are scrambled anew.
DIGITS, N_SCRAMBLED = 30, 8
#: Nodes of a smaller weight, relative to the largest, are left out.
LEAST_WEIGHT = 1e-9


@dataclass(frozen=True, eq=False)
class Spread:
    """The shape of B, the prior of its entries, and the nodes.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    rows, columns : ndarray of shape (m,)
        Where B is not 0.
    entries : ndarray of shape (m,)
        The number of the free entry that stands there.
    n_coefficients : int
        Number of rows of B.
    n_contrasts : int
        How many times B stands in I (x) B.
    penalty : ndarray of shape (n_entries,)
        l2 of each entry.
    nodes : ndarray of shape (R, q)
        z_r.
    log_weights : ndarray of shape (R,)
        log w_r.
    repulsion : float
        The power of |b| in the prior; 0 for a likelihood without prior.
    """

    kind: str
    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    entries: NDArray[np.intp]
    n_coefficients: int
    penalty: Vector
    nodes: Matrix
    log_weights: Vector
    n_contrasts: int = 1
    repulsion: float = 1.0

    @classmethod
    def of(
        cls, kind: str, n_coefficients: int, n_nodes: int, seed: int, n_contrasts: int = 1
    ) -> Spread:
        """Return a spread of some kind, with about so many nodes."""
        p = n_coefficients
        each = np.arange(p)
        rows, columns, entries = each, each, each
        if kind == "intercept":
            rows, columns, entries = each[-1:], each[:1], each[:1]
        elif kind == "factor":
            rows, columns = np.tile(each, 2), np.append(each, np.full(p, p))
            entries = np.arange(2 * p)
        elif kind == "full":
            above, right = np.triu_indices(p, 1)
            pairs = p + np.arange(len(above))
            rows = np.concatenate([each, above, right])
            columns = np.concatenate([each, right, above])
            entries = np.concatenate([each, pairs, pairs])
        q, each = int(columns.max()) + 1, np.repeat(np.arange(n_contrasts), len(rows))
        rows, columns, entries = (np.tile(one, n_contrasts) for one in (rows, columns, entries))
        nodes, log_weights = nodes_of(n_contrasts * q, n_nodes, seed)
        penalty = np.full(entries.max() + 1, FIRST_L2)
        return cls(
            kind, rows + each * p, columns + each * q, entries, n_contrasts * p, penalty, nodes,
            log_weights, n_contrasts,
        )  # fmt: skip

    def __len__(self) -> int:
        """Return the number of free entries."""
        return len(self.penalty)

    @property
    def is_deviation(self) -> NDArray[np.bool_]:
        """Which entries are standard deviations of single coefficients, rather than ties."""
        p = self.n_coefficients // self.n_contrasts
        return np.arange(len(self)) < (1 if self.kind == "intercept" else p)

    def with_nodes(self, n_nodes: int, seed: int) -> Spread:
        """Return the same spread with other nodes."""
        nodes, log_weights = nodes_of(self.nodes.shape[1], n_nodes, seed)
        return replace(self, nodes=nodes, log_weights=log_weights)

    def with_penalty(self, penalty: Vector) -> Spread:
        """Return the same spread with other penalties."""
        return replace(self, penalty=penalty)

    def log_prior(self, b: Vector) -> float:
        """Return log |b| - 1/2 sum_e l2_e b_e^2."""
        away = self.repulsion * np.log(max(float(b @ b), TINY))
        return 0.5 * float(away - self.penalty @ np.square(b))

    def prior_slope(self, b: Vector) -> Vector:
        """Return the gradient of :meth:`log_prior`."""
        return np.asarray(self.repulsion * b / max(float(b @ b), TINY) - self.penalty * b)

    def prior_curvature(self, b: Vector) -> Matrix:
        """Return minus the second derivatives of :meth:`log_prior`."""
        square = max(float(b @ b), TINY)
        away = 2 * np.outer(b, b) / square**2 - np.eye(len(b)) / square
        return np.asarray(np.diag(self.penalty) + self.repulsion * away)

    def shrinkage(self, b: Vector, noise_variance: float) -> tuple[float, Vector, Matrix]:
        """Return 1 / c^2 = 1 / (1 + |B|^2 / s^2), its gradient and its second derivatives.

        A spread flattens the labels of a class as noise does: seen from outside, a profile is c
        times shorter than those of the persons (compare `Response.noise_variance`).
        """
        n = np.bincount(self.entries) / (self.n_contrasts * noise_variance)
        found = 1 / (1 + float(n @ np.square(b)))
        slope = -2 * found**2 * n * b
        second = 2 * np.outer(slope, slope) / found - 2 * found**2 * np.diag(n)
        return found, slope, second

    @property
    def log_mean_norm(self) -> float:
        """Log of the mean of |b| if b ~ N(0, 1 / l2), which normalises the prior.

        Exact if all l2 are equal; otherwise with their geometric mean.
        """
        half = len(self) / 2
        of_unit = gammaln(half + 0.5) - gammaln(half) + 0.5 * np.log(2)
        return float(of_unit - 0.5 * np.log(self.penalty).mean())

    def matrix(self, b: Vector) -> Matrix:
        """Return B."""
        B = np.zeros((self.n_coefficients, self.nodes.shape[1]))
        B[self.rows, self.columns] = b[self.entries]
        return B

    def pulled(self, slopes: Matrix) -> Vector:
        """Return the gradient with respect to b, from that with respect to B."""
        found = np.bincount(self.entries, slopes[self.rows, self.columns], minlength=len(self))
        return np.asarray(found)

    def directions(self) -> AnyArray:
        """Return the change of B z_r with b, shape (R, n_coefficients, n_entries)."""
        found = np.zeros((len(self.nodes), self.n_coefficients, len(self)))
        found[:, self.rows, self.entries] = self.nodes[:, self.columns]
        return found


def nodes_of(q: int, n_nodes: int, seed: int) -> tuple[Matrix, Vector]:
    """Return nodes of shape (R, q) for N(0, I), and the logarithms of their weights.

    Gauss-Hermite quadrature for one or two dimensions. For more, scrambled Sobol points and their
    mirror images, with exactly the covariance I if there are enough of them.
    """
    if q == 0:
        return np.zeros((1, 0)), np.zeros(1)
    if q <= 2:
        return quadrature(q, ONE if q == 1 else TWO)
    nodes = _mirrored(_sobol(q, seed).random_base2(_power(n_nodes))[None])[0]
    return nodes, np.full(len(nodes), -np.log(len(nodes)))


def node_sets(q: int, n_nodes: int, seed: int, n_sets: int) -> tuple[AnyArray, Vector]:
    """Return several sets of nodes for more than two dimensions, shape (n_sets, R, q).

    Scrambling is slow. Sobol points stay what they are if some of the binary digits of a coordinate
    are exchanged, the same ones in all points: each set has digits of its own, and so many as
    `N_SCRAMBLED` have a scrambling of their own.
    """
    n_scrambled, power = min(n_sets, N_SCRAMBLED), _power(n_nodes)
    points = [_sobol(q, seed + one).random_base2(power) for one in range(n_scrambled)]
    digits = np.resize((np.array(points) * 2.0**DIGITS).astype(np.int64), (n_sets, 2**power, q))
    exchanged = np.random.default_rng([seed, q]).integers(0, 2**DIGITS, (n_sets, 1, q))
    nodes = _mirrored(((digits ^ exchanged) + 0.5) / 2.0**DIGITS)
    return nodes, np.full(nodes.shape[1], -np.log(nodes.shape[1]))


def _power(n_nodes: int) -> int:
    return max(int(np.ceil(np.log2(n_nodes / 2))), 1)


def _mirrored(points: AnyArray) -> AnyArray:
    """Return normal nodes and their mirror images from sets of uniform points."""
    half = ndtri(points)
    nodes, q = np.concatenate([half, -half], axis=1), points.shape[2]
    if points.shape[1] > 2 * q:
        root = np.linalg.cholesky(nodes.swapaxes(1, 2) @ nodes / nodes.shape[1])
        return np.linalg.solve(root, nodes.swapaxes(1, 2)).swapaxes(1, 2)
    return np.asarray(nodes / np.sqrt(np.square(nodes).mean(axis=1))[:, None])


def quadrature(q: int, n_each: int) -> tuple[Matrix, Vector]:
    """Return the nodes of Gauss-Hermite quadrature for one or two dimensions, as `nodes_of`."""
    x, w = np.polynomial.hermite_e.hermegauss(n_each)
    grid = np.stack(np.meshgrid(*[x] * q, indexing="ij"), axis=-1).reshape(-1, q)
    weights = np.prod(np.stack(np.meshgrid(*[w] * q, indexing="ij"), axis=-1), axis=-1).ravel()
    kept = weights > LEAST_WEIGHT * weights.max()
    return grid[kept], np.log(weights[kept] / weights[kept].sum())


def _sobol(q: int, seed: int) -> Any:
    """Return scrambled Sobol points; SciPy calls their generator `seed` before version 1.15."""
    try:
        return qmc.Sobol(q, rng=np.random.default_rng(seed))
    except TypeError:
        return qmc.Sobol(q, seed=np.random.default_rng(seed))
