"""Fitted mixtures to report on, and what must hold on any page."""

import re
import warnings
from copy import deepcopy
from html.parser import HTMLParser
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
from scipy.special import expit

from spectralmirror import LinearClassifierMixture
from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.report.renderer import context, templates

COLUMNS = ["price", "age", "weight", "colour=red"]
ABOUT = {
    "files": "sessions.csv",
    "label": "liked",
    "group": "session",
    "notes": ["3 rows without label left out"],
    "references": {"colour=red": "blue"},
}


class Shop(NamedTuple):
    """A mixture of two kinds of customers, its rows in sessions, and its report."""

    mixture: Any
    X: Any
    y: Any
    groups: Any
    data: dict[str, Any]


def shop_rows(n_groups=150, size=6):
    """Return the rows of two kinds of customers, in sessions; one feature is a level."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(n_groups), size)
    table = pl.DataFrame(
        {
            "price": rng.normal(30, 7, len(groups)),
            "age": rng.normal(4, 2, len(groups)),
            "weight": rng.normal(0, 1, len(groups)),
            "colour": rng.choice(["red", "blue"], len(groups)),
        }
    )
    X = table.with_columns((pl.col("colour") == "red").cast(float).alias("colour=red"))
    X = X.drop("colour")
    z = (X.to_numpy() - [30, 4, 0, 0]) / [7, 2, 1, 1]
    first = (rng.uniform(size=n_groups) < 0.6)[groups]
    t = np.where(first, z @ [2, -1, 0, 1.5], z @ [-2, 0, 1, -1])
    y = np.where(rng.uniform(size=len(t)) < expit(t), "yes", "no")
    return X, y, groups, table


def fitted(k=2, n=900, d=4, columns=None, labels=None, **options):
    """Return a mixture without groups, its rows and labels."""
    response = options.get("response", "logistic")
    X, y, _ = make_linear_classifier_mixture(
        n, d, k, response=response, weights=np.full(k, 1 / k), profile_norm=5.0, random_state=1
    )
    X = X if columns is None else pd.DataFrame(X, columns=columns)
    y = y if labels is None else np.where(y > 0, labels[1], labels[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mixture = LinearClassifierMixture(k, random_state=0, **{"n_init": 8, **options}).fit(X, y)
    return mixture, X, y


def change(data, path, value):
    """Return the data of a report with one value changed, such as that of "model/k"."""
    changed = deepcopy(data)
    *folders, last = path.split("/")
    place = changed
    for folder in folders:
        place = place[int(folder) if folder.isdigit() else folder]
    place[last] = value
    return changed


class Page(HTMLParser):
    """Tags with their attributes, and all text outside of style as a browser shows it."""

    def __init__(self, page):
        super().__init__()
        self.tags, self._text, self._in_style = [], "", False
        self.feed(page)
        self.close()

    @property
    def text(self):
        """The text, in which white space is one space."""
        return re.sub(r"[ \n]+", " ", self._text).strip()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._in_style = tag == "style"

    def handle_endtag(self, tag):
        self._in_style = False

    def handle_data(self, data):
        self._text += "" if self._in_style else data


def sentence(data, template, macro, *arguments):
    """Return what a macro of a template in `report/text` says about these data."""
    module = templates().get_template(f"text/{template}.jinja").make_module(context(data))
    return Page(str(getattr(module, macro)(*arguments))).text


def check_page(page):
    """Assert what must hold on any page."""
    assert page.startswith("<!DOCTYPE html>")
    assert len(page.encode()) < 2_000_000
    assert "http" not in page
    assert not re.search(r"\bsrc=|@import|<link|<script|<iframe|NaN|Infinity", page)
    assert all(target.startswith("#") for target in re.findall(r"url\(['\"]?([^)]*)\)", page))
    parsed = Page(page)
    tags = parsed.tags
    assert not re.search(r"\{[{%#]| [.,;:](\s|$)|\( | \)", parsed.text.replace("$ ", ""))
    targets = [a["href"] for _, a in tags if "href" in a]
    ids = [a["id"] for _, a in tags if "id" in a]
    assert len(ids) == len(set(ids))
    used = {t[1:] for t in targets} | set(re.findall(r"url\(#([^)]*)\)", page))
    assert all(t.startswith("#") for t in targets)
    assert used <= set(ids)
    levels = [int(tag[1]) for tag, _ in tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert (np.diff(levels) <= 1).all()
    figures = [a for _, a in tags if a.get("role") == "img"]
    assert figures
    assert all(a["aria-label"] for a in figures)
    assert sum(tag == "svg" for tag, _ in tags) == len(figures)
