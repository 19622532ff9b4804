"""`spectralmirror simulate`: data with a known truth."""

import json

import numpy as np
import polars as pl
from scipy.special import expit

from tests.helpers.command_line import run


def test_simulated_labels_follow_the_reported_truth(tmp_path):
    out, truth = tmp_path / "s.parquet", tmp_path / "truth.json"
    run(
        "simulate",
        "-o",
        out,
        "-n",
        4_000,
        "-d",
        3,
        "--group-size",
        20,
        "--truth",
        truth,
        "--reveal",
    )
    told = json.loads(truth.read_text())
    frame = pl.read_parquet(out)
    assert frame.columns == ["x0", "x1", "x2", "label", "group", "classifier"]
    scores = frame[["x0", "x1", "x2"]].to_numpy() @ np.array(told["profiles"]).T
    p = expit(scores[np.arange(4_000), frame["classifier"].to_numpy()])
    z = ((frame["label"].to_numpy() == 1) - p).sum() / np.sqrt((p * (1 - p)).sum())
    assert abs(z) < 4
    again = tmp_path / "again.parquet"
    run("simulate", "-o", again, "-n", 4_000, "-d", 3, "--group-size", 20, "--reveal")
    assert frame.equals(pl.read_parquet(again))


def test_shares_are_those_of_the_file(tmp_path):
    out = tmp_path / "s.parquet"
    said = run("simulate", "-o", out, "-n", 40, "-d", 2, "-k", 2, "--reveal", "--seed", 3).stdout
    share = (pl.read_parquet(out)["classifier"] == 0).mean()
    assert f"({share:.0%}, {1 - share:.0%})" in said


def test_choices(tmp_path):
    done = run("simulate", "-o", tmp_path / "s.csv", "--rows", 100, "-d", 2, "--group-size", 3,
               "--alternatives", 4, "--reveal")  # fmt: skip
    frame = pl.read_csv(tmp_path / "s.csv")
    assert len(frame) == 96  # eight persons with three choices each
    assert frame.columns == [
        "person", "case", "alternative", "x0", "x1", "chosen", "classifier"
    ]  # fmt: skip
    assert (frame.group_by("case").agg(pl.col("chosen").sum())["chosen"] == 1).all()
    assert frame["alternative"][:5].to_list() == list("abcda")
    assert frame.group_by("person").agg(pl.col("case").n_unique())["case"].to_list() == [3] * 8
    assert "24 choices among 4" in done.stdout
    assert "--choice-set case --alternative alternative --chosen chosen" in done.stdout
    refused = run("simulate", "-o", tmp_path / "s.csv", "--alternatives", 4, "--rows", 3, code=2)
    assert "--rows enough for one person" in refused.stderr
