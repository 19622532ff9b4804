"""Write the model and its predictions that all later versions must read. Run once per format."""

from pathlib import Path

import numpy as np
import polars as pl

import spectralmirror
from spectralmirror.rows.files.readers import readers_of
from spectralmirror.tables.column_roles import ColumnRoles
from spectralmirror.tables.fit_table import fit_table
from spectralmirror.tables.storage import FORMAT

HERE = Path(__file__).parent


def main() -> None:
    """Fit a mixture to columns of three kinds, and keep its probabilities for ten rows."""
    rng = np.random.default_rng(0)
    n = 600
    frame = pl.DataFrame(
        {
            "x": rng.normal(size=n).round(3),
            "size": rng.choice(["small", "large", "ärmel"], size=n),
            "old": rng.uniform(size=n) < 0.4,
            "person": np.repeat(np.arange(60), 10),
        }
    )
    sign = np.where(frame["person"].to_numpy() % 2 == 0, 1, -1)
    liked = rng.uniform(size=n) < 1 / (1 + np.exp(-3 * sign * frame["x"].to_numpy()))
    table = frame.with_columns(liked=np.where(liked, "yes", "no")).to_arrow()
    model = fit_table(
        readers_of(table),
        ColumnRoles("liked", "person"),
        spectralmirror.LinearClassifierMixture(2, spread="diagonal", random_state=0),
        source="made",
    )
    spectralmirror.save(model, HERE / f"format-{FORMAT}.skops")
    X = model.recipe.encode(table)[:10]
    P = model.mixture.predict_proba(model.named(X))
    np.savez_compressed(HERE / f"format-{FORMAT}.npz", X=X, P=P)


if __name__ == "__main__":
    main()
