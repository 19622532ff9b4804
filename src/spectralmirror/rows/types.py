"""Names for the types of arrays."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["AnyArray", "Features", "Matrix", "Vector"]

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
#: In the precision of the features: float64 or float32.
AnyArray = NDArray[Any]
#: Rows of features, an array or a CSR matrix.
Features = Any
