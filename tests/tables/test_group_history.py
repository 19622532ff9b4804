"""What labelled rows say about groups: predictions are those of the mixture with a history."""

import numpy as np
import polars as pl
import pytest

from spectralmirror import LinearClassifierMixture
from spectralmirror.rows.files.readers import readers_of
from spectralmirror.tables.column_roles import ColumnRoles
from spectralmirror.tables.fit_table import fit_table
from spectralmirror.tables.group_history import read_history


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(1)
    who = np.tile([f"g{i}" for i in range(40)], 10)
    x = rng.normal(size=(400, 2))
    own = np.where(np.arange(40) % 2, 3.0, -3.0) + rng.normal(size=40)
    y = rng.uniform(size=400) < 1 / (1 + np.exp(-x[:, 0] * np.tile(own, 10)))
    return pl.DataFrame(x, schema=["a", "b"]).with_columns(who=who, y=y)


@pytest.mark.filterwarnings("ignore::spectralmirror.mixture.estimator.MixtureWarning")
@pytest.mark.parametrize("spread", [None, "intercept", "diagonal"])
def test_histories_predict_as_the_mixture_does(frame, spread):
    mixture = LinearClassifierMixture(2, l2=1.0, spread=spread, random_state=0)
    roles = ColumnRoles("y", "who")
    model = fit_table(readers_of(frame.to_arrow()), roles, mixture, source="a frame")
    past, new = frame[:280].filter(pl.col("who") != "g7"), frame[280:]
    history = read_history(model, readers_of(past.to_arrow()), None, lambda n: None)
    assert sorted(history) == sorted(past["who"].unique())
    assert "g3" in history
    assert "g7" not in history
    earlier = past[["a", "b"]], past["y"].to_numpy(), past["who"].to_numpy()
    strangers = mixture.predict_proba(new[["a", "b"]])
    expected = mixture.predict_proba(new[["a", "b"]], groups=new["who"], history=earlier)
    (known,) = model.known(readers_of(new.to_arrow()), grouped=True)
    found = history.probabilities(model, known)
    np.testing.assert_allclose(found, expected, rtol=1e-8)
    alone = (new["who"] == "g7").to_numpy()
    np.testing.assert_allclose(found[alone], strangers[alone], rtol=1e-12)
    assert np.abs(found - strangers)[~alone].max() > 0.3
    (known,) = model.known(readers_of(new.filter(pl.col("who") == "g7").to_arrow()), grouped=True)
    np.testing.assert_allclose(history.probabilities(model, known), strangers[alone], rtol=1e-12)
