"""Reads damaged files one after the other, and prints the outcome of each; see fuzz.py."""

from __future__ import annotations

import codecs
import faulthandler
import gzip
import hashlib
import io
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

import spectralmirror
from benchmarks.mutations import CANARY, mutated_bytes, mutated_model
from spectralmirror import LinearClassifierMixture, SpectralMirror
from spectralmirror.rows.files.readers import readers_of
from spectralmirror.tables.column_roles import ColumnRoles
from spectralmirror.tables.fit_table import fit_table
from spectralmirror.tables.predictions import write_clusters
from spectralmirror.tables.storage import load_with_version
from spectralmirror.tables.table_model import FittedTable

__all__ = ["KINDS", "original", "spoiled"]

#: Bytes that a file of a few kilobytes may cost, resident; and address space beyond the start.
RESIDENT, ADDRESSES = 400 << 20, 4 << 30
#: Actions that no reader of data needs.
FORBIDDEN = ("os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "subprocess.Popen",
             "pickle.find_class", "exec", "socket.connect", "ctypes.dlopen", "os.remove",
             "os.rename", "os.mkdir", "os.rmdir", "shutil.rmtree", "marshal.loads")  # fmt: skip


# The files


def _table(seed: int = 0, n: int = 90) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2)).round(3)
    y = rng.uniform(size=n) < 1 / (1 + np.exp(-2 * x[:, 0]))
    return pl.DataFrame(
        {
            "x": x[:, 0],
            "count": rng.poisson(3, size=n),
            "size": rng.choice(["small", "large", "ärmel"], size=n),
            "who": [f"p{i // 5}" for i in range(n)],
            "y": np.where(y, "yes", "no"),
        }
    )


def _parquet(seed: int) -> bytes:
    """Return a file of one of several writers and codings."""
    buffer = io.BytesIO()
    if seed % 3 == 0:
        _table().write_parquet(buffer, row_group_size=40)
        return buffer.getvalue()
    pq.write_table(
        _table().to_arrow(),
        buffer,
        row_group_size=40,
        compression=["snappy", "none", "zstd", "gzip"][seed % 4],
        use_dictionary=seed % 2 == 0,
        write_page_checksum=seed % 5 == 0,
        data_page_version="2.0" if seed % 7 == 0 else "1.0",
    )
    return buffer.getvalue()


def _arrow(seed: int) -> bytes:
    buffer, table = io.BytesIO(), _table().to_arrow()
    table = table.cast(pa.schema([(f.name, pa.string() if "string" in str(f.type) else f.type)
                                  for f in table.schema]))  # fmt: skip
    if seed % 2:
        coded = table.column("size").dictionary_encode()
        table = table.set_column(2, "size", coded)
    pa.feather.write_feather(
        table, buffer, compression=["uncompressed", "lz4", "zstd"][seed % 3], chunksize=40
    )
    return buffer.getvalue()


def _csv(seed: int) -> bytes:
    return _table().write_csv().encode()


def _csv_gz(seed: int) -> bytes:
    return gzip.compress(_csv(seed), mtime=0)


def _model(seed: int) -> bytes:
    golden = Path(__file__).parents[1] / "tests" / "golden"
    if seed % 3 == 0:
        return (golden / f"format-{1 + seed % 2}.skops").read_bytes()
    return _saved(seed % 3)


_STORED: dict[int, bytes] = {}


def _saved(which: int) -> bytes:
    """Return a model as this version stores it: a table's mixture, or a mirror."""
    if which not in _STORED:
        path = Path(tempfile.mkdtemp()) / "made.skops"
        model: Any
        if which == 1:
            mixture, roles = LinearClassifierMixture(2, random_state=0), ColumnRoles("y", "who")
            model = fit_table(readers_of(_table().to_arrow()), roles, mixture, source="made")
        else:
            model = SpectralMirror(2, random_state=0).fit(
                _table()[["x", "count"]].to_numpy(), _table()["y"].to_numpy()
            )
        spectralmirror.save(model, path)
        _STORED[which] = _renumbered(path.read_bytes())
        shutil.rmtree(path.parent)
    return _STORED[which]


def _renumbered(packed: bytes) -> bytes:
    """Return the archive with numbers of things that do not depend on where they lay in memory."""
    numbers: dict[str, str] = {}
    buffer = io.BytesIO()

    def number(found: re.Match[str]) -> str:
        return numbers.setdefault(found.group(), str(1_000_000 + len(numbers)))

    with zipfile.ZipFile(io.BytesIO(packed)) as file, zipfile.ZipFile(buffer, "w") as other:
        content = {name: file.read(name) for name in file.namelist()}
        schema = content["schema.json"].decode()
        content["schema.json"] = re.sub(r"\d{13,}(?=[,.\n])", number, schema).encode()
        named = {numbers.get(name[:-4], "") + name[-4:] if name.endswith(".npy") else name: data
                 for name, data in content.items()}  # fmt: skip
        for name, data in sorted(named.items()):
            other.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


