"""The modules of PyFlink that Rekindle does not have: importing one says what to use instead.

PyFlink's connectors and formats are Java's. Spark reads and writes the same systems, and Spark SQL does what the Table
API does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import NoReturn

from rekindle.exceptions import UnavailableModuleError

_WRITE = "write with a SinkFunction or a Sink of your own, or to files that Spark takes further (docs/sinks.md)"
_NO_JAVA = "there is no Java program behind Rekindle to talk to"
_TEST = "test functions with rekindle.testing.OperatorHarness, without a cluster"


def _read(what: str, reader: str) -> str:
    return f"read {what} with Spark, env.from_data_frame({reader}, uid='…'), and {_WRITE}"


_KAFKA = (
    "use KafkaSource of rekindle.datastream.connectors.kafka, which reads topics by name or by pattern (docs/kafka.md)"
)

INSTEAD: Mapping[str, str] = {
    "common.io": "input formats are Java's; read with Spark, env.from_data_frame(…)",
    "common.utils": _NO_JAVA,
    "datastream.connectors.cassandra": _WRITE,
    "datastream.connectors.dynamic_kafka": _KAFKA,
    "datastream.connectors.elasticsearch": _WRITE,
    "datastream.connectors.hybrid_source": "read both sources, each with env.from_data_frame(…), and unite the streams",
    "datastream.connectors.kinesis": _read("Kinesis", "spark.readStream.format(…)….load()"),
    "datastream.connectors.pulsar": _read("Pulsar", "spark.readStream.format(…)….load()"),
    "datastream.connectors.rabbitmq": f"read in a SourceFunction of your own (docs/sources.md), and {_WRITE}",
    "datastream.utils": _NO_JAVA,
    "fn_execution": _NO_JAVA,
    "java_gateway": _NO_JAVA,
    "ml": "learn with pyspark.ml, and apply the model in a function",
    "serializers": "use rekindle.serialization",
    "shell": "start Python, or a notebook, and import rekindle",
    "table": "do in Spark SQL what the Table API did, before env.from_data_frame(…) or on what a FileSink wrote",
    "testing.source_sink_utils": _TEST,
    "testing.test_case_utils": _TEST,
    "util": f"the errors are in rekindle.exceptions, and {_NO_JAVA}",
    "version": "use rekindle.__version__",
}
"""What to do instead, by the name of the module below ``pyflink``."""


class UnavailableModules:
    """Answer for modules that nobody else has found, as one of ``sys.meta_path``."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Raise for a module in the table."""
        package, _, name = fullname.partition(".")
        if package == "rekindle" and name in INSTEAD:
            raise unavailable(fullname, INSTEAD[name])
        return None


def explain_missing_modules() -> None:
    """Let imports of PyFlink's modules that are not there say what to use instead."""
    if not any(isinstance(finder, UnavailableModules) for finder in sys.meta_path):
        sys.meta_path.append(UnavailableModules())


def names_elsewhere(package: str, modules: Mapping[str, Iterable[str]]) -> Callable[[str], NoReturn]:
    """Make the ``__getattr__`` of a package whose counterpart in PyFlink has names of modules that are missing.

    Args:
        package: The name of the package.
        modules: The names, by the module that PyFlink has them from: a name in the table, below ``pyflink``.
    """
    module_of = {name: module for module, names in modules.items() for name in names}

    def refuse(name: str) -> NoReturn:
        if name in module_of:
            raise unavailable(f"{package}.{name}", INSTEAD[module_of[name]])
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return refuse


def unavailable(name: str, instead: str) -> UnavailableModuleError:
    """Make the error of an import, without a ``name``: ``from package import module`` would swallow it."""
    return UnavailableModuleError(
        f"{name} is not available in Rekindle: {instead}. docs/pyflink-compatibility.md has more"
    )
