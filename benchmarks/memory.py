"""Peak memory of every entry point, as a multiple of the data, and leaks of repeated calls.

Run with ``make memory``, about 10 minutes; ``ONLY=predict`` for entry points of that name. Each
runs in a process of its own, after a small call that warms up the libraries, whose memory is not
counted. Files are made in a temporary folder (450 MB).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import peak_beyond

N, D = 400_000, 50

SETUP = """
import warnings
import numpy as np
from spectralmirror import (
    LinearClassifierMixture, PrincipalHessianDirections, SpectralMirror, load, report, save, scan)
warnings.simplefilter("ignore")

def data(n, d):
    rng = np.random.default_rng(0)
    X = np.empty((n, d), dtype="{dtype}", order="{order}")
    for part in np.array_split(np.arange(n), 100):
        X[part[0] : part[-1] + 1] = rng.standard_normal((len(part), d))
    who = rng.uniform(size=n // 5 + 1)[np.arange(n) // 5] < 0.6
    score = 4 * np.where(who, X[:, 0], X[:, 1])
    return X, np.where(rng.uniform(size=n) < 1 / (1 + np.exp(-score)), 1, -1), np.arange(n) // 5

small = data(4_000, {d})
X, y, groups = data({n}, {d})
fitted = LinearClassifierMixture(2, random_state=0).fit(*small[:2])
mirror = SpectralMirror(2, random_state=0).fit(*small[:2])

def run(X, y, groups):
    return {call}

run(*small)
"""

CALLS = {
    "SpectralMirror().fit": "SpectralMirror(2, random_state=0).fit(X, y)",
    "SpectralMirror('auto').fit": "SpectralMirror('auto', random_state=0).fit(X, y)",
    "SpectralMirror(method='paper').fit": "SpectralMirror(2, method='paper').fit(X, y)",
    "SpectralMirror(elliptical=True).fit": "SpectralMirror(2, elliptical=True).fit(X, y)",
    "SpectralMirror().fit, groups": "SpectralMirror(2, random_state=0).fit(X, y, groups=groups)",
    "PrincipalHessianDirections().fit": "PrincipalHessianDirections(2).fit(X, y)",
    "SpectralMirror.transform": "mirror.transform(X)",
    "LinearClassifierMixture(2).fit": "LinearClassifierMixture(2, random_state=0).fit(X, y)",
    "LinearClassifierMixture(2).fit, groups":
        "LinearClassifierMixture(2, random_state=0).fit(X, y, groups=groups)",
    "LinearClassifierMixture(2).fit, EM":
        "LinearClassifierMixture(2, solver='em', max_iter=3, random_state=0).fit(X, y)",
    "predict_proba": "fitted.predict_proba(X)",
    "predict": "fitted.predict(X)",
    "component_proba": "fitted.component_proba(X, y)",
    "component_proba, groups": "fitted.component_proba(X, y, groups=groups)",
    "score_samples": "fitted.score_samples(X, y)",
    "bic": "fitted.bic(X, y)",
    "bic, groups": "fitted.bic(X, y, groups=groups)",
}  # fmt: skip
KINDS = [("float64", "C"), ("float64", "F"), ("float32", "C"), ("float32", "F")]

FILES = """
import sys
import warnings
warnings.simplefilter("ignore")
from pathlib import Path
from types import SimpleNamespace
from spectralmirror import LinearClassifierMixture, SpectralMirror, load, report, scan
from spectralmirror.cli import app
X, folder = SimpleNamespace(nbytes={size}), Path({folder!r})

def command(*words):
    try:
        app([str(word) for word in words] + ["--quiet"], standalone_mode=False)
    except SystemExit as end:
        assert not end.code, end.code

def run(name):
    file, model = folder / (name + ".{kind}"), folder / (name + ".skops")
    return {call}

run("small")
"""

FROM_FILES = {
    "scan + SpectralMirror().fit": "SpectralMirror(2, random_state=0).fit(scan(file, label='y'))",
    "scan + LinearClassifierMixture(2).fit":
        "LinearClassifierMixture(2, random_state=0).fit(scan(file, label='y'))",
    "spectralmirror fit": "command('fit', file, '--label', 'y', '-k', 2, '-o', folder / 'a.skops')",
    "spectralmirror predict": "command('predict', model, file, '-o', folder / 'a.parquet')",
    "spectralmirror cluster": "command('cluster', model, file, '-o', folder / 'a.parquet')",
    "spectralmirror report": "command('report', model, file, '-o', folder / 'a.html')",
}  # fmt: skip

MAKE_FILES = """
import numpy as np, polars as pl
rng, folder = np.random.default_rng(0), {folder!r}
for name, n in (("small", 5_000), ("large", {n})):
    X = rng.standard_normal((n, {d}))
    score = 4 * np.where(rng.uniform(size=n) < 0.6, X[:, 0], X[:, 1])
    y = np.where(rng.uniform(size=n) < 1 / (1 + np.exp(-score)), 1, -1)
    frame = pl.DataFrame(X.round(4), schema=[f"x{{j}}" for j in range({d})])
    frame = frame.with_columns(pl.Series("y", y))
    frame.write_parquet(f"{{folder}}/{{name}}.parquet", row_group_size=50_000)
    frame.write_csv(f"{{folder}}/{{name}}.csv")
from spectralmirror.cli import app
for name in ("small", "large"):
    app(["fit", f"{{folder}}/small.parquet", "--label", "y", "-k", "2", "--quiet", "-o",
         f"{{folder}}/{{name}}.skops"], standalone_mode=False)
"""

LEAKS = """
import gc, tempfile, tracemalloc, warnings
import numpy as np
from spectralmirror import LinearClassifierMixture, SpectralMirror, load, save, scan
from spectralmirror.datasets import make_linear_classifier_mixture
warnings.simplefilter("ignore")
X, y, truth = make_linear_classifier_mixture(2_000, 10, weights=[0.6, 0.4], random_state=0)
folder = tempfile.mkdtemp()
import polars as pl
frame = pl.DataFrame(X, schema=[f"x{{j}}" for j in range(10)]).with_columns(pl.Series("y", y))
frame.write_parquet(folder + "/rows.parquet")
fitted = LinearClassifierMixture(2, random_state=0).fit(X, y)

def megabytes():
    gc.collect()
    with open("/proc/self/status") as status:
        return next(int(l.split()[1]) for l in status if l.startswith("VmRSS")) / 1024

def run():
    {call}

for _ in range(20):
    run()
before = megabytes()
for _ in range(200):
    run()
grown = megabytes() - before
tracemalloc.start()
run(); gc.collect()
before = tracemalloc.get_traced_memory()[0]
for _ in range(50):
    run()
gc.collect()
print(grown, (tracemalloc.get_traced_memory()[0] - before) / 1e3)
"""

REPEATED = {
    "SpectralMirror().fit": "SpectralMirror(2, random_state=0).fit(X, y)",
    "LinearClassifierMixture(2).fit": "LinearClassifierMixture(2, random_state=0).fit(X, y)",
    "the same with groups":
        "LinearClassifierMixture(2, random_state=0).fit(X, y, groups=np.arange(2_000) // 5)",
    "scan + fit of both":
        "source = scan(folder + '/rows.parquet', label='y'); SpectralMirror(2).fit(source); "
        "LinearClassifierMixture(2, random_state=0).fit(source)",
    "save + load": "save(fitted, folder + '/a.skops'); load(folder + '/a.skops')",
    "predict_proba + component_proba":
        "fitted.predict_proba(X); fitted.component_proba(X, y)",
}  # fmt: skip


def in_memory(only: str) -> None:
    """Print a line per entry point, and a column per kind of X."""
    print(f"\nPeak memory beyond X, as a multiple of X, {N:,} x {D}")
    print(f"{'':<42}" + "".join(f"{dtype} {order:<6}" for dtype, order in KINDS))
    for name, call in CALLS.items():
        if only not in name:
            continue
        cells = []
        for dtype, order in KINDS:
            setup = SETUP.format(dtype=dtype, order=order, n=N, d=D, call=call)
            size, extra = peak_beyond(setup, "kept = run(X, y, groups)")
            cells.append(f"{extra / size:<14.2f}")
        print(f"{name:<42}" + "".join(cells), flush=True)
    setup = SETUP.format(dtype="float64", order="C", n=N, d=D, call=f"fitted.sample({N})[0][:3]")
    size, extra = peak_beyond(setup, "run(X, y, groups)")
    if only in "sample":
        print(f"{'sample, equally many rows':<42}{extra / size:<14.2f}")


def from_files(only: str) -> None:
    """Print a line per entry point that reads files."""
    size = N * D * 8
    print(f"\nPeak memory beyond imports, files of {N:,} x {D} float64 ({size / 1e6:.0f} MB)")
    print(f"{'':<42}{'Parquet':<14}{'CSV':<14}")
    with tempfile.TemporaryDirectory() as folder:
        program = MAKE_FILES.format(folder=folder, n=N, d=D)
        subprocess.run([sys.executable, "-c", program], check=True)
        for name, call in FROM_FILES.items():
            if only not in name:
                continue
            cells = []
            for kind in ("parquet", "csv"):
                setup = FILES.format(size=size, folder=folder, kind=kind, call=call)
                _, extra = peak_beyond(setup, "run('large')")
                cells.append(f"{extra / size:.2f} ({extra / 1e6:.0f} MB)")
            print(f"{name:<42}" + "".join(f"{cell:<14}" for cell in cells), flush=True)
        for file in sorted(Path(folder).glob("large.[cp]*")):
            print(f"({file.name}: {file.stat().st_size / 1e6:.0f} MB)")


def leaks(only: str) -> None:
    """Print the growth of memory over repeated calls."""
    print("\nGrowth of resident memory over 200 repetitions after 20; traced by Python over 50")
    for name, call in REPEATED.items():
        if only not in name:
            continue
        done = subprocess.run(
            [sys.executable, "-c", LEAKS.format(call=call)],
            capture_output=True,
            text=True,
            check=True,
        )
        resident, traced = map(float, done.stdout.split())
        print(f"{name:<42}{resident:>8.1f} MB {traced:>8.1f} kB", flush=True)


def main() -> None:
    """Print the tables."""
    only = os.environ.get("ONLY", "")
    in_memory(only)
    from_files(only)
    leaks(only)
