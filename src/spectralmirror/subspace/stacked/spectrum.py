"""The stack of mirrored matrices, and the directions that stand out of it beside r-hat.

With M_1, M_2, M_3 the mirrored sums of e W W' and v_1 ... v_B the sums of e W in the slices, all
scaled so that an entry of pure noise has variance 1, the stack is

    A = [M_1 / sqrt(2) | M_2 / sqrt(2) | M_3 / sqrt(2) | v_1 ... v_B].

The root of 2 makes up for the symmetry of M, in which every off-diagonal entry counts twice.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import eigh

from spectralmirror.rows.types import Matrix, Vector
from spectralmirror.subspace.spectrum import Spectrum

__all__ = ["stacked_gram", "stacked_spectrum"]


def stacked_gram(M: Sequence[Matrix], v: Matrix, d: int) -> Matrix:
    """Return A A', divided by the mean of its eigenvalues under pure noise.

    That mean is 3 d / 2 + B - 1: the three M contribute d / 2 each, and the v_b one each, except
    for the one dimension that :meth:`Slices.beside_turn` removes. Eigenvalues of noise then lie
    around 1. The data and the sign flips that they are compared with are both scaled here.

    Parameters
    ----------
    M : sequence of ndarray of shape (m, m)
        The mirrored matrices in m coordinates of the complement of r-hat, or in all coordinates
        and projected onto that complement.
    v : ndarray of shape (m, B)
        The sums of the slices, in the same coordinates.
    d : int
        Number of dimensions including that of r-hat.
    """
    blocks = [*(matrix / np.sqrt(2) for matrix in M), v]
    gram = sum(block @ block.T for block in blocks)
    return np.asarray(gram / (len(M) * d / 2 + v.shape[1] - 1))


def stacked_spectrum(M: Sequence[Matrix], v: Matrix, unit: Vector) -> Spectrum:
    """Return the left singular vectors of A beside the unit vector, and squared singular values.

    These are in units of their mean under pure noise, so that the bulk lies around 1.
    """

    def beside(matrix: Matrix) -> Matrix:
        return matrix - np.outer(unit, unit @ matrix)

    gram = stacked_gram([beside(beside(matrix).T) for matrix in M], beside(v), len(unit))
    # The unit vector has eigenvalue 0 up to rounding; subtracting 1 makes it the last for certain.
    eigenvalues, vectors = eigh(gram - np.outer(unit, unit))
    return Spectrum(eigenvalues[:0:-1], vectors[:, :0:-1], 1.0)
