"""Mixtures of linear classifiers, by maximum likelihood.

`estimator` is the class. A fit goes through `preprocessing` (whitening, subspace), `fitting` (one
function for each step), `samples` (rows on which starts compete), `search` and `starts` (maxima),
`lbfgs` or `em` (climbs) and `newton` (the last steps). All of them maximise the `likelihood`, in
`coordinates` in which it is nearly round; `curvature` has its second derivatives. Afterwards come
`inference` (standard errors), `criteria` and `selection` (how many components), `diagnostics` (what
the user should know), `summary` and `prediction`.
"""

from spectralmirror.mixture.estimator import LinearClassifierMixture, MixtureWarning

__all__ = ["LinearClassifierMixture", "MixtureWarning"]
