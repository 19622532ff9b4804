"""Digests of fits, to compare them to the last bit; run as a module, it prints those of some fits.

It imports little, because tests start it in processes of their own.
"""

from hashlib import sha256

import numpy as np

from spectralmirror import LinearClassifierMixture, SpectralMirror
from spectralmirror.datasets import make_linear_classifier_mixture


def digest(model):
    """Return a digest of all that was fitted, to the last bit."""
    text = sha256()
    for name, value in sorted(vars(model).items()):
        if name.endswith("_"):
            text.update(name.encode())
            array = isinstance(value, np.ndarray) and value.dtype != object
            text.update(value.tobytes() if array else repr(value).encode())
    return text.hexdigest()


def digests():
    """Return digests of fits that use threads: more rows than a block holds."""
    X, y, truth = make_linear_classifier_mixture(40_000, 8, group_size=4, random_state=0)
    yield digest(SpectralMirror(2, random_state=0).fit(X, y))
    yield digest(SpectralMirror(2, method="paper").fit(X, y))
    yield digest(SpectralMirror(2, random_state=0).fit(X, y, groups=truth.groups))
    yield digest(LinearClassifierMixture(2, random_state=0).fit(X, y))
    yield digest(LinearClassifierMixture(2, random_state=0).fit(X, y, groups=truth.groups))


if __name__ == "__main__":
    print(*digests(), sep="\n")
