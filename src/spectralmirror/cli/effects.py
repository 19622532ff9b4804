"""The command ``spectralmirror effects``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spectralmirror.cli.console import fail, one_sentence_errors, print_json, progress_bar, say
from spectralmirror.cli.inspect import Ratio, finite, ratio_as_data, ratios_of
from spectralmirror.cli.options import (
    AsJson,
    Files,
    Level,
    Missing,
    Model,
    Quiet,
    Separator,
    columns_option,
    load_table,
    split_names,
)

if TYPE_CHECKING:
    from spectralmirror.effects.results import AverageEffects
    from spectralmirror.mixture.choice_analysis import MarketElasticities

__all__ = ["effects"]


def effects(
    model: Model,
    files: Files,
    features: Annotated[
        list[str] | None, columns_option("Columns or features to show.", "all")
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(
            metavar="VALUE",
            help="The label whose probability changes.",
            show_default="the one that counts as +1",
        ),
    ] = None,
    ratio: Ratio = None,
    level: Level = 0.95,
    missing: Missing = None,
    separator: Separator = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Say what the features do to probabilities: averages over the rows of FILE.

    For each classifier and overall, the change in the probability of a label per unit of a feature,
    or from 0 to 1 for truth values and levels of categories, with standard errors. FILE needs no
    labels: this year's offers, for example.

    For choices: by how many per cent the share of each alternative changes if the feature of that
    alternative grows by one per cent (its own elasticity; JSON has those of all pairs), and the
    change in the probability that an alternative is chosen per unit of its own feature.

    For example:

        spectralmirror effects model.skops ratings.csv

        spectralmirror effects model.skops ratings.csv --ratio minutes/price
    """
    with one_sentence_errors(quiet, kept=""), progress_bar(quiet) as listen:
        from spectralmirror.rows.files.readers import count_rows, readers_of
        from spectralmirror.tables.table_effects import choice_effects, table_effects

        fitted, _ = load_table(model)
        if fitted.choices is not None and label is not None:
            fail("--label belongs to labels: this model was fitted to choices.")
        ratios = [ratios_of(fitted, one, level, label) for one in ratio or ()]
        readers = readers_of(files, separator)
        total = count_rows(readers)
        options: dict[str, Any] = {
            "features": split_names(features, readers),
            "missing": missing,
            "listen": lambda n: listen("averaging", n, total),
        }
        about: dict[str, Any] = {"model": str(model)}
        if fitted.choices is not None:
            elasticities, found = choice_effects(fitted, readers, level=level, **options)
            lines = [*_elasticity_lines(elasticities), *([""] if elasticities else []), str(found)]
            about["elasticities"] = [_as_data(*one) for one in elasticities.items()]
        else:
            found = table_effects(fitted, readers, label=label, level=level, **options)
            lines = [str(found)]
            about["label"] = found.label
        about |= {"level": level, "effects": _effect_data(found)}
    if as_json:
        print_json(about | ({"ratios": list(map(ratio_as_data, ratios))} if ratios else {}))
        return
    for line in [*lines, *(f"\n{one}" for one in ratios)]:
        say(line, quiet)


def _effect_data(found: AverageEffects) -> list[dict[str, Any]]:
    """Return effects for JSON, one entry for each class and feature."""
    return [
        {
            "component": name,
            "feature": feature,
            "change": found.change[j],
            **{
                key: finite(getattr(found, key)[c, j])
                for key in ("estimate", "standard_error", "lower", "upper")
            },
        }
        for c, name in enumerate(found.components)
        for j, feature in enumerate(found.features)
    ]


def _elasticity_lines(elasticities: dict[str, MarketElasticities]) -> Iterator[str]:
    """Yield a table for each feature: own elasticities, overall and in each class."""
    from spectralmirror.mixture.summary import letters

    for number, (feature, found) in enumerate(elasticities.items()):
        names = [str(one) for one in found.alternatives.tolist()]
        width = max(12, *map(len, names))
        heads = ["overall", *(f"class {one}" for one in letters(len(found.by_class)))]
        head = f"{'':<{width}}  " + "  ".join(f"{one:>10}" for one in heads)
        yield "\n" * bool(number) + (
            f"{feature}: change of an alternative's share, in %, if its own {feature} grows by 1 %"
        )
        yield from ("", head, "-" * len(head))
        for a, name in enumerate(names):
            values = [one[a, a] for one in (found.overall, *found.by_class)]
            cells = [f"{'' if finite(x) is None else format(x, '.4g'):>10}" for x in values]
            yield f"{name:<{width}}  " + "  ".join(cells)


def _as_data(feature: str, found: MarketElasticities) -> dict[str, Any]:
    """Return elasticities for JSON: line a and column b for the share of a and the feature of b."""
    return {
        "feature": feature,
        "alternatives": [str(one) for one in found.alternatives.tolist()],
        "overall": [list(map(finite, line)) for line in found.overall],
        "by_class": [[list(map(finite, line)) for line in one] for one in found.by_class],
    }
