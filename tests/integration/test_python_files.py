"""Python files that a program brings along: functions import them in the slots."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rekindle.datastream import StreamExecutionEnvironment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.usefixtures("no_slots_left")


def test_functions_import_modules_directories_and_zips(spark: SparkSession, tmp_path: Path) -> None:
    module = tmp_path / "shipped_module.py"
    module.write_text("def one(): return 1\n")
    package = tmp_path / "modules" / "shipped_package"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("def two(): return 2\n")
    archive = tmp_path / "shipped.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("shipped_in_zip.py", "def three(): return 3\n")

    def add_all(number: int) -> Any:
        import shipped_in_zip  # type: ignore[import-not-found]
        import shipped_module  # type: ignore[import-not-found]
        import shipped_package  # type: ignore[import-not-found]

        return number, shipped_module.one(), shipped_package.two(), shipped_in_zip.three()

    env = StreamExecutionEnvironment.get_execution_environment(spark_session=spark).set_parallelism(1)
    for path in (module, package.parent, archive):
        env.add_python_file(str(path))
    assert env.from_collection([0]).map(add_all).execute_and_collect(limit=1) == [(0, 1, 2, 3)]
    assert env.from_collection([4]).map(add_all).execute_and_collect(limit=1) == [(4, 1, 2, 3)]
