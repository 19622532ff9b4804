"""Packages that a program of a test does not find, as if they were not installed."""


def hide(*names):
    """Return code for the first lines of a program.

    scikit-learn 1.6 takes None in sys.modules for a module, so that an import hook has to do it.
    """
    return f"""
import sys


class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)


sys.meta_path.insert(0, Hidden())
"""
