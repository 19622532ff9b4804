"""Find two hidden classifiers and their plane, and draw them: output/plane.png."""

from __future__ import annotations

import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from spectralmirror import LinearClassifierMixture, SpectralMirror
from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.metrics import component_error, principal_angles, profile_error, subspace_error
from spectralmirror.plotting import plot_mirror, plot_spectrum

PICTURE = Path(__file__).parents[1] / "output" / "plane.png"


def main() -> None:
    """Simulate, fit, print and draw."""
    n, d = 50_000, 20
    print(f"{n:,} rows of {d} features. Each label came from one of 2 hidden classifiers, drawn")
    print("with probabilities 0.6 and 0.4; which one was not recorded.\n")
    X, y, truth = make_linear_classifier_mixture(
        n, d, weights=[0.6, 0.4], profiles=6 * np.eye(2, d), random_state=0
    )

    start = time.perf_counter()
    mirror = SpectralMirror(n_components="auto", random_state=0).fit(X, y)
    seconds = time.perf_counter() - start

    k, kept = mirror.n_components_, mirror.n_outliers_
    outliers = ", ".join(f"{value:.1f}" for value in mirror.eigenvalues_[:kept])
    bulk = mirror.eigenvalues_[kept:]
    angles = np.degrees(principal_angles(mirror.components_, truth.profiles))
    blind = np.random.default_rng(0).standard_normal((k, d))
    paper = SpectralMirror(k, method="paper").fit(X, y)
    print(f"SpectralMirror took {seconds:.2f} s.")
    print(f"  components found             {k} (truth: 2), one of them the mirror direction")
    print(f"  eigenvalues that stand out   {outliers}, in units of the noise")
    print(f"  all the others               {bulk.min():.1f} to {bulk.max():.1f}")
    print(f"  angles to the true plane     {angles[0]:.1f} and {angles[1]:.1f} degrees")
    print(f"  its own estimate             {np.degrees(mirror.error_estimate_):.1f} degrees")
    print("  sine of the largest angle")
    for name, basis in (
        ("this plane", mirror.components_),
        ("the paper's algorithm", paper.components_),
        ("a random plane", blind),
    ):
        print(f"    {name:<26} {subspace_error(basis, truth.profiles):.3f}")

    start = time.perf_counter()
    mixture = LinearClassifierMixture(n_components=2, random_state=0).fit(X, y)
    seconds = time.perf_counter() - start
    who = mixture.predict_component(X, y)
    new_X, new_y, new = make_linear_classifier_mixture(
        n, d, weights=[0.6, 0.4], profiles=6 * np.eye(2, d), group_size=20, random_state=1
    )
    together = mixture.predict_component(new_X, new_y, groups=new.groups)
    print(f"\nLinearClassifierMixture took {seconds:.2f} s. {mixture.status_}")
    print(f"  weights                      {mixture.weights_.round(3)} (truth: 0.6 and 0.4)")
    print(f"  relative error of profiles   {profile_error(truth.profiles, mixture.coef_):.3f}")
    error = component_error(truth.components, who)
    print(f"  labels assigned correctly    {1 - error:.0%}, and it expected "
          f"{mixture.expected_accuracy_:.0%}: one label says little")  # fmt: skip
    error = component_error(new.components, together)
    print(f"  the same, groups of 20       {1 - error:.1%}")

    figure, axes = plt.subplots(1, 3, figsize=(12.4, 4.45), layout="constrained")
    plot_mirror(mirror, X, y, axes=axes[:2])
    plot_spectrum(mirror, ax=axes[2])
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=120)
    print(f"\nPicture: {PICTURE}")


if __name__ == "__main__":
    main()
