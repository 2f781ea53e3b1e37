"""An environment whose jobs run in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from rekindle.config.configuration import Configuration
from rekindle.config.configuration_layers import lay_over
from rekindle.config.rest_options import RestOptions
from rekindle.contracts.table_commit import TableCommit
from rekindle.contracts.wrong_arguments import with_article
from rekindle.datastream import DataStream, StreamExecutionEnvironment
from rekindle.exceptions import InvalidProgramError, NotSupportedError
from rekindle.graph.job_graph import JobGraph
from rekindle.runtime.master.settings.state_settings import check_restore_setting
from rekindle.runtime.master.views.progress import ProgressView
from rekindle.testing.in_process.cluster import InProcessCluster

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["LocalEnvironment", "local_environment"]


class LocalEnvironment(StreamExecutionEnvironment):
    """Run programs in this process, without Spark; made by :func:`local_environment`.

    Attributes:
        cluster: What the jobs run on; its :meth:`~InProcessCluster.kill_slot` lets a slot die.
    """

    def __init__(self, configuration: Configuration | None = None, cluster: InProcessCluster | None = None) -> None:
        """Make an environment; see :func:`local_environment`."""
        settings = Configuration()
        settings.set(RestOptions.ENABLED, False)
        if configuration is not None:
            lay_over(settings, configuration)
        super().__init__(settings)
        self.cluster = cluster or InProcessCluster()

    def from_data_frame(
        self,
        data_frame: pa.Table | Sequence[pa.Table] | DataFrame | Callable[[SparkSession], DataFrame],
        uid: str,
        bounded: bool | None = None,
    ) -> DataStream:
        """Make a stream of the rows of Arrow tables, which come as those of a DataFrame would on Spark.

        Args:
            data_frame: A table, in the place of a bounded DataFrame; or a list of tables, in the place of a stream that
                brings one of them in each epoch and ends with the last. Each Arrow batch of a table is read in a task
                of its own.
            uid: The identity by which the position of the source is found again.
            bounded: Not False: tables end.

        Raises:
            NotSupportedError: It is a DataFrame, which only Spark can read.
            TypeError: It is nothing of the kind.
        """
        import pyarrow as pa

        from rekindle.testing.in_process.arrow_frames import ArrowFrame

        if not isinstance(data_frame, pa.Table | list | tuple):
            if not callable(data_frame) and not hasattr(data_frame, "isStreaming"):
                raise TypeError(
                    f"from_data_frame (source {uid!r}) takes an Arrow table or a list of tables here, and was given "
                    f"{with_article(type(data_frame).__name__)}"
                )
            instead = "Give rows as an Arrow table, or the records with env.from_collection(…)"
            raise _needs_spark(f"from_data_frame with a DataFrame (source {uid!r})", instead)
        if bounded is False:
            raise InvalidProgramError(f"source {uid!r} ends with its last table: omit bounded=False")
        frame: Any = ArrowFrame(data_frame, uid)
        return self._rows(frame, frame.schema, uid, True)

    @property
    def spark_session(self) -> NoReturn:
        """Raise NotSupportedError: there is no Spark."""
        raise _needs_spark("spark_session", "Make what the program needs of it without Spark")

    def _collected_frames(self, schema: pa.Schema) -> Any:
        return _ArrowTables(schema)

    def _cluster(self, graph: JobGraph, job_name: str, view: ProgressView) -> tuple[InProcessCluster, JobGraph]:
        check_restore_setting(self._configuration)
        self.cluster.epochs(graph)  # refuses at once what it cannot read
        return self.cluster, graph


class _ArrowTables:
    """Keep the rows of a stream for an Arrow table, which stands for a DataFrame."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._tables: dict[int, pa.Table] = {}

    def write(self, table: pa.Table, commit: TableCommit) -> None:
        """Keep the rows of a commit."""
        self._tables[commit.version] = table

    def frame(self) -> pa.Table:
        """Return all rows."""
        import pyarrow as pa

        return pa.concat_tables([self._schema.empty_table(), *self._tables.values()])


def local_environment(
    parallelism: int = 1,
    configuration: Configuration | Mapping[str, str] | None = None,
    cluster: InProcessCluster | None = None,
) -> LocalEnvironment:
    """Make an environment whose jobs run in this process: quickly, and without Spark or Java.

    Everything else is as it is on Spark: the job master, checkpoints, restarts, savepoints, exchanges between slots.
    The functions of a program are pickled for each slot, as on Spark, so they share no objects with the test: let
    ``execute_and_collect`` give the results. The REST interface is off unless the configuration turns it on.

    Args:
        parallelism: The parallelism of operators that set none of their own. From 2 on, records cross exchanges.
        configuration: Settings by key.
        cluster: What the jobs run on; by default a cluster of its own.
    """
    if configuration is not None and not isinstance(configuration, Configuration):
        configuration = Configuration.from_dict(dict(configuration))
    env = LocalEnvironment(configuration, cluster)
    env.set_parallelism(parallelism)
    return env


def _needs_spark(what: str, instead: str) -> NotSupportedError:
    return NotSupportedError(
        f"{what} needs Spark, and rekindle.testing.local_environment() runs without it. {instead} in the test, or run "
        "it on Spark with StreamExecutionEnvironment.get_execution_environment()"
    )
