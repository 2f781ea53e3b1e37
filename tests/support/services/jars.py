"""Finds the jars of services, and fetches them with Maven into a cache that all checkouts share.

``make test`` fetches before the tests run (``scripts/fetch_services.py``). Tests only look: what is not there, they
skip.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from importlib.metadata import version
from pathlib import Path

POMS = Path(__file__).parent
NEWEST_CONNECTOR = (4, 2)
"""The newest Spark for which there is a connector to Kafka; later ones take it as well."""


DELTA_FOR = ("4.0", "4.1", "4.2")
"""The Sparks that there is a Delta for; it works with no other."""


class NotFetchedError(Exception):
    """Maven is missing, or could not fetch."""


def kafka_jars() -> Path:
    """Return where the jars of Kafka's broker and tools are, or will be."""
    return _place("kafka")


def hdfs_jars() -> Path:
    """Return where the jars of HDFS's NameNode and DataNode are, or will be."""
    return _place("hdfs")


def spark_kafka_jars() -> Path:
    """Return where Spark's connector to Kafka is, or will be, with what it needs beside Spark."""
    return _place("spark-kafka", spark_kafka_version())


def spark_kafka_version() -> str:
    """Return the version of the connector to Kafka for the Spark in use."""
    major, minor = map(int, version("pyspark").split(".")[:2])
    return ".".join(map(str, (*min((major, minor), NEWEST_CONNECTOR), 0)))


def delta_jars() -> Path | None:
    """Return where Delta is, or will be; None: there is none for the Spark in use."""
    return _place("delta", _spark()) if _spark() in DELTA_FOR else None


def _spark() -> str:
    return ".".join(version("pyspark").split(".")[:2])


def wanted_jars() -> dict[Path, list[str]]:
    """Return where jars are to be: by that, the pom that names them, and its properties."""
    delta = _spark() if _spark() in DELTA_FOR else DELTA_FOR[0]  # the oldest, on which make test runs some tests
    return {
        kafka_jars(): ["kafka"],
        hdfs_jars(): ["hdfs"],
        spark_kafka_jars(): ["spark-kafka", f"-Dspark.version={spark_kafka_version()}"],
        _place("delta", delta): ["delta", f"-Dspark.version={delta}"],
    }


def fetch() -> list[Path]:
    """Fetch what is not there yet; return what was.

    Raises:
        NotFetchedError: Maven is missing or failed.
    """
    missing = {target: words for target, words in wanted_jars().items() if not target.exists()}
    for target, (pom, *properties) in missing.items():
        _fetch(target, POMS / f"{pom}.xml", properties)
    return list(missing)


def _place(name: str, *parts: str) -> Path:
    """Return a directory of the cache; its name has the content of the pom in it."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "rekindle")
    digest = hashlib.sha256((POMS / f"{name}.xml").read_bytes()).hexdigest()[:12]
    return cache / "-".join([name, *parts, digest])


def _fetch(target: Path, pom: Path, properties: list[str]) -> None:
    """Let Maven fill a directory, which appears under its name only when it is complete."""
    maven = shutil.which("mvn")
    if maven is None:
        raise NotFetchedError("there is no mvn on the PATH. On Debian: apt-get install maven")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        unfinished = Path(scratch, target.name)
        words = [maven, "-q", "-B", "-U", "-f", str(pom), *properties, "dependency:copy-dependencies"]
        words += ["-DincludeScope=runtime", f"-DoutputDirectory={unfinished}"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise NotFetchedError(f"Maven ended with {done.returncode}:\n{(done.stdout + done.stderr).strip()[-2000:]}")
        if not target.exists():  # another run of tests may have been faster
            unfinished.rename(target)
