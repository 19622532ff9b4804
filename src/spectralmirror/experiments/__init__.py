"""The paper's experiments, and experiments on its claims.

An :class:`Experiment` is a list of cells and a function that measures one of them. `figure1` to
`figure4` are the paper's figures; `span`, `hessian`, `experts`, `cost`, `median` and `blind_spot`
test its claims. They share `data` and `references`. `runner` measures cells on all cores, `store`
keeps those that are finished (`sources` detects changes of the code), `figures` draws the tables,
`findings` puts them into sentences, and `reproduce` writes all of it to files.
"""

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

#: All experiments by name: the paper's figures first, then its claims.
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