# What is done with them


def _fingerprint(value: Any) -> Any:
    """Return what two models must have in common to be the same."""
    if isinstance(value, np.ndarray | np.generic):
        plain = repr(value.tolist()) if value.dtype == object else value.tobytes().hex()
        return str(value.dtype), value.shape, plain
    if isinstance(value, dict):
        return [(repr(key), _fingerprint(one)) for key, one in value.items()]
    if isinstance(value, list | tuple):
        return [type(value).__name__, *map(_fingerprint, value)]
    if isinstance(value, np.random.RandomState):
        return _fingerprint(value.get_state()[1])
    if hasattr(value, "__dict__"):
        return type(value).__name__, _fingerprint(vars(value))
    return repr(value)


def _digest(value: Any) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()


def _use_model(path: Path) -> str:
    """Load a model and use it; whatever it is, its results must make sense."""
    model, version = load_with_version(path)
    assert isinstance(version, str), "version"
    repr(model)
    if isinstance(model, FittedTable):
        model.described()
        mixture, X = model.mixture, model.named(np.ones((3, len(model.recipe.names))))
    else:
        mixture, X = model, np.ones((3, model.n_features_in_))
    if isinstance(mixture, LinearClassifierMixture):
        mixture.summary()
        with np.errstate(all="ignore"):
            P = mixture.predict_proba(X)
        mixture.predict(X)
        assert np.allclose(P.sum(axis=1), 1), f"probabilities of {P[0]}"
    else:
        assert mixture.transform(X).shape == (3, len(mixture.components_)), "transform"
    return _digest(_fingerprint(model))


def _use_scan(path: Path) -> str:
    source = spectralmirror.scan(path, label="y", features=["x", "count"])
    mirror = SpectralMirror(2, random_state=0).fit(source)
    assert np.isfinite(mirror.components_).all(), "components are not finite"
    return _digest(mirror.components_.tobytes())


def _use_table(path: Path) -> str:
    mixture = LinearClassifierMixture(1, random_state=0)
    model = fit_table(readers_of(path), ColumnRoles("y", "who"), mixture, source=str(path))
    assert np.isfinite(model.mixture.coef_).all(), "profiles are not finite"
    return _digest(_fingerprint([model.recipe, model.mixture]))


def _use_fitted(path: Path) -> str:
    """Say who made each label of the file, by a model that is whole."""
    Path("whole.skops").write_bytes(_saved(1))
    model = spectralmirror.load("whole.skops")
    write_clusters(model, readers_of(path), Path("out.csv"), keep=["size"], listen=lambda n: None)
    found = Path("out.csv").read_bytes()
    return _digest(found)


def _use_command(path: Path) -> str:
    """Run the command line in this process: one sentence and exit code 2, or the answer."""
    from typer.testing import CliRunner

    from spectralmirror.cli import app

    out = Path("answers.csv")
    out.unlink(missing_ok=True)
    model, data = Path("whole.skops"), path
    if path.suffix == ".skops":
        model, data = path, Path("whole.csv")
        data.write_bytes(_csv(0))
    else:
        model.write_bytes(_saved(1))
    done = CliRunner().invoke(app, ["predict", str(model), str(data), "-o", str(out)])
    if done.exit_code == 0:
        return _digest(out.read_bytes())
    assert not out.exists(), "a file was left by a command that failed"
    lines = done.stderr.strip().splitlines()
    assert done.exit_code == 2, f"exit code {done.exit_code}: {done.output} {done.exception!r}"
    assert len(lines) == 1, f"not one sentence: {lines}"
    raise ValueError(lines[0])


#: name: suffix of the file, functions that write, damage and read it, and milliseconds per file.
KINDS: dict[str, tuple[str, Callable[[int], bytes], Any, Callable[[Path], str]]] = {
    "model, bytes": (".skops", _model, mutated_bytes, _use_model),
    "model, parts": (".skops", _model, mutated_model, _use_model),
    "model, command": (".skops", lambda seed: _saved(1), None, _use_command),
    "CSV, scan": (".csv", _csv, mutated_bytes, _use_scan),
    "CSV, fit": (".csv", _csv, mutated_bytes, _use_table),
    "CSV, cluster": (".csv", _csv, mutated_bytes, _use_fitted),
    "CSV.gz, scan": (".csv.gz", _csv_gz, mutated_bytes, _use_scan),
    "Parquet, scan": (".parquet", _parquet, mutated_bytes, _use_scan),
    "Parquet, fit": (".parquet", _parquet, mutated_bytes, _use_table),
    "Parquet, cluster": (".parquet", _parquet, mutated_bytes, _use_fitted),
    "Arrow, scan": (".arrow", _arrow, mutated_bytes, _use_scan),
    "Arrow, fit": (".arrow", _arrow, mutated_bytes, _use_table),
    "Arrow, cluster": (".arrow", _arrow, mutated_bytes, _use_fitted),
    "CSV, command": (".csv", _csv, mutated_bytes, _use_command),
    "Parquet, command": (".parquet", _parquet, mutated_bytes, _use_command),
}  # fmt: skip


