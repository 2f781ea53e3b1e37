"""Types, configuration, time, watermarks and restart strategies: the counterpart of ``pyflink.common``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rekindle.common.completable_future import CompletableFuture
from rekindle.common.config_options import ConfigOption, ConfigOptions
from rekindle.common.configuration import Configuration
from rekindle.common.execution_config import ExecutionConfig
from rekindle.common.execution_mode import ExecutionMode
from rekindle.common.input_dependency_constraint import InputDependencyConstraint
from rekindle.common.job_client import JobClient
from rekindle.common.job_execution_result import JobExecutionResult
from rekindle.common.job_id import JobID
from rekindle.common.job_status import JobStatus
from rekindle.common.restart_strategy import RestartStrategies, RestartStrategyConfiguration
from rekindle.common.serialization import (
    ByteArraySchema,
    DeserializationSchema,
    Encoder,
    SerializationSchema,
    SimpleStringSchema,
)
from rekindle.common.serializer import TypeSerializer
from rekindle.common.time import Duration, Instant, Time
from rekindle.common.typeinfo import TypeInformation, Types
from rekindle.common.types import Row, RowKind
from rekindle.common.watermark_strategy import AssignerWithPeriodicWatermarksWrapper, WatermarkStrategy
from rekindle.pyflink_modules import names_elsewhere

__all__ = [
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
    "ExecutionMode",
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
]

if not TYPE_CHECKING:  # a type checker is to see only what there is
    __getattr__ = names_elsewhere(
        __name__,
        {
            "datastream.formats": [
                "AvroRowDeserializationSchema",
                "AvroRowSerializationSchema",
                "CsvRowDeserializationSchema",
                "CsvRowSerializationSchema",
                "JsonRowDeserializationSchema",
                "JsonRowSerializationSchema",
            ]
        },
    )
