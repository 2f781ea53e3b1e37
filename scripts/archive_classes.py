"""Writes the classes that Spark loads for a small job into an archive, from which every JVM of the tests starts sooner.

make runs this once for an environment. The archive fits the Java and the Spark that wrote it; a JVM that it does not
fit starts without it. If it cannot be written, the tests are slower, and nothing else.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ARCHIVE = Path(sys.prefix, "spark-classes.jsa")
JOB = """
import sys, os
from rekindle.common import Configuration
from rekindle.datastream import StreamExecutionEnvironment

directory = sys.argv[1]
os.mkdir(f"{directory}/lines")
with open(f"{directory}/lines/some.txt", "w") as file:
    file.write("1\\n2\\n3\\n")
settings = {"rekindle.progress": "none", "execution.checkpointing.dir": f"file://{directory}/checkpoints"}
env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
env.set_parallelism(2)
env.enable_checkpointing(100)
lines = env.spark_session.readStream.text(f"{directory}/lines")
events = env.from_data_frame(lines, uid="lines", bounded=True).map(lambda row: int(row.value))
numbers = env.from_data_frame(env.spark_session.range(100), uid="numbers").map(lambda row: row.id)
with events.union(numbers).key_by(lambda n: n % 3).reduce(lambda a, b: a + b).execute_and_collect() as results:
    assert len(list(results)) == 103
"""


def main() -> int:
    """Run the job, and let its JVM write the archive when it ends."""
    print(f"Archiving the classes of Spark's that tests load in {ARCHIVE.parent.name}", flush=True)
    unfinished = ARCHIVE.with_suffix(".unfinished")
    unfinished.unlink(missing_ok=True)
    options = f"-XX:ArchiveClassesAtExit={unfinished} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    with tempfile.TemporaryDirectory() as directory:
        environment = os.environ | {"JDK_JAVA_OPTIONS": options}
        command = [sys.executable, "-c", JOB, directory]
        run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if run.returncode == 0 and unfinished.exists():
        unfinished.replace(ARCHIVE)
    else:
        print(f"There is no archive, and the tests do without. The job said:\n{run.stderr[-2000:]}", flush=True)
        ARCHIVE.touch()
    return 0


if __name__ == "__main__":
    sys.exit(main())
