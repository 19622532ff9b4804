"""The notebooks run, and show what is stored in them."""

import json
import re
import warnings

import matplotlib
import pytest
from tools.notebooks import NOTEBOOKS, read, run, run_cell

PATHS = sorted(NOTEBOOKS.glob("*.ipynb"))


@pytest.fixture(autouse=True)
def unseen():
    """Figures are drawn without a window."""
    with matplotlib.rc_context({"backend": "Agg"}), warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def shown(notebook):
    """Return the text of each output, and the kinds of what else is shown."""
    found = []
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            text = output.get("text") or output["data"].get("text/plain", [])
            found.append(("".join(text), sorted(output.get("data", []))))
    return found


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_outputs_are_those_of_the_code(path):
    pytest.importorskip("pandas")
    notebook = read(path)
    assert notebook["nbformat"] == 4
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    assert len(shown(notebook)) >= 5
    assert shown(run(notebook)) == shown(notebook)


def test_three_notebooks_are_listed():
    page = (NOTEBOOKS / "index.md").read_text()
    assert re.findall(r"\]\(([\w-]+\.ipynb)\)", page) == [
        "household.ipynb", "choice-survey.ipynb", "preference-embeddings.ipynb",
    ]  # fmt: skip
    assert len(PATHS) == 3


def test_cells_show_what_jupyter_would():
    names = {}
    assert run_cell("a = 2", names) == []
    assert run_cell("print(a)\na + 1", names) == [
        {"output_type": "stream", "name": "stdout", "text": ["2\n"]},
        {"output_type": "execute_result", "data": {"text/plain": ["3"]}, "metadata": {}},
    ]
    assert run_cell("a + 1;", names) == run_cell("None", names) == []
    (figure,) = run_cell("import matplotlib.pyplot as plt\nplt.plot([1, 2]);", names)
    assert list(figure["data"]) == ["image/png"]
    json.dumps(figure)
    with pytest.raises(ZeroDivisionError):
        run_cell("1 / 0", names)
