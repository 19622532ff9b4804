"""Names of parameters in messages, which other doors to the library call by other names.

Messages put a parameter in backticks, with or without a value: "raise `n_init`", "use
`n_components=1`". The command line shows its own options instead.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["translated"]

_PARAMETER = re.compile(r"`(\w+)(?:=([^`]*))?`")


def translated(text: str, names: Mapping[str, str]) -> str:
    """Return a message in which parameters are called by other names.

    Parameters
    ----------
    text : str
        The message.
    names : mapping
        The new names, such as ``{"n_init": "--starts"}``. Values follow after a space, without
        quotation marks, in lower case. Parameters that are not mentioned only lose their backticks.

    Examples
    --------
    >>> translated("Raise `n_init`, or use `spread=None`.", {"n_init": "--starts", "spread": "-s"})
    'Raise --starts, or use -s none.'
    """

    def replaced(found: re.Match[str]) -> str:
        name, value = found[1], found[2]
        if name not in names:
            return found[0].strip("`")
        return names[name] if value is None else f"{names[name]} {value.strip(chr(39)).lower()}"

    return _PARAMETER.sub(replaced, text)
