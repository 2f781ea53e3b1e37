"""Lets a program run its jobs without Spark: everything is as it is but the cluster, whose slots are threads.

A program of a test that is run as a process of its own begins with ``import support.without_spark``. One job at a time.
"""

from __future__ import annotations

import pytest

from rekindle.datastream import StreamExecutionEnvironment, stream_execution_environment
from support.in_process_master import run_jobs_here

_patch = pytest.MonkeyPatch()
cluster = run_jobs_here(_patch)
_patch.setattr(StreamExecutionEnvironment, "_spark_session", lambda *arguments: None)
_patch.setattr(stream_execution_environment, "load_data_frames", lambda graph, session: graph)
