"""Results become what strict JSON can hold."""

import json

import numpy as np
import pandas as pd

from spectralmirror.report.jsonable import jsonable


def test_anything_becomes_json():
    value = {1: np.float32(0.5), "a": (np.nan, np.inf, np.int64(3)), "b": np.array([True, False])}
    assert jsonable(value) == {"1": 0.5, "a": [None, None, 3], "b": [True, False]}
    assert json.dumps(jsonable({"date": pd.Timestamp("2026-01-02"), "s": np.str_("x")}))