def original(kind: str, number: int) -> bytes:
    """Return the file to damage."""
    return KINDS[kind][1](number)


def spoiled(kind: str, seed: int, number: int) -> bytes:
    """Return a mutated file, the same for the same seed and number."""
    rng = Random(f"{kind} {seed} {number}")
    mutate = KINDS[kind][2] or rng.choice([mutated_bytes, mutated_model])
    return mutate(original(kind, number), rng)


# What comes of them


class Watch:
    """Notes what the interpreter is made to do, while it is armed."""

    def __init__(self) -> None:
        self.armed, self.seen = False, []
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: Any) -> None:
        if not self.armed:
            return
        if event == "import" and arguments[0] not in sys.modules:
            self.seen.append(f"import {arguments[0]}")
        elif event == "open" and CANARY in str(arguments[0]):
            self.seen.append("canary")
        elif event in FORBIDDEN and not _is_ours(event, arguments):
            self.seen.append(f"{event} {arguments!r:.80}")


def _is_ours(event: str, arguments: Any) -> bool:
    """Whether this is what commands do when they write: a folder for the unfinished file."""
    names = ("'.'", ".unfinished-", "answers.csv", "out.csv", tempfile.gettempdir())
    ours = event.startswith("os.") and any(name in str(arguments) for name in names)
    return ours or (
        event == "exec"
        and arguments[0].co_filename in ("<frozen importlib._bootstrap>", "<string>")
    )


def outcome(kind: str, path: Path, expected: str, watch: Watch) -> tuple[str, str]:
    """Return the outcome of a file, and details if it is bad."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    watch.seen.clear()
    watch.armed = True
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # commands change it
    try:
        found = KINDS[kind][3](path)
        same = (
            "harmless" if found == expected else "other model" if "model" in kind else "other data"
        )
        result = same, ""
    except (ValueError, FileNotFoundError) as error:
        result = _judged(error, path)
    except BaseException as error:
        result = "wrong exception", _place_of(error)
    finally:
        watch.armed = False
    if watch.seen or Path(CANARY).exists():
        return "code run", "; ".join(watch.seen[:3])
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10
    return ("memory", f"{grown:,} bytes; {result}") if grown > RESIDENT else result


def _judged(error: Exception, path: Path) -> tuple[str, str]:
    """Whether an error is one sentence that says where."""
    text = str(error)
    if type(error) not in (ValueError, FileNotFoundError):
        return "wrong exception", _place_of(error)
    if "\n" in text.strip() or not 10 < len(text) < 1_000:
        return "wrong exception", f"not one sentence: {text!r:.300}"
    return ("refused", text) if path.name in text else ("refused, of its rows", text)


def _place_of(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    places = " < ".join(f"{Path(f.filename).name}:{f.lineno}" for f in reversed(frames))
    return f"{type(error).__name__}: {error!s:.150} at {places}".replace("\n", " ")


def main() -> None:
    """Read files first, first + 1, ... below last; print each number, and then its outcome."""
    kind, seed, first, last, folder = sys.argv[1:]
    os.chdir(folder)
    faulthandler.enable()
    warnings.simplefilter("ignore")
    talk = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    path, watch = Path(f"spoiled{KINDS[kind][0]}"), Watch()
    expected: dict[bytes, str] = {}
    path.write_bytes(original(kind, 0))
    KINDS[kind][3](path)  # imports what is needed
    for name in ("utf_16", "utf_16_le", "utf_16_be", "utf_32", "utf_32_le", "utf_32_be"):
        codecs.lookup(name)  # json tries these
    for broken in (b"", b"PK", original(kind, 0)[:300]):
        path.write_bytes(broken)
        outcome(kind, path, "", watch)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + ADDRESSES, used + ADDRESSES))
    for number in range(int(first), int(last)):
        whole = original(kind, number)
        if whole not in expected:
            path.write_bytes(whole)
            expected[whole] = KINDS[kind][3](path)
        talk.write(f"begin {number}\n")
        path.write_bytes(spoiled(kind, int(seed), number))
        what, detail = outcome(kind, path, expected[whole], watch)
        if what not in ("harmless", "other data") and not what.startswith("refused"):
            shutil.copy(path, f"kept-{number}")
        detail = detail.replace("\n", " ").replace("\t", " ")
        talk.write(f"end {number}\t{what}\t{detail}\n")
    talk.write("done\n")


if __name__ == "__main__":
    main()
