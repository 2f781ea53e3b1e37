from __future__ import annotations

import importlib

import pytest

import rekindle.common

PYFLINK_COMMON = {
    "AssignerWithPeriodicWatermarksWrapper",
    "ByteArraySchema",
    "CompletableFuture",
    "ConfigOption",
    "ConfigOptions",
    "Configuration",
    "DeserializationSchema",
    "Duration",
    "Encoder",
    "ExecutionConfig",
    "InputDependencyConstraint",
    "Instant",
    "JobClient",
    "JobExecutionResult",
    "JobID",
    "JobStatus",
    "RestartStrategies",
    "RestartStrategyConfiguration",
    "Row",
    "RowKind",
    "SerializationSchema",
    "SimpleStringSchema",
    "Time",
    "TypeInformation",
    "TypeSerializer",
    "Types",
    "WatermarkStrategy",
}
FLINK_1_ONLY = {"ExecutionMode"}
WAYS = ("SerializationSchema", "DeserializationSchema")
OF_FORMATS = {f"{name}Row{way}" for name in ("Avro", "Csv", "Json") for way in WAYS}
"""What ``pyflink.common`` takes from ``pyflink.datastream.formats``."""


def test_the_package_exports_what_pyflink_common_does_and_nothing_else() -> None:
    assert set(rekindle.common.__all__) == PYFLINK_COMMON | FLINK_1_ONLY | OF_FORMATS
    for name in rekindle.common.__all__:
        assert hasattr(rekindle.common, name)


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("completable_future", "CompletableFuture"),
        ("config_options", "ConfigOption ConfigOptions"),
        ("configuration", "Configuration"),
        ("constants", "DEFAULT_OUTPUT_TAG MAX_LONG_VALUE MIN_LONG_VALUE"),
        ("execution_config", "ExecutionConfig"),
        ("execution_mode", "ExecutionMode"),
        ("input_dependency_constraint", "InputDependencyConstraint"),
        ("job_client", "JobClient"),
        ("job_execution_result", "JobExecutionResult"),
        ("job_id", "JobID"),
        ("job_status", "JobStatus"),
        ("restart_strategy", "RestartStrategies RestartStrategyConfiguration"),
        (
            "serialization",
            "ByteArraySchema DeserializationSchema Encoder RowFieldExtractorSchema SerializationSchema "
            "SimpleStringSchema",
        ),
        ("serializer", "TypeSerializer VoidNamespaceSerializer"),
        ("time", "Duration Instant Time"),
        (
            "typeinfo",
            "BasicArrayTypeInfo BasicType BasicTypeInfo DateTypeInfo ExternalTypeInfo InstantTypeInfo "
            "ListTypeInfo LocalTimeTypeInfo MapTypeInfo ObjectArrayTypeInfo PickledBytesTypeInfo "
            "PrimitiveArrayTypeInfo RowTypeInfo SqlTimeTypeInfo TimeTypeInfo TimestampTypeInfo TupleTypeInfo "
            "TypeInformation Types",
        ),
        ("types", "Row RowKind"),
        ("watermark_strategy", "AssignerWithPeriodicWatermarksWrapper TimestampAssigner WatermarkStrategy"),
    ],
)
def test_modules_have_the_names_that_programs_import_from_pyflinks(module: str, names: str) -> None:
    imported = importlib.import_module(f"rekindle.common.{module}")
    assert set(names.split()) <= set(imported.__all__)
    for name in names.split():
        assert hasattr(imported, name)
