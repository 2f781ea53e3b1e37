"""What a program brings along for its functions: Python files travel with Spark, the rest is for Spark to provide."""

from __future__ import annotations

import os
import shutil
import zlib
from typing import TYPE_CHECKING, NoReturn

from rekindle.config.configuration import Configuration
from rekindle.config.options import PythonOptions
from rekindle.exceptions import ConfigurationError, InvalidProgramError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class EnvironmentDependencies:
    """Ship Python files; refuse what only Flink could load, and say what to do instead."""

    _configuration: Configuration
    _session: SparkSession | None

    def add_python_file(self, file_path: str) -> None:
        """Let functions import a module, or what is in a directory or a zip.

        Args:
            file_path: A ``.py``, ``.zip`` or ``.egg`` file, or a directory of modules and packages.
        """
        if not os.path.exists(file_path):
            raise ConfigurationError(f"add_python_file: there is no file or directory {file_path!r}")
        added = self._configuration.get(PythonOptions.PYTHON_FILES)
        path = os.path.abspath(file_path)
        self._configuration.set(PythonOptions.PYTHON_FILES, path if added is None else f"{added},{path}")

    def set_python_executable(self, python_exec: str) -> None:
        """Set the Python that runs functions; it needs Rekindle, PySpark and what the functions import.

        Call it before the first job: Spark takes it when it starts. It must be of the same version as the driver's.
        """
        if self._session is not None:
            raise InvalidProgramError(
                "set_python_executable comes too late: Spark runs already. Call it before the first job, or set "
                "PYSPARK_PYTHON for the session that you made"
            )
        self._configuration.set(PythonOptions.PYTHON_EXECUTABLE, python_exec)

    def set_python_requirements(
        self, requirements_file_path: str, requirements_cache_dir: str | None = None
    ) -> NoReturn:
        """Refuse: nothing is installed on the executors."""
        raise NotImplementedError(
            "set_python_requirements is not available: Rekindle installs nothing on Spark's executors. Pack an "
            "environment (conda-pack, venv-pack) and hand it to Spark with spark.archives, install the requirements on "
            "the executors, or ship pure Python packages with add_python_file"
        )

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> NoReturn:
        """Refuse: Spark ships archives."""
        raise NotImplementedError(
            "add_python_archive is not available: set spark.archives in the Configuration, and read what was unpacked "
            "with pyspark.SparkFiles; modules can be shipped with add_python_file"
        )

    def add_jars(self, *jars_path: str) -> NoReturn:
        """Refuse: there is no Flink that could load a jar."""
        raise NotImplementedError(
            "add_jars is not available: there is no Flink that could load a connector. Read and write through Spark: "
            "set spark.jars or spark.jars.packages in the Configuration, and use from_data_frame"
        )

    def add_classpaths(self, *classpaths: str) -> NoReturn:
        """Refuse: there is no Flink that could load a class."""
        raise NotImplementedError(
            "add_classpaths is not available: there is no Flink that could load a class. Set spark.jars or "
            "spark.driver.extraClassPath in the Configuration for sources that Spark reads"
        )

    def register_cached_file(self, file_path: str, name: str, executable: bool = False) -> NoReturn:
        """Refuse: functions in Python cannot ask for such a file, in PyFlink neither."""
        raise NotImplementedError(
            "register_cached_file is not available: functions in Python cannot ask for cached files. Set spark.files "
            "in the Configuration and read them with pyspark.SparkFiles, or read the file in open() from shared storage"
        )

    def _ship_python_files(self, session: SparkSession) -> None:
        """Hand the files to Spark, which puts them where the slots import from."""
        files = self._configuration.get(PythonOptions.PYTHON_FILES)
        if not files:
            return
        from pyspark import SparkFiles  # only where files are shipped

        for path in files.split(","):
            if os.path.isdir(path):
                name = f"{os.path.basename(path)}-{zlib.crc32(path.encode()):08x}"
                packed = os.path.join(SparkFiles.getRootDirectory(), "rekindle", name)  # goes when Spark goes
                path = f"{packed}.zip" if os.path.exists(f"{packed}.zip") else shutil.make_archive(packed, "zip", path)
            session.sparkContext.addPyFile(path)
