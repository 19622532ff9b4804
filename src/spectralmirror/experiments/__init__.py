"""The paper's experiments, and our own on its claims: tables only, drawn by plotting."""

from spectralmirror.experiments.blind_spot import BLIND_SPOT
from spectralmirror.experiments.cost import COST
from spectralmirror.experiments.experiment import SCALES, Cell, Experiment, Row
from spectralmirror.experiments.experts import EXPERTS
from spectralmirror.experiments.figure1 import FIGURE1
from spectralmirror.experiments.figure2 import FIGURE2
from spectralmirror.experiments.figure3 import FIGURE3
from spectralmirror.experiments.figure4 import FIGURE4
from spectralmirror.experiments.hessian import HESSIAN
from spectralmirror.experiments.median import MEDIAN
from spectralmirror.experiments.runner import run
from spectralmirror.experiments.span import SPAN

#: All of them by name: the paper's figures first, then its claims.
EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        FIGURE1,
        FIGURE2,
        FIGURE3,
        FIGURE4,
        SPAN,
        HESSIAN,
        EXPERTS,
        COST,
        MEDIAN,
        BLIND_SPOT,
    )
}

__all__ = ["EXPERIMENTS", "SCALES", "Cell", "Experiment", "Row", "run"]
