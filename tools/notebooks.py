"""Run the notebooks of the documentation and store what they print and show.

``python tools/notebooks.py`` runs all of ``docs/notebooks``, or those that are named. Cells run in
one namespace, as in Jupyter, but Jupyter is not needed: what is printed, the value of the last line
and figures of matplotlib become the outputs.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

NOTEBOOKS = Path(__file__).parents[1] / "docs" / "notebooks"


def read(path: Path) -> dict[str, Any]:
    """Return a notebook."""
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return notebook


def run(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return a notebook with the outputs of its cells, in a new namespace."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells, count = [], 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            count += 1
            outputs = run_cell("".join(cell["source"]), names)
            for output in outputs:
                if output["output_type"] == "execute_result":
                    output["execution_count"] = count
            cell = {**cell, "execution_count": count, "outputs": outputs}
        cells.append(cell)
    return {**notebook, "cells": cells}


def run_cell(source: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    """Run a cell and return its outputs: text, the value of its last line, figures."""
    lines = ast.parse(source)
    last = lines.body.pop() if lines.body and isinstance(lines.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(lines, "<cell>", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if text := printed.getvalue():
        lines_of_text = text.splitlines(keepends=True)
        outputs.append({"output_type": "stream", "name": "stdout", "text": lines_of_text})
    if value is not None and not source.rstrip().endswith(";"):
        shown = {"text/plain": repr(value).splitlines(keepends=True)}
        if hasattr(value, "_repr_html_"):
            shown["text/html"] = value._repr_html_().splitlines(keepends=True)
        outputs.append({"output_type": "execute_result", "data": shown, "metadata": {}})
    return outputs + figures()


def figures() -> list[dict[str, Any]]:
    """Return the open figures of matplotlib as outputs, and close them."""
    if "matplotlib.pyplot" not in sys.modules:
        return []
    import matplotlib.pyplot as plt

    found = []
    for number in plt.get_fignums():
        image, figure = io.BytesIO(), plt.figure(number)
        figure.savefig(image, format="png", dpi=72, bbox_inches="tight", metadata={"Software": ""})
        shown = {"image/png": base64.b64encode(image.getvalue()).decode()}
        found.append({"output_type": "display_data", "data": shown, "metadata": {}})
    plt.close("all")
    return found


def main() -> None:
    """Run notebooks in place."""
    import matplotlib

    matplotlib.use("Agg")
    for path in map(Path, sys.argv[1:] or sorted(NOTEBOOKS.glob("*.ipynb"))):
        done = json.dumps(run(read(path)), indent=1, ensure_ascii=False)
        path.write_text(done + "\n", encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
