"""The examples run, and print the results that they claim."""

import re
import runpy
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_nearest_neighbours_are_better_in_the_plane(capsys):
    runpy.run_path(str(EXAMPLES / "nearest_neighbours.py"), run_name="__main__")
    printed = dict(re.findall(r"^  (.+?) {2,}([\d.]+)$", capsys.readouterr().out, re.M))
    value = {name.split(" =")[0]: float(number) for name, number in printed.items()}
    assert len(printed) == 8
    assert value["plane"] < 0.5 * value["20 features"]  # errors of the expected label
    known = float(printed["knowing both classifiers"])
    plane = float(printed["plane, K = sqrt(n) = 63"])
    ambient = float(printed["20 features, K = sqrt(n) = 63"])
    assert ambient < plane <= known + 0.01
