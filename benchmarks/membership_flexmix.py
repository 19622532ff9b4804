"""Membership covariates and shared coefficients: the same maximum as R's flexmix, on real data.

Choices of credit cards and covariates of the persons (`bank` of R bayesm: Allenby and Ginter 1995):
run with ``make flexmix DATA=folder``, where the folder holds bank.csv.gz and bank_persons.csv.gz. A
fit without penalty is continued by flexmix from our posteriors, so that both are at the same
maximum.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.simulated import CONSOLE, table
from spectralmirror import LinearClassifierMixture

SCRIPT = Path(__file__).with_suffix(".R").resolve()
COVARIATES = ["age", "income", "gender"]
SHARED = ["Med_Rebate", "High_Rebate", "Long_Grace"]
CASES = [
    (k, membership, shared)
    for k in (2, 3)
    for membership, shared in ((True, ()), (False, SHARED), (True, SHARED))
]


def bank() -> tuple[pl.DataFrame, pl.DataFrame, np.ndarray]:
    """Return features, covariates of the person of each row, and labels and persons."""
    folder = Path(os.environ["DATA"])
    rows = pl.read_csv(folder / "bank.csv.gz").join(
        pl.read_csv(folder / "bank_persons.csv.gz"), on="group", how="left", maintain_order="left"
    )
    return rows.drop("y", "group", *COVARIATES), rows[COVARIATES], rows[["y", "group"]]


def by_flexmix(X, Z, rows, posteriors, shared, *, membership: bool) -> list[float]:
    """Return the log-likelihood of flexmix, its number of parameters, and its iterations."""
    names = {name: f"x{j}" for j, name in enumerate(X.columns)}
    columns = [
        rows,
        X.rename(names),
        Z.rename({name: f"z{j}" for j, name in enumerate(Z.columns)}),
        pl.DataFrame(posteriors, schema=[f"p{c + 1}" for c in range(posteriors.shape[1])]),
    ]
    with tempfile.TemporaryDirectory() as folder:
        pl.concat(columns, how="horizontal").write_csv(Path(folder) / "rows.csv")
        command = ["Rscript", str(SCRIPT), str(int(membership)), *(names[one] for one in shared)]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return [float(value) for value in done.stdout.split()]


def main() -> None:
    """Print the log-likelihoods."""
    X, Z, rows = bank()
    y, persons = rows["y"].to_numpy(), rows["group"].to_numpy()
    made = table(
        "bank without penalty: log-likelihood here, and of flexmix from our posteriors",
        ("k", "membership", "shared", "here", "flexmix", "apart", "parameters", "CPU s"),
    )
    for k, membership, shared in CASES:
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mixture = LinearClassifierMixture(
                k, l2=0, fit_intercept=False, shared=shared, tol=1e-8, random_state=0
            )
            given = Z if membership else None
            mixture.fit(X, y, groups=persons, membership=given)
        seconds = time.process_time() - start
        R = mixture.component_proba(X, y, persons, membership=given, averaged=False)
        found, n_parameters, _ = by_flexmix(X, Z, rows, R, shared, membership=membership)
        made.add_row(
            str(k), "age, income, gender" if membership else "", ", ".join(shared),
            f"{mixture.log_likelihood_:.4f}", f"{found:.4f}",
            f"{mixture.log_likelihood_ - found:.4f}",
            f"{mixture.n_parameters_}, {n_parameters:.0f}", f"{seconds:.1f}",
        )  # fmt: skip
    CONSOLE.print(made)


if __name__ == "__main__":
    main()
