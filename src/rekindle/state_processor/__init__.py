"""The state of jobs as data: savepoints read as DataFrames, and written from them. Named after Flink's API for that.

Spark is imported when a DataFrame is asked for, not before.
"""

from rekindle.state_processor.bootstrap import (
    KeyedStateBootstrapFunction,
    OperatorTransformation,
    broadcast_state,
    keyed_state,
    list_state,
    union_state,
)
from rekindle.state_processor.reader_function import KeyedStateReaderFunction
from rekindle.state_processor.savepoint_reader import SavepointReader
from rekindle.state_processor.savepoint_writer import SavepointWriter

__all__ = [
    "KeyedStateBootstrapFunction",
    "KeyedStateReaderFunction",
    "OperatorTransformation",
    "SavepointReader",
    "SavepointWriter",
    "broadcast_state",
    "keyed_state",
    "list_state",
    "union_state",
]
