"""Fetches the services of tests/services: Kafka, Spark's connector to it, Delta, HDFS, PostgreSQL, an S3 server.

make test runs this. What cannot be had fails nothing: those tests are skipped, and the summary names them.
"""

from __future__ import annotations

import glob
import shutil
import sys
from pathlib import Path

from debian_packages import become_root, install

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support.services.jars import NotFetchedError, fetch, wanted_jars
from support.services.s3 import build_gateway, found_gateway

POSTGRES = "/usr/lib/postgresql/*/bin/postgres"  # Debian keeps it out of the PATH


def main() -> int:
    """Fetch what is missing."""
    if not all(place.exists() for place in wanted_jars()):
        if shutil.which("mvn") is None:
            _install("maven", "the tests with Kafka, Delta and HDFS")
        _fetch_jars()
    if not (shutil.which("postgres") or glob.glob(POSTGRES)):
        _install("postgresql", "the tests with PostgreSQL")
    if found_gateway() is None and shutil.which("go") is not None:
        print("Building an S3 server for tests with Go", flush=True)
        failure = build_gateway()
        if failure is not None:
            print(f"{failure}\nThe tests with S3 use moto instead.")
    return 0


def _fetch_jars() -> None:
    print("Fetching Kafka's broker, Delta and HDFS for tests with Maven", flush=True)
    try:
        fetch()
    except NotFetchedError as error:
        print(f"{error}\nThe tests with Kafka, Delta or HDFS are skipped.")


def _install(package: str, tests: str) -> None:
    prefix = become_root()
    if prefix is None:
        print(f"There is no {package}, so {tests} are skipped. To have them run:")
        print(f"\n    sudo sh -c 'apt-get update && apt-get install --yes {package}'\n")
        return
    print(f"Installing {package} for {tests} with apt-get", flush=True)
    failure = install(prefix, (package,))
    if failure is not None:
        print(f"{failure}\nWithout it {tests} are skipped.")


if __name__ == "__main__":
    sys.exit(main())
