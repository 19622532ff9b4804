"""Print the oldest versions that pyproject.toml allows, as requirements for pip.

python tools/oldest.py [EXTRA ...] > output/oldest.txt
"""

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

#: An extra that is made of others: "spectralmirror[files,plot]".
OTHERS = re.compile(r"spectralmirror\[(?P<names>[\w,]+)\]")
BOUND = re.compile(r"(?P<name>[\w.-]+(\[[\w,]+\])?)>=(?P<version>[\d.]+)")


def oldest(requirement: str) -> str:
    """Return a requirement that only the lower bound meets: numpy>=2.0 becomes numpy==2.0."""
    match = BOUND.fullmatch(requirement)
    if match is None:
        raise SystemExit(f"pyproject.toml: {requirement!r} is not of the form name>=1.2")
    return f"{match['name']}=={match['version']}"


def requirements(project: dict[str, Any], extras: list[str]) -> Iterator[str]:
    """Yield what the extras require, and the extras that they are made of."""
    for extra in extras:
        for requirement in project["optional-dependencies"][extra]:
            if others := OTHERS.fullmatch(requirement):
                yield from requirements(project, others["names"].split(","))
            else:
                yield requirement


def main() -> None:
    """Print the requirements of the core, and of the extras that are named."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = [*project["dependencies"], *requirements(project, sys.argv[1:])]
    print(*dict.fromkeys(map(oldest, needed)), sep="\n")


if __name__ == "__main__":
    main()
