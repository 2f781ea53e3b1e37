"""Types, configuration, time, watermarks and restart strategies: the counterpart of ``pyflink.common``."""

from __future__ import annotations

from rekindle.base.time import Duration, Instant, Time
from rekindle.common.serializer import TypeSerializer
from rekindle.config.config_options import ConfigOption, ConfigOptions
from rekindle.config.configuration import Configuration
from rekindle.config.execution_config import ExecutionConfig, ExecutionMode, InputDependencyConstraint
from rekindle.config.restart_strategy import RestartStrategies, RestartStrategyConfiguration
from rekindle.contracts.job.completable_future import CompletableFuture
from rekindle.contracts.job.job_client import JobClient
from rekindle.contracts.job.job_execution_result import JobExecutionResult
from rekindle.contracts.job.job_id import JobID
from rekindle.contracts.job.job_status import JobStatus
from rekindle.contracts.time.watermark_strategy import AssignerWithPeriodicWatermarksWrapper, WatermarkStrategy
from rekindle.formats.avro_messages import AvroRowDeserializationSchema, AvroRowSerializationSchema
from rekindle.formats.csv_messages import CsvRowDeserializationSchema, CsvRowSerializationSchema
from rekindle.formats.json_schemas import JsonRowDeserializationSchema, JsonRowSerializationSchema
from rekindle.formats.schemas import (
    ByteArraySchema,
    DeserializationSchema,
    Encoder,
    SerializationSchema,
    SimpleStringSchema,
)
from rekindle.types.row import Row, RowKind
from rekindle.types.typeinfo import TypeInformation, Types

__all__ = [
    "AssignerWithPeriodicWatermarksWrapper",
    "AvroRowDeserializationSchema",
    "AvroRowSerializationSchema",
    "ByteArraySchema",
    "CompletableFuture",
    "ConfigOption",
    "ConfigOptions",
    "Configuration",
    "CsvRowDeserializationSchema",
    "CsvRowSerializationSchema",
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
    "JsonRowDeserializationSchema",
    "JsonRowSerializationSchema",
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
