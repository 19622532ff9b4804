"""Two people share an account: who rated what? Draws docs/images/mixture.png."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from spectralmirror import LinearClassifierMixture
from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.plotting import plot_profiles, plot_responsibilities, plot_starts

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "mixture.png"


def main() -> None:
    """Fit ratings grouped by session, and draw who rated, with and without the sessions."""
    X, y, truth = make_linear_classifier_mixture(
        6_000, 10, weights=[0.6, 0.4], group_size=20, random_state=0
    )
    mixture = LinearClassifierMixture(2, random_state=0).fit(X, y, groups=truth.groups)
    print(mixture.summary())
    print(f"\nprofiles of the truth, heaviest first:\n{truth.profiles.round(2)}")

    figure, axes = plt.subplots(2, 2, figsize=(11, 9), layout="constrained")
    plot_profiles(mixture, ax=axes[0, 0])
    plot_starts(mixture, ax=axes[0, 1])
    plot_responsibilities(mixture, X, y, ax=axes[1, 0])
    plot_responsibilities(mixture, X, y, groups=truth.groups, ax=axes[1, 1])
    axes[0, 0].set_title(f"Profiles of {mixture.n_components_} raters")
    figure.savefig(PICTURE, dpi=80)
    print(f"\nPicture: {PICTURE}")


if __name__ == "__main__":
    main()
