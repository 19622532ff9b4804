"""Spark on executors of their own: one is killed, and what Spark says if it gives up."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.refusals import assert_clear

pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed")


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found as on Linux")
@pytest.mark.skipif(
    shutil.which("java") is None and "JAVA_HOME" not in os.environ, reason="there is no Java"
)
def test_an_executor_that_is_killed(tmp_path):
    """Its rows are read again, and the fit is that in memory."""
    home = tmp_path / "spark"  # a Spark that works in a folder of ours
    home.mkdir()
    for path in Path(pyspark.__file__).parent.iterdir():
        (home / path.name).symlink_to(path)
    environment = {
        **os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "tests.rows.lost_executor"],
        cwd=Path(__file__).parents[2],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.stdout.strip().endswith("the same answer"), done.stderr[-3000:]


@pytest.mark.parametrize("words", ["indeterminate output", "ExecutorLostFailure (executor 3"])
def test_what_spark_gives_up_is_one_sentence(words):
    from spectralmirror.rows.spark_store import _explained

    with pytest.raises(RuntimeError, match=r"^Spark lost") as error, _explained():
        raise OSError(f"An error\n\tat java: stage failure: {words}\n\tat scala")
    assert_clear(str(error.value))
    with pytest.raises(OSError, match="something else"), _explained():
        raise OSError("something else")
