"""The signal of the second direction in each mirror at 130 degrees, against the weight p.

The population signal by quadrature, in units of its noise: E[e T(s) (t^2 - 1)] / sqrt(2 E[e^2 T^2])
for mirrors of products, and E[e T(s) t] / sqrt(E[e^2 T^2]) for mirrors of rows, with s along r and
t across it in the plane of the profiles. Writes docs/images/blind_spot.png.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "blind_spot.png"
NORM, ANGLE = 3.0, np.radians(130)


def signals(p: float) -> dict[str, float]:
    """Return the signal of each mirror at weight p."""
    nodes, mass = np.polynomial.hermite_e.hermegauss(160)
    mass = mass / mass.sum()
    profiles = NORM * np.array([[1, 0], [np.cos(ANGLE), np.sin(ANGLE)]])
    weights = np.array([p, 1 - p])
    # r = sum_l p_l E[g'(<u_l, W>)] u_l; both profiles have the same length, so E[g'] is common
    r = weights @ profiles
    r /= np.linalg.norm(r)
    across = np.array([-r[1], r[0]])
    s, t = np.meshgrid(nodes, nodes, indexing="ij")
    h = sum(
        weight * (2 * expit(s * (u @ r) + t * (u @ across)) - 1)
        for weight, u in zip(weights, profiles, strict=True)
    )
    m = h @ mass  # E[y | s]
    variance = 1 - m**2

    def moment(T: np.ndarray, function: np.ndarray, spread: float) -> float:
        signal = (mass * T) @ ((h - m[:, None]) * function) @ mass
        return float(abs(signal) / np.sqrt(spread * (mass * T**2) @ variance))

    return {
        "sgn(s), the paper's": moment(np.sign(nodes), t**2 - 1, 2),
        "s": moment(nodes, t**2 - 1, 2),
        "rows, s² − 1": moment(nodes**2 - 1, t, 1),
        "rows, exp(−s²)": moment(np.exp(-(nodes**2)), t, 1),
    }


def main() -> None:
    """Draw the signals against p."""
    weights = np.linspace(0.5, 0.97, 95)
    values = [signals(p) for p in weights]
    figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
    styles = (("#1b1b1b", "-"), ("#1f78b4", "--"), ("#d95f02", "-."), ("#7b3294", ":"))
    for name, (colour, line) in zip(values[0], styles, strict=True):
        ax.plot(weights, [v[name] for v in values], color=colour, linestyle=line, label=name)
    ax.axvline(0.79864, color="#8c8c8c", linewidth=1)
    ax.annotate("p = 0.79864", (0.79864, ax.get_ylim()[1] * 0.95), (6, 0),
                textcoords="offset points", va="top", color="#555555")  # fmt: skip
    ax.set(xlabel="weight p of the first classifier",
           ylabel="signal of the second direction\n(units of the noise of one row)",
           title="Logistic profiles of norm 3 at 130 degrees, mean 0")  # fmt: skip
    ax.set_ylim(bottom=0)
    ax.legend(title="mirror T(s)", frameon=False)
    figure.savefig(PICTURE, dpi=110)
    print(PICTURE)


if __name__ == "__main__":
    main()
