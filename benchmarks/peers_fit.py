"""Fits by Python packages for `benchmarks/peers.py`: ours, StepMix and choice-learn.

Run as a script, ``python peers_fit.py PACKAGE FILE.npz CLASSES STARTS``, by the interpreter of an
environment that has the package and perhaps nothing else. Prints the log-likelihood (of
"predictions" the mean log-loss), the processor seconds without imports, the number of starts, and
the peak memory of the process in megabytes (Linux).
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings

import numpy as np


def by_ours(data, k: int, starts: int):
    """Fit our mixture without penalty, with as many starts as it needs."""
    from spectralmirror import ChoiceMixture, LinearClassifierMixture

    chosen, groups = "choices" in data, data.get("groups")
    if chosen:
        mixture = ChoiceMixture(k, l2=0, random_state=0)
        given = {"choices": data["choices"], "groups": groups}
    else:
        spread = str(data["spread"]) if "spread" in data else None
        mixture = LinearClassifierMixture(
            k, l2=0, spread=spread, fit_intercept=bool(data["intercept"]), random_state=0
        )
        given = {"groups": groups}

    def fit():
        mixture.fit(data["X"], data["y"], **given)
        return mixture.log_likelihood_, len(mixture.starts_)

    return fit


def by_predictions(data, k: int, starts: int):
    """Fit our mixture of persons who differ to half of their rows, and predict the others."""
    from benchmarks.real_methods import Problem, spread_mixture

    names = ("X", "y", "groups", "X_test", "groups_test")
    problem = Problem(*(data[name] for name in names), bool(data["intercept"]), True, 0)

    def fit():
        p = spread_mixture(problem)
        return -np.log(np.where(data["y_test"] == 1, p, 1 - p)).mean(), 1

    return fit


def by_stepmix(data, k: int, starts: int):
    """Latent classes behind the binary answers of persons, a row each; NaN is no answer."""
    from stepmix.stepmix import StepMix

    model = StepMix(
        k, measurement="binary_nan", n_init=starts, random_state=0, progress_bar=0, verbose=0
    )
    answers = data["answers"]
    return lambda: (model.fit(answers).score(answers) * len(answers), starts)


def by_choice_learn(data, k: int, starts: int):
    """Latent classes of choices, every one of a person of its own, by L-BFGS as in its pages."""
    import tensorflow as tf
    from choice_learn.data import ChoiceDataset
    from choice_learn.models.latent_class_mnl import LatentClassSimpleMNL

    sets = data["choices"]
    X = data["X"].reshape(sets.max() + 1, -1, data["X"].shape[1]).astype(np.float32)
    chosen = data["y"].reshape(len(X), -1).argmax(axis=1)
    names = [f"x{j}" for j in range(X.shape[2])]
    choices = ChoiceDataset(
        choices=chosen, items_features_by_choice=(X,), items_features_by_choice_names=(names,)
    )

    def once(seed):
        tf.random.set_seed(seed)
        model = LatentClassSimpleMNL(
            n_latent_classes=k, fit_method="mle", optimizer="lbfgs", epochs=1_000,
            lbfgs_tolerance=1e-8,
        )  # fmt: skip
        model.fit(choices)
        return -float(model.evaluate(choices)) * len(chosen)

    return lambda: (np.nanmax([once(seed) for seed in range(starts)]), starts)


FITS = {
    "ours": by_ours,
    "predictions": by_predictions,
    "stepmix": by_stepmix,
    "choice-learn": by_choice_learn,
}


def main() -> None:
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    package, path, k, starts = sys.argv[1:]
    data = dict(np.load(path))
    warnings.simplefilter("ignore")
    fit = FITS[package](data, int(k), int(starts))  # imports what it needs
    begin = time.process_time()
    value, used = fit()
    seconds = time.process_time() - begin
    with open("/proc/self/status") as status:
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    print(json.dumps([float(value), seconds, used, peak / 1024]))


if __name__ == "__main__":
    main()
