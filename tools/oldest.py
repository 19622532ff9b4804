"""Print the oldest versions that pyproject.toml allows, as requirements for pip.

python tools/oldest.py [EXTRA ...] > output/oldest.txt
"""

import re
import sys
import tomllib
from pathlib import Path


def oldest(requirement: str) -> str:
    """Return a requirement that only the lower bound meets: numpy>=2.0 becomes numpy==2.0."""
    match = re.fullmatch(r"(?P<name>[\w.-]+(\[[\w,]+\])?)>=(?P<version>[\d.]+)", requirement)
    if match is None:
        raise SystemExit(f"pyproject.toml: {requirement!r} is not of the form name>=1.2")
    return f"{match['name']}=={match['version']}"


def main() -> None:
    """Print those of the package itself, and of the extras that are named."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    for group in (project["dependencies"], *(extras[name] for name in sys.argv[1:])):
        print(*map(oldest, group), sep="\n")


if __name__ == "__main__":
    main()
