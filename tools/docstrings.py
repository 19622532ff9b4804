"""Docstrings as the site shows them: roles of Sphinx as code, and <u, x> not as an HTML tag."""

import re
from typing import Any

from griffe import Extension, Object

ROLE = re.compile(r":(?:class|func|meth|mod|attr):`~?([^`]+)`")
#: Sections whose entries are indented by four spaces.
ENTRIES = {"Parameters", "Attributes", "Returns", "Yields", "Raises"}
#: Code in backticks, which is left alone; or an angle bracket that would open a tag.
CODE_OR_BRACKET = re.compile(r"(``.+?``|`[^`]+`)|<(?=[A-Za-z/])")


def readable(text: str) -> str:
    """Return a docstring as Markdown."""
    text = ROLE.sub(r"`\1`", text)
    # braces would be read as a choice, the first word of which is the default
    lines = text.replace("{array-like, sparse matrix}", "array-like or sparse matrix").split("\n")
    indent = 0
    for number, line in enumerate(lines):
        if number and re.fullmatch(r"-{3,}", line):
            indent = 4 if lines[number - 1] in ENTRIES else 0
        elif not (line.startswith(" " * (indent + 4)) or line.lstrip().startswith(">>>")):
            lines[number] = CODE_OR_BRACKET.sub(lambda found: found[1] or "&lt;", line)
    return "\n".join(lines)


class Docstrings(Extension):
    """Rewrites every docstring when it is read."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Make the docstring readable."""
        if obj.docstring:
            obj.docstring.value = readable(obj.docstring.value)
