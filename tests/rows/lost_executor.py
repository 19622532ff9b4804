"""A fit on a small Spark cluster, one of whose two executors is killed meanwhile.

A process of its own: there is only one Spark in each. Run by :mod:`tests.rows.test_spark_lost`.
"""

import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from functools import partial
from pathlib import Path

import pandas as pd

from tests.helpers.agreement import assert_alike, mixture_rows
from tests.helpers.scans import mixture

NAMES = ["a", "b", "c"]
OPTIONS = {
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.executor.memory": "512m",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "500",
    "spark.sql.shuffle.partitions": "3",
}


def executors():
    """Return the processes of the executors."""
    lines = subprocess.run(["ps", "-ww", "-eo", "pid,args"], capture_output=True, text=True).stdout
    mine = os.environ["SPARK_HOME"]
    return [
        int(line.split()[0])
        for line in lines.splitlines()
        if "CoarseGrainedExecutorBackend" in line and mine in line
    ]


def main():
    """Fit while an executor is killed, and compare with a fit in memory."""
    warnings.simplefilter("ignore")
    from pyspark.sql import SparkSession

    import spectralmirror.spark

    builder = SparkSession.builder.master("local-cluster[2,1,1024]")
    for name, value in OPTIONS.items():
        builder = builder.config(name, value)
    session = builder.config(
        "spark.executorEnv.PYTHONPATH", os.pathsep.join(sys.path)
    ).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    X, y, groups, _ = mixture_rows(2000, 3)
    frame = pd.DataFrame(X, columns=NAMES).assign(y=y, who=groups)
    df = session.createDataFrame(frame).repartition(4).cache()
    frame = df.toPandas()
    source = spectralmirror.spark.scan(df, label="y", features=NAMES, groups="who")
    work, killed = Path(os.environ["SPARK_HOME"], "work"), []

    def kill():
        while len(list(work.glob("app-*/*/spectralmirror-*.arrow"))) < 8:
            time.sleep(0.02)  # the rows, and the rows by groups, are kept
        killed.append(executors()[0])
        os.kill(killed[0], signal.SIGKILL)

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    make = partial(mixture, l2=1.0, n_init=2)
    found = make().fit(source)
    thread.join(timeout=5)
    assert killed
    assert found.n_scans_ > 5
    assert_alike(found, make().fit(frame[NAMES], frame["y"], groups=frame["who"]))
    assert killed[0] not in executors()
    print("the same answer")
    session.stop()


if __name__ == "__main__":
    main()
