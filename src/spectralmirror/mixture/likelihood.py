"""The penalised likelihood of a mixture of linear classifiers, and its gradient.

    L(theta) = sum_G w_G log sum_l p_l(z_G) prod_{i in G} f(y_i t_il)^(w_i / w_G)
               - l2/2 sum_l v_l' P v_l + c sum_l log(k p_l) - m/2 sum_l |g_l - mean g|^2

where t_il = <v_l, z_i>, and theta holds the profiles v_l and the logits a of p = softmax(a). The
rows of a group G share their classifier; without groups, every row is its own group. z are working
coordinates, in which features are nearly uncorrelated, and P measures profiles per standard
deviation of the features. The last two terms, if c > 0, are a prior that keeps weights away from 0
and their dependence on covariates of the group finite, p_l(z) = softmax(<g_l, z> + a_l)
(:mod:`membership`); p_l is the weight at the mean of these. Without covariates, p_l(z) = p_l.

If persons of one class differ (:mod:`spread`), component l stands for k R tied ones: p_l becomes
p_l w_r and v_l becomes v_l + L' B z_r. The penalty is then l2/2 sum_l v_l' P v_l / c^2, for the
profiles as they are seen from outside (:meth:`Spread.shrinkage`), and L gains the log prior of B.

Labels of C > 2 kinds have C - 1 scores in each class (:mod:`label_contrasts`). The profile of a
class is then (C - 1) p numbers, the penalty (C - 1) times P, and t has a line for each of the
k (C - 1) scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar, cast

import numpy as np
from scipy import sparse

from spectralmirror.mixture.choice_sets import (
    ChoiceProbabilities,
    log_chosen,
    slopes_of_choices,
)
from spectralmirror.mixture.logistic import LogisticSums, logistic_log_f, logistic_posterior
from spectralmirror.mixture.membership import log_weights_at
from spectralmirror.mixture.parameters import Parameters, Posterior
from spectralmirror.mixture.problem import Problem, centred
from spectralmirror.rows.grouped import Block, GroupedRows, InMemoryGroups
from spectralmirror.rows.kernels import shifted
from spectralmirror.rows.narrow import narrow_product, narrow_sums
from spectralmirror.rows.reduce import Sums, added, collect, reduce
from spectralmirror.rows.types import AnyArray, Features, Matrix, Vector

__all__ = ["Likelihood"]

#: For sparse rows, a matrix product is faster than one matrix-vector product per profile from this
#: many profiles on.
MANY = 16
T = TypeVar("T")
#: Numbers that a row needs for each of the tied components, at a time.
TEMPORARIES = 2


@dataclass(frozen=True, eq=False)
class Gradient(Sums):
    """Value, gradient in the units of [x - o, 1], and that of (g_l, a_l).

    Without covariates the last is the sum of the responsibilities instead, shape (k, 1). If persons
    have nodes of their own, gradients are in working coordinates, and that of F B is there.
    """

    value: float
    profiles: Matrix
    of_weights: Matrix
    of_spread: Matrix


@dataclass(frozen=True, eq=False)
class Likelihood(Problem):
    """The penalised likelihood as a function of theta.

    The attributes are those of :class:`~.problem.Problem`.
    """

    def scores_of(self, block: Block, profiles: Matrix) -> Matrix:
        """Return t of a block, shape (k, n), or (k (C - 1), n)."""
        rows = profiles if self.labels is None else self.labels.in_rows(profiles)
        return self.scores(block.X, rows)

    def scores(self, X: Features, profiles: Matrix) -> Matrix:
        """Return t, shape (k, n)."""
        A = profiles @ self.coordinates.of_rows
        part = shifted(X, self.coordinates.shift)
        directions = A[:, :-1].astype(X.dtype)
        if not sparse.issparse(part):
            return narrow_product(part, directions, A[:, -1])
        if len(A) >= MANY:
            t = np.ascontiguousarray((part @ directions.T).T, dtype=np.float64)
        else:
            t = np.array([part.dot(direction) for direction in directions], dtype=np.float64)
        t += A[:, -1:]
        return t

    def posterior(self, block: Block, parameters: Parameters) -> Posterior:
        """Return the responsibilities of the components for a block."""
        if block.nodes is not None:
            found: Posterior = block.nodes.posterior(
                parameters.profiles, self.of_spread(parameters),
                self.log_weights(block, parameters), self.response,
            )  # fmt: skip
            return found
        t = self.scores_of(block, parameters.profiles)
        if self.labels is not None:
            log_f, slopes = self.labels.log_f_and_slopes(t, block.y)
            return _normalised(self._joint(block, log_f, parameters), t, slopes)
        if block.set_starts is not None:
            of = ChoiceProbabilities.of(t, block.layout)
            joint = self._joint_of_sets(block, of.log_chosen(block.chosen), parameters)
            return _normalised(joint, t, slopes_of_choices(of.pi(), block.y))
        t *= block.y
        if self.response.canonical:
            simple = logistic_posterior(t, block, self.log_weights(block, parameters))
            if simple is not None:
                return simple
        joint = self._joint(block, self.response.log_f(t), parameters)
        return _normalised(joint, t, self.response.slope(t))

    def expanded(self, parameters: Parameters) -> Parameters:
        """Return the components as the rows see them: k R tied ones if there is a spread.

        With nodes of each person's own, these are the business of each block.
        """
        if self.spread is None or self.has_person_nodes:
            return parameters
        steps = self.spread.nodes @ self.of_spread(parameters).T
        profiles = parameters.profiles[:, None] + steps
        logits = parameters.log_weights[:, None] + self.spread.log_weights
        membership = np.repeat(parameters.membership, len(steps), axis=0)
        return Parameters(
            profiles.reshape(-1, steps.shape[1]), logits.ravel(), membership=membership
        )

    @property
    def has_person_nodes(self) -> bool:
        """Whether each person has nodes of their own (:mod:`person_nodes`)."""
        return self.spread is not None and getattr(self.rows, "placed", None) is not None

    def covariates(self, block: Block) -> Matrix | None:
        """Return [z, 1] for the groups of a block; None if there are no covariates."""
        if self.membership is None or not self.membership.n_covariates:
            return None
        return self.membership.standardised(block.group_traits)

    def log_weights(self, block: Block, parameters: Parameters, *, possible: bool = True) -> Matrix:
        """Return log p_l(z) of the groups of a block, shape (k, n_groups), or (k, 1) if all agree.

        It is -inf for all but the class of a group whose class is known, unless `possible` is
        False.
        """
        Z = self.covariates(block)
        found = parameters.log_weights[:, None]
        if Z is not None:
            found = log_weights_at(Z, parameters.membership, parameters.logits)
        if self.membership is not None and possible:
            alone = self.spread is None or block.nodes is not None
            n_tied = 1 if alone or self.spread is None else len(self.spread.nodes)
            allowed = self.membership.possible(block.group_traits, len(parameters), n_tied)
            found = found if allowed is None else found + allowed
        return found

    def of_spread(self, parameters: Parameters) -> Matrix:
        """Return L' B, in working coordinates; without columns if there is no spread."""
        if self.spread is None:
            return np.empty((self.profile_size, 0))
        return np.asarray(self.from_standard @ self.spread.matrix(parameters.spread))

    def mean_weights(self, parameters: Parameters) -> tuple[Vector, Matrix]:
        """Return the average of p_l(z) over the groups, and its gradient in all (g_m, a_m).

        The gradient has shape (k, k (q + 1)). This is a pass over the rows if there are covariates.
        """
        p = parameters.weights
        if not parameters.membership.shape[1]:
            return p, np.diag(p) - np.outer(p, p)
        sums = reduce(self.rows, partial(self._weight_sums, parameters=parameters))
        mean = sums / sums[:, 0].sum()
        return mean[:, 0], mean[:, 1:]

    def _weight_sums(self, block: Block, parameters: Parameters) -> Matrix:
        Z, w = self.covariates(block), block.shares[0]
        assert Z is not None
        p = np.exp(self.log_weights(block, parameters, possible=False))
        p_w, k = p if w is None else p * w, len(p)
        apart = np.eye(k)[:, :, None] * p_w[:, None] - p_w[:, None] * p
        return np.column_stack([p_w.sum(axis=1), (apart @ Z).reshape(k, -1)])

    def log_known(self, parameters: Parameters) -> float:
        """Return sum_G w_G log p_c(z_G) over the groups whose class c is known."""
        if not self.has_known:
            return 0.0
        return float(reduce(self.rows, partial(self._log_known, parameters=parameters)))

    def _log_known(self, block: Block, parameters: Parameters) -> float:
        assert self.membership is not None
        allowed = self.membership.possible(block.group_traits, len(parameters), 1)
        if allowed is None:
            return 0.0
        known = np.flatnonzero(np.isinf(allowed).any(axis=0))
        w = block.shares[0]
        log_p = np.broadcast_to(self.log_weights(block, parameters, possible=False), allowed.shape)
        found = log_p[allowed[:, known].argmax(axis=0), known]
        return float(found.sum() if w is None else found @ w[known])

    def joint(self, block: Block, parameters: Parameters) -> Matrix:
        """Return log p_l + sum_i log f(y_i t_il) for each group, shape (k, n_groups)."""
        t = self.scores_of(block, parameters.profiles)
        if self.is_logistic and block.sets is None:
            log_f = logistic_log_f(t * block.y, block)
            if log_f is not None:
                return log_f + self.log_weights(block, parameters)
        return self._joint(block, self.log_f(block, t), parameters)

    def log_f(self, block: Block, t: Matrix) -> Matrix:
        """Return log P of each label, given the scores t of all components, shape (k, n).

        Of a choice set, the chosen row has log P, and the others 0.
        """
        if self.labels is not None:
            return self.labels.log_f(t, block.y)
        if block.set_starts is None:
            return np.asarray(self.response.log_f(t * block.y))
        return log_chosen(t, block.y, block.set_starts)

    def _joint(self, block: Block, log_f: Matrix, parameters: Parameters) -> Matrix:
        _, shares = block.shares
        joint = block.sums(log_f if shares is None else log_f * shares)
        return joint + self.log_weights(block, parameters)

    def _joint_of_sets(self, block: Block, log_chosen: Matrix, parameters: Parameters) -> Matrix:
        """As :meth:`_joint`, from one number for each choice set."""
        _, shares = block.shares
        of_sets = log_chosen if shares is None else log_chosen * shares[block.chosen]
        joint = np.add.reduceat(of_sets, block.first_sets, axis=1)
        return np.asarray(joint + self.log_weights(block, parameters))

    def evaluate(self, parameters: Parameters) -> tuple[float, Vector]:
        """Return L(theta) and its gradient: one pass over the rows."""
        sums = reduce(self.rows, partial(self._gradient, parameters=self.expanded(parameters)))
        k, pulls = len(parameters), sums.profiles
        if not self.has_person_nodes:
            pulls = pulls @ self.coordinates.of_rows.T
        pulls = pulls if self.labels is None else self.labels.pulled(pulls)
        of_spread = np.empty(0)
        if self.spread is not None:
            pulls = pulls.reshape(k, -1, pulls.shape[1])
            slopes = sums.of_spread
            if not self.has_person_nodes:
                slopes = pulls.sum(axis=0).T @ self.spread.nodes
            slopes = self.from_standard.T @ slopes
            of_spread = self.spread.pulled(slopes) + self.spread.prior_slope(parameters.spread)
            pulls = pulls.sum(axis=1)
        share, slope, _ = self.shrinkage(parameters)
        penalised = self.weighted(parameters.profiles, self.penalty)
        of_spread = of_spread - 0.5 * float((parameters.profiles * penalised).sum()) * slope
        of_weights = sums.of_weights.reshape(k, -1, parameters.n_fixed).sum(axis=1)
        if parameters.n_fixed == 1:
            of_weights = of_weights - of_weights.sum() * parameters.weights[:, None]
        of_weights[:, -1] += self.concentration * (1 - k * parameters.weights)
        of_weights[:, :-1] -= self.membership_l2 * centred(parameters.membership)
        parts = [(pulls - share * penalised).ravel(), of_spread, of_weights.ravel()]
        return sums.value + self.log_prior(parameters), np.concatenate(parts)

    def _gradient(self, block: Block, parameters: Parameters) -> Gradient:
        if self._is_plain(block):
            lines = parameters.profiles @ self.coordinates.of_rows
            sums = LogisticSums.of(block, self.coordinates.shift, lines, parameters.weights)
            if sums is not None:
                return Gradient(sums.value, sums.pulls, sums.mass[:, None], np.empty((0, 0)))
        of = partial(self._gradient_of_piece, parameters=parameters)
        return added(map(of, self.pieces(block, len(parameters))))

    @property
    def is_logistic(self) -> bool:
        """Whether f is the logistic function, of binary labels or of choices from sets."""
        return self.response.canonical and self.labels is None

    def _is_plain(self, block: Block) -> bool:
        """Whether labels are binary and logistic, rows dense, and weights the same for all."""
        same = self.membership is None and block.nodes is None and block.counts is None
        return self.is_logistic and block.sets is None and same and isinstance(block.X, np.ndarray)

    def pieces(self, block: Block, n_components: int) -> Iterator[Block]:
        """Yield parts of a block that are small enough for temporaries of all scores."""
        if block.nodes is not None or (self.spread is None and self.labels is None):
            yield block
        else:
            yield from block.pieces(TEMPORARIES * n_components * self.n_contrasts)

    def _gradient_of_piece(self, block: Block, parameters: Parameters) -> Gradient:
        posterior = self.posterior(block, parameters)
        w, shares = block.shares
        r, found = posterior.responsibilities, posterior.log_likelihood
        r, of_spread = r if w is None else r * w, np.empty((0, 0))
        if block.nodes is not None:
            profiles, of_spread = block.nodes.gradient(posterior, w)
            return self._gathered(block, parameters, found, profiles, r, of_spread)
        if self.labels is not None:
            g = self.labels.of_labels(block.of_rows(r)) * posterior.slopes
            g = g if shares is None else g * shares
        else:
            g = block.of_rows(r) * posterior.slopes
            g *= block.y if shares is None else block.y * shares
        part = shifted(block.X, self.coordinates.shift)
        profiles = np.column_stack([rows_product(g.astype(block.X.dtype), part), g.sum(axis=1)])
        return self._gathered(block, parameters, found, profiles, r, of_spread)

    def _gathered(
        self, block: Block, parameters: Parameters, found: Vector, profiles: Matrix, r: Matrix,
        of_spread: Matrix,
    ) -> Gradient:  # fmt: skip
        """Add the value, and the gradient of (g_l, a_l), from weighted responsibilities."""
        w = block.shares[0]
        Z, of_weights = self.covariates(block), r.sum(axis=1)[:, None]
        if Z is not None:
            p = np.exp(self.log_weights(block, parameters, possible=False))
            of_weights = (r - (p if w is None else p * w)) @ Z
        value = float(found.sum() if w is None else found @ w)
        return Gradient(value, profiles, of_weights, of_spread)

    def total(self, parameters: Parameters, function: Callable[[Block, Posterior], T]) -> T:
        """Sum a function of each block and its posterior over all blocks.

        With a spread, responsibilities are those of the k classes.
        """
        expanded, k = self.expanded(parameters), len(parameters)

        def of(piece: Block) -> T:
            found = self.posterior(piece, expanded)
            r = found.responsibilities.reshape(k, -1, found.responsibilities.shape[1]).sum(axis=1)
            return function(piece, replace(found, responsibilities=r))

        def of_block(block: Block) -> T:
            return added(map(of, self.pieces(block, len(expanded))))

        return reduce(self.rows, of_block)

    def on(self, rows: GroupedRows) -> Likelihood:
        """Return the likelihood of some of the rows, with the same prior per row.

        Its maximum is then about where that of all rows is.
        """
        share = rows.total_weight / self.rows.total_weight
        return replace(
            self, rows=rows, l2=self.l2 * share, concentration=self.concentration * share
        )

    def inside(self, basis: Matrix) -> Likelihood:
        """Return the likelihood within a subspace, in which rows have few coordinates.

        Rows in memory are projected once, other rows each time they are read.
        """
        narrow = replace(self, coordinates=self.coordinates.inside(basis))
        return narrow.projected() if self.rows.in_memory else narrow

    def projected(self, dtype: type[np.floating[Any]] = np.float64) -> Likelihood:
        """Return the likelihood of rows in memory that hold their working coordinates z."""
        p = self.coordinates.size
        eye = np.eye(p)[: p - self.coordinates.intercept]
        Z = collect(self.rows, lambda block: self.scores(block.X, eye).T.astype(dtype, order="C"))
        rows = cast(InMemoryGroups, self.rows).with_features(Z)
        return replace(self, rows=rows, coordinates=replace(self.coordinates, projected=True))

    def working(self, block: Block) -> Matrix:
        """Return the working coordinates z of a block, shape (n, p)."""
        coordinates = self.coordinates
        return np.asarray(block.with_ones(coordinates.shift) @ coordinates.of_rows.T)


def _normalised(joint: Matrix, signed: Matrix, slopes: Matrix) -> Posterior:
    """Return the posterior of components from the logarithms of joint probabilities."""
    largest = joint.max(axis=0)
    joint = np.exp(joint - largest)
    total = joint.sum(axis=0)
    joint /= total
    return Posterior(largest + np.log(total), joint, signed, slopes)


def rows_product(coefficients: AnyArray, part: Features) -> Matrix:
    """Return sum_i a_i x_i for each row a of the coefficients, shape (k, d)."""
    if sparse.issparse(part) and len(coefficients) >= MANY:
        return np.asarray((part.T @ coefficients.T).T, dtype=np.float64)
    if sparse.issparse(part):
        return np.array([part.T.dot(a) for a in coefficients], dtype=np.float64)
    return narrow_sums(coefficients, part)
