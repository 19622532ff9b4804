"""The source code that the numbers of an experiment depend on."""

from __future__ import annotations

import ast
from functools import cache
from hashlib import sha256
from pathlib import Path

import spectralmirror

__all__ = ["code_digest", "modules_behind"]

WITH_DOCSTRING = (ast.Module, ast.ClassDef, ast.FunctionDef)


def _read() -> dict[str, str]:
    """Return the source of every module of the package, by its dotted name."""
    package = Path(str(spectralmirror.__file__)).parent
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts).removesuffix(".__init__")] = path.read_text(encoding="utf-8")
    return found


#: Read once, when this process loads its own code: the files may change while it runs.
SOURCES = _read()


@cache
def modules_behind(module: str) -> tuple[str, ...]:
    """Return a module and all modules of the package that it imports, directly or indirectly.

    Pictures, findings, the report and the command line import the experiments, and are never
    imported by them. They cannot change a number, and are therefore not included.
    """
    found: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _imports(SOURCES[name])
    return tuple(sorted(found))


@cache
def _imports(source: str) -> tuple[str, ...]:
    """Return the modules of the package that source code imports, also inside functions.

    A name that is imported from a package stands for every module in it, because an
    ``__init__.py`` may load its modules on first use.
    """
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found += (name for name in names if name in SOURCES)
            if not SOURCES.keys() >= set(names):
                found.append(node.module)
                found += (name for name in SOURCES if name.startswith(f"{node.module}."))
    return tuple(name for name in found if name in SOURCES)


@cache
def code_digest(module: str) -> str:
    """Return a digest of all code behind a module; comments and docstrings do not count."""
    digest = sha256()
    for name in modules_behind(module):
        digest.update(f"{name}\n{_code(SOURCES[name])}\n".encode())
    return digest.hexdigest()


@cache
def _code(source: str) -> str:
    """Return source code without comments, docstrings and layout."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, WITH_DOCSTRING) and ast.get_docstring(node):
            del node.body[0]
    return ast.dump(tree)
