"""Mixtures of linear classifiers, by maximum likelihood.

`estimator` is the class. A fit goes through `preprocessing` (whitening, subspace), `fitting` (one
function for each step), `samples` (rows on which starts compete), `search` and `starts` (maxima),
`lbfgs` or `em` (climbs) and `newton` (the last steps). All of them maximise the `likelihood`, in
`coordinates` in which it is nearly round; `curvature` has its second derivatives. Afterwards come
`inference` (standard errors), `criteria` and `selection` (how many components), `diagnostics` (what
the user should know), `summary` and `prediction`. `bootstrap` refits resamples (`resampling`).
`routing` is what scikit-learn's searches pass to a fit, `frames` returns DataFrames, and `card` is
what a notebook shows.

Rows of many features are `wide`: columns are only scaled, `preconditioner` and `principal` take the
place of whitening, `operators` and `quadrature` that of matrices, and `wide_search` and
`wide_evidence` that of `search` and `evidence`.

If persons of one class differ, `spread` says how, `person_nodes` gives each person nodes to
integrate over, `tied_curvature` and `person_curvature` have the second derivatives, `spread_start`,
`spread_fitting` and `spread_selection` find and choose it, `spread_units` has it in the units of x,
and `persons` and `person_model` say what labels tell about a person. `spread_score` tests whether
it is needed.
"""

from spectralmirror.mixture.bootstrap import Bootstrap
from spectralmirror.mixture.choice_estimator import ChoiceMixture
from spectralmirror.mixture.estimator import LinearClassifierMixture, MixtureWarning

__all__ = ["Bootstrap", "ChoiceMixture", "LinearClassifierMixture", "MixtureWarning"]
