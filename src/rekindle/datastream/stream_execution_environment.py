"""StreamExecutionEnvironment: where a program begins, and where it is set off.

Spark is imported when it is needed: planning a program and running it in one process do without.
"""

from __future__ import annotations

import atexit
import logging
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import wait
from contextlib import suppress
from typing import TYPE_CHECKING, Any, overload

from rekindle.base.clock import SteadyClock
from rekindle.base.type_variables import T
from rekindle.checkpoint import paths
from rekindle.checkpoint.settings.checkpoint_config import CheckpointConfig
from rekindle.checkpoint.settings.state_backend import StateBackend
from rekindle.config.configuration import Configuration
from rekindle.config.configuration_files import layered_configuration
from rekindle.config.configuration_layers import lay_over
from rekindle.config.execution_config import ExecutionConfig
from rekindle.config.options import (
    CheckpointingOptions,
    ExecutionOptions,
    PipelineOptions,
    RekindleOptions,
    warn_unknown_keys,
)
from rekindle.config.restart_strategy import RestartStrategyConfiguration
from rekindle.connectors.files.file_source import FileSource, StreamFormat
from rekindle.connectors.files.reader_formats import AvroInputFormat
from rekindle.connectors.socket_source import SocketTextStreamFunction
from rekindle.connectors.spark_source import SparkSource, SparkSourceFunction
from rekindle.contracts.checkpointing_mode import CheckpointingMode
from rekindle.contracts.connectors import Source
from rekindle.contracts.declared_types import RecordType, declared_type
from rekindle.contracts.functions import ParallelSourceFunction, SourceFunction
from rekindle.contracts.functions.function_adapters import require
from rekindle.contracts.job.job_client import JobClient
from rekindle.contracts.job.job_execution_result import JobExecutionResult
from rekindle.contracts.job.job_id import JobID
from rekindle.contracts.runtime_execution_mode import RuntimeExecutionMode
from rekindle.contracts.time.watermark_strategy import WatermarkStrategy
from rekindle.contracts.wrong_arguments import with_article
from rekindle.datastream.closeable_iterator import CloseableIterator
from rekindle.datastream.data_stream import DataStream
from rekindle.datastream.environment_dependencies import EnvironmentDependencies
from rekindle.datastream.environment_settings import EnvironmentSettings
from rekindle.datastream.overridden_settings import warn_of_overridden_settings
from rekindle.exceptions import (
    ConfigurationError,
    InvalidProgramError,
    JobCancelledError,
    SerializationError,
    SparkSetupError,
)
from rekindle.graph.batch_mode import as_batch, runs_as_batch
from rekindle.graph.compilation.column_chains import ColumnSettings
from rekindle.graph.compilation.compiler import compile_job
from rekindle.graph.job_graph import ClusterSource, JobGraph
from rekindle.graph.partitioning import FORWARD, SPLIT
from rekindle.graph.pickling import check_picklable
from rekindle.graph.plan import plan_of
from rekindle.graph.plan_only import end_if_only_planned
from rekindle.graph.stream_graph import Part, StreamEdge, StreamGraph
from rekindle.graph.transformations.one_input import TimestampsAndWatermarksTransformation
from rekindle.graph.transformations.sources import (
    ClusterFrame,
    CollectionSourceTransformation,
    ConnectorSourceTransformation,
    DescribedFrame,
    FunctionSourceTransformation,
    RowsTransformation,
)
from rekindle.graph.uids import require_uids
from rekindle.logs.setup import LogSettings, set_up_logging
from rekindle.rest.job_recorder import keep_record
from rekindle.rest.serving import rest_interface
from rekindle.rest.settings import RestSettings
from rekindle.runtime.master.client import LocalJobClient
from rekindle.runtime.master.cluster import Cluster
from rekindle.runtime.master.collected_records import CollectedRecords
from rekindle.runtime.master.job_master import JobMaster
from rekindle.runtime.master.running_jobs import running_jobs
from rekindle.runtime.master.settings.job_settings import settle
from rekindle.runtime.master.settings.query_settings import check_queryable_states
from rekindle.runtime.master.settings.row_staging_settings import staging_directory
from rekindle.runtime.master.settings.state_settings import check_restore_setting
from rekindle.runtime.master.signals import end_if_signalled, say_interrupted, watch_signals
from rekindle.runtime.master.views.observers import JobObservers
from rekindle.runtime.master.views.progress import ProgressView
from rekindle.runtime.master.views.view_choice import progress_view
from rekindle.runtime.spark.described_frames import call_for_frame, load_data_frames
from rekindle.serialization.serializer_of import serializer_of
from rekindle.types.annotations import TypeOf
from rekindle.types.typeinfo import TypeInformation

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql import Row as SparkRow
    from pyspark.sql.types import StructType

    from rekindle.datastream.collected_frames import CollectedFrames
    from rekindle.runtime.spark.cluster import Renew

__all__ = ["StreamExecutionEnvironment"]

_DEFAULT_JOB_NAME = "Flink Streaming Job"
_STEP_OF_WAITS = 1.0  # seconds


log = logging.getLogger("rekindle")

_SPARK_STARTS = "Starting Spark, which takes a few seconds"


class StreamExecutionEnvironment(EnvironmentSettings, EnvironmentDependencies):
    """Make streams, set how they are executed, and execute them on Spark."""

    def __init__(self, configuration: Configuration | None = None, spark_session: SparkSession | None = None) -> None:
        self._configuration = layered_configuration(stacklevel=4)
        if configuration is not None:
            warn_unknown_keys(configuration, stacklevel=4)
            lay_over(self._configuration, configuration)
        self._session = spark_session
        self._owns_session = False
        self._adopted: SparkSession | None = None  # the session that has been made ready
        self._config = ExecutionConfig()
        self._config.configure(self._configuration)
        self._checkpoint_config = CheckpointConfig(self._configuration)
        self._state_backend: StateBackend | None = None
        self._graph = StreamGraph()

    @staticmethod
    def get_execution_environment(
        configuration: Configuration | None = None, spark_session: SparkSession | None = None
    ) -> StreamExecutionEnvironment:
        """Return an environment.

        Args:
            configuration: Settings by key, Flink's names; keys that start with ``spark.`` go to Spark. They win over
                those of the command line, of the environment and of ``conf/rekindle-conf.yaml``.
            spark_session: The session to run on; without one, the active session, or a new one on this machine.
        """
        return StreamExecutionEnvironment(configuration, spark_session)

    # --- settings ---

    def get_config(self) -> ExecutionConfig:
        """Return the execution settings of this environment."""
        return self._config

    def set_parallelism(self, parallelism: int) -> StreamExecutionEnvironment:
        """Set the parallelism of operators that set none of their own."""
        self._config.set_parallelism(parallelism)
        return self

    def get_parallelism(self) -> int:
        """Return the parallelism of operators that set none of their own: by default the number of cores."""
        own = self._config.get_parallelism()
        return own if own > 0 else self.get_default_local_parallelism()

    def set_max_parallelism(self, max_parallelism: int) -> StreamExecutionEnvironment:
        """Set the number of key groups of operators that set none: the highest parallelism they can ever have."""
        self._config.set_max_parallelism(max_parallelism)
        return self

    def get_max_parallelism(self) -> int:
        """Return the number of key groups, -1 where it is derived from the parallelism."""
        return self._config.get_max_parallelism()

    def set_runtime_mode(self, execution_mode: RuntimeExecutionMode) -> StreamExecutionEnvironment:
        """Set whether the program runs as a stream, as a batch, or as its sources allow."""
        if not isinstance(execution_mode, RuntimeExecutionMode):
            raise TypeError(f"a runtime mode is given as RuntimeExecutionMode, got {execution_mode!r}")
        self._configuration.set(ExecutionOptions.RUNTIME_MODE, execution_mode.name)
        return self

    def enable_checkpointing(
        self, interval: int, mode: CheckpointingMode | None = None, force: bool = False
    ) -> StreamExecutionEnvironment:
        """Take a checkpoint at this interval, in milliseconds, and return to the last one after a failure.

        Args:
            interval: The milliseconds.
            mode: The guarantee.
            force: Whether also a program with iterations is to have checkpoints.
        """
        self._checkpoint_config.set_checkpoint_interval(interval)
        if force:
            self._checkpoint_config.set_force_checkpointing(True)
        if mode is not None:
            self._checkpoint_config.set_checkpointing_mode(mode)
        return self

    def get_checkpoint_config(self) -> CheckpointConfig:
        """Return the settings of checkpoints."""
        return self._checkpoint_config

    def get_checkpoint_interval(self) -> int:
        """Return the milliseconds between checkpoints, -1 without."""
        return self._checkpoint_config.get_checkpoint_interval()

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """Return the guarantee of checkpoints."""
        return self._checkpoint_config.get_checkpointing_mode()

    get_checkpointing_consistency_mode = get_checkpointing_mode

    def set_restart_strategy(
        self, restart_strategy_configuration: RestartStrategyConfiguration
    ) -> StreamExecutionEnvironment:
        """Set whether and when a failed job is restarted; wins over the configuration."""
        self._config.set_restart_strategy(restart_strategy_configuration)
        return self

    def get_restart_strategy(self) -> RestartStrategyConfiguration:
        """Return the restart strategy that the program set."""
        return self._config.get_restart_strategy()

    def set_state_backend(self, state_backend: StateBackend) -> StreamExecutionEnvironment:
        """Set where working state is kept; wins over the configuration.

        A backend of Flink 1.x also says where checkpoints go, unless that is set on its own: by
        ``get_checkpoint_config().set_checkpoint_storage(…)`` or in the configuration.
        """
        if not isinstance(state_backend, StateBackend):
            raise TypeError(f"a state backend is given as StateBackend, got {state_backend!r}")
        self._state_backend = state_backend
        return self

    def get_state_backend(self) -> StateBackend | None:
        """Return the state backend that the program set."""
        return self._state_backend

    def set_default_savepoint_directory(self, directory: str) -> StreamExecutionEnvironment:
        """Set where savepoints go that name no directory."""
        self._configuration.set(CheckpointingOptions.SAVEPOINT_DIRECTORY, directory)
        return self

    def get_default_savepoint_directory(self) -> str | None:
        """Return where savepoints go that name no directory."""
        directory = self._configuration.get(CheckpointingOptions.SAVEPOINT_DIRECTORY)
        return directory and paths.directory(directory)

    def configure(self, configuration: Configuration) -> None:
        """Take over all settings of a configuration."""
        warn_unknown_keys(configuration, stacklevel=3)
        lay_over(self._configuration, configuration)
        self._config.configure(configuration)

    # --- sources ---

    @overload
    def from_collection(self, collection: Iterable[T], type_info: None = None) -> DataStream[T]: ...

    @overload
    def from_collection(self, collection: Iterable[Any], type_info: TypeOf[T]) -> DataStream[T]: ...

    def from_collection(self, collection: Iterable[Any], type_info: RecordType | None = None) -> DataStream[Any]:
        """Make a stream of a collection's elements, in their order; the source has parallelism 1.

        Args:
            collection: The elements.
            type_info: Their type, to which they are converted at once.

        Raises:
            SerializationError: An element does not match the type.
        """
        declared = declared_type(type_info, "type_info of from_collection")
        elements = list(collection)
        if declared is not None:
            try:
                elements = serializer_of(declared).converted(elements)
            except SerializationError as error:
                raise SerializationError(f"from_collection: an element does not fit its type_info: {error}") from error
        transformation = CollectionSourceTransformation(elements)
        node = self._graph.add("Collection Source", transformation, (), parallelism=1, parallel=False)
        return DataStream(self, (StreamEdge(node.id, FORWARD, declared),), node, declared)

    def add_source(
        self, source_func: SourceFunction[T], source_name: str = "Custom Source", type_info: RecordType | None = None
    ) -> DataStream[T]:
        """Make a stream of what a source function emits.

        A SourceFunction has parallelism 1; a ParallelSourceFunction has the environment's.

        Args:
            source_func: The function.
            source_name: The name of the operator.
            type_info: The type of the elements.
        """
        function: SourceFunction[T] = require(source_func, SourceFunction, "add_source")
        if isinstance(function, SparkSourceFunction):
            return self.from_source(function.source(), WatermarkStrategy.no_watermarks(), source_name, type_info)
        declared = declared_type(type_info, "type_info of add_source")
        parallel = isinstance(function, ParallelSourceFunction)
        transformation = FunctionSourceTransformation(function, declared)
        # Nobody can tell whether it ends; Flink takes it for one that does not.
        one = None if parallel else 1
        node = self._graph.add(source_name, transformation, (), parallelism=one, parallel=parallel, bounded=False)
        return DataStream(self, (StreamEdge(node.id, FORWARD, declared),), node, declared)

    def socket_text_stream(
        self, hostname: str, port: int, delimiter: str = "\n", max_retry: int = 0
    ) -> DataStream[str]:
        """Make a stream of the text that a server sends, cut at a delimiter; the source has parallelism 1.

        A socket cannot go back: after a failure, what was read since the last checkpoint is lost.

        Args:
            hostname: The server's host.
            port: The server's port.
            delimiter: What stands between two elements.
            max_retry: How often to connect again, half a second apart, when the connection ends or cannot be made;
                negative: forever.
        """
        return self.add_source(SocketTextStreamFunction(hostname, port, delimiter, max_retry), "Socket Stream")

    def from_source(
        self,
        source: Source[T],
        watermark_strategy: WatermarkStrategy[T],
        source_name: str,
        type_info: RecordType | None = None,
    ) -> DataStream[T]:
        """Make a stream of a source's records.

        Args:
            source: The source.
            watermark_strategy: How its records get timestamps and watermarks.
            source_name: The name of the operator.
            type_info: The type of the records.
        """
        if not isinstance(source, Source):
            raise TypeError(f"from_source takes a Source, and was given a {type(source).__name__}")
        if not isinstance(watermark_strategy, WatermarkStrategy):
            raise TypeError(f"from_source takes a WatermarkStrategy, and was given {watermark_strategy!r}")
        declared = declared_type(source.type_info if type_info is None else type_info, "type_info of from_source")
        unwatched = watermark_strategy == WatermarkStrategy.no_watermarks()
        if isinstance(source, SparkSource):
            return self._read_by_spark(source, source_name, declared, None if unwatched else watermark_strategy)
        transformation = ConnectorSourceTransformation(source, None if unwatched else watermark_strategy)
        node = self._graph.add(source_name, transformation, ())
        return DataStream(self, (StreamEdge(node.id, FORWARD, declared),), node, declared)

    def create_input(self, input_format: AvroInputFormat, type_info: RecordType | None = None) -> DataStream[Any]:
        """Make a stream of the records that an input format reads.

        Args:
            input_format: An ``AvroInputFormat``. Others of PyFlink are Java classes.
            type_info: The type of the records; by default that of the format.
        """
        if not isinstance(input_format, AvroInputFormat):
            raise NotImplementedError(
                "create_input is available for AvroInputFormat only: other input formats are Java classes of Flink. "
                "Read files with FileSource, other data with env.from_data_frame(spark.readStream…)"
            )
        produced = input_format.get_produced_type() if type_info is None else type_info
        source = input_format.source
        return self.from_source(source, WatermarkStrategy.no_watermarks(), "Custom File Source", produced)

    def read_text_file(self, file_path: str, charset_name: str = "UTF-8") -> DataStream[str]:
        """Make a stream of the lines of a file, or of all files below a directory, as they are now.

        Spark reads them, in the first epoch.

        Args:
            file_path: A path, or a URI of a file system that Spark knows.
            charset_name: The encoding of the text.
        """
        lines = StreamFormat.text_line_format(charset_name)
        source = FileSource.for_record_stream_format(lines, file_path).build()
        return self.from_source(source, WatermarkStrategy.no_watermarks(), "Custom File Source")

    def _read_by_spark(
        self, source: SparkSource, name: str, type_info: TypeInformation | None, strategy: WatermarkStrategy | None
    ) -> DataStream[Any]:
        graph, bounded = self._graph, source.bounded
        if strategy is not None and source.makes_watermarks:
            node = graph.add(name, source.rows(), (), data_frame=source.split_frame(), bounded=bounded)
            rows = StreamEdge(node.id, SPLIT)
            part = graph.add_part(node, Part.RECORDS, source.transformation(strategy), (rows,))
            return DataStream(self, (StreamEdge(part.id, FORWARD, type_info),), node, type_info)
        transformation, frame = source.transformation(None), source.frame()
        node = graph.add(name, transformation, (), data_frame=frame, bounded=bounded)
        out, hint = StreamEdge(node.id, FORWARD, type_info), None
        if strategy is not None:
            part = graph.add_part(node, Part.WATERMARKS, TimestampsAndWatermarksTransformation(strategy), (out,))
            out = StreamEdge(part.id, FORWARD, type_info)
        schema: StructType | None = getattr(frame, "schema", None)
        if transformation.passes_rows and type_info is None and schema is not None:
            from rekindle.runtime.spark.schema_types import row_type

            hint = row_type(schema)
        return DataStream(self, (out,), node, type_info, hint)

    @property
    def spark_session(self) -> SparkSession:
        """The Spark session that the jobs run on: the one given, the active one, or one that is started here.

        One that is started here has the settings that Rekindle advises, and those of the configuration whose keys begin
        with ``spark.``; ``close`` stops it.
        """
        return self._spark_session(self.get_parallelism())

    def from_data_frame(
        self, data_frame: DataFrame | Callable[[SparkSession], DataFrame], uid: str, bounded: bool | None = None
    ) -> DataStream[SparkRow]:
        """Make a stream of a Spark DataFrame's rows; records are Spark's own ``Row``.

        Args:
            data_frame: A streaming DataFrame, or a bounded one, which is read whole in the first epoch; or a function
                that makes it in the session it is given, such as ``lambda spark: spark.readStream…``. The function is
                called at once, and again if the job has to go on in another session.
            uid: The identity by which the position of the source is found again.
            bounded: Whether a streaming DataFrame ends as soon as Spark finds nothing new in it; by default it never
                does.

        Raises:
            TypeError: It is neither a DataFrame nor a function.
        """
        described: ClusterFrame
        if not callable(data_frame) and not hasattr(data_frame, "isStreaming"):
            raise TypeError(
                f"from_data_frame (source {uid!r}) takes a DataFrame, such as spark.readStream…load(), or a function "
                f"of a session that makes one, and was given {with_article(type(data_frame).__name__)}"
            )
        if callable(data_frame):
            described = call_for_frame(data_frame, self.spark_session, uid)
            frame = described.first
        else:
            described = frame = data_frame
        if not frame.isStreaming and bounded is False:
            raise InvalidProgramError(f"DataFrame {uid!r} is not streaming, so it is bounded: omit bounded=False")
        if self._session is None:
            self._session = frame.sparkSession
        return self._rows(described, frame.schema, uid, not frame.isStreaming if bounded is None else bounded)

    def _rows(self, described: ClusterFrame, schema: StructType, uid: str, bounded: bool) -> DataStream[SparkRow]:
        """Make a stream of rows that the cluster reads."""
        from rekindle.runtime.spark.schema_types import row_type

        node = self._graph.add(
            f"DataFrame {uid}", RowsTransformation(), (), uid=uid, data_frame=described, bounded=bounded
        )
        return DataStream(self, (StreamEdge(node.id, FORWARD),), node, None, row_type(schema))

    # --- execution ---

    def execute(self, job_name: str | None = None) -> JobExecutionResult:
        """Run the program and wait for its end; Ctrl-C cancels it."""
        return self._await(self._submit(job_name, None))

    def execute_async(self, job_name: str | None = None) -> JobClient:
        """Run the program in the background."""
        return LocalJobClient(self._submit(job_name, None))

    def get_execution_plan(self) -> str:
        """Return the plan of the program as JSON, as Flink writes it; nothing is executed, and Spark is not started.

        ``rekindle.graph.to_mermaid`` and ``rekindle.graph.to_dot`` draw it. docs/plan.md describes it.
        """
        return plan_of(self._graph.pending(), self._compile()).to_json()

    def close(self) -> None:
        """Stop Spark, if this environment started it."""
        from rekindle.runtime.spark.session import stop_session

        if self._session is not None and self._owns_session:
            stop_session(self._session)
            self._session = None

    def _collected_frames(self, schema: pa.Schema) -> CollectedFrames:
        """Make what keeps the records of a stream for a DataFrame."""
        from rekindle.datastream.collected_frames import CollectedFrames
        from rekindle.runtime.spark.session import is_local

        session, directory = self.spark_session, staging_directory(self._configuration)
        if directory is None and not is_local(session):
            raise ConfigurationError(
                "to_data_frame keeps the rows in files: name a directory that all machines share, with "
                f"{RekindleOptions.TABLES_STAGING_DIR.key}"
            )
        return CollectedFrames(session, schema, directory)

    def _execute_and_collect(self, job_name: str | None) -> CloseableIterator[Any]:
        collected = CollectedRecords()
        master = self._submit(job_name, collected)

        def close() -> None:
            if not master.result.done():
                master.cancel()
            master.result.exception()

        def records() -> Iterator[Any]:
            try:
                yield from collected
            finally:
                end_if_signalled()

        return CloseableIterator(records(), close)

    def _submit(
        self, job_name: str | None, collected: CollectedRecords | None, view: ProgressView | None = None
    ) -> JobMaster:
        end_if_only_planned(self)
        set_up_logging(LogSettings.of(self._configuration))
        graph = self._compile()
        name = job_name or self._configuration.get(PipelineOptions.NAME) or _DEFAULT_JOB_NAME
        settings = settle(
            JobID().to_hex_string(),
            name,
            self._configuration,
            self._checkpoint_config,
            self._config,
            self._state_backend,
            graph.batch,
        )
        check_queryable_states(graph, settings.queries is not None)
        warn_of_overridden_settings(name, self._configuration, self._config, self._state_backend)
        if collected is not None:
            collected.held_back = settings.ends_with_checkpoint
        if view is None:
            view = JobObservers(progress_view(self._configuration.get(RekindleOptions.PROGRESS), name))
        rest = RestSettings.of(self._configuration)
        plan = plan_of(self._graph.pending(), graph)
        cluster, graph = self._cluster(graph, name, view)
        master = JobMaster(cluster, graph, settings, SteadyClock(), view, collected, plan)
        watch_signals()
        master.start()
        keep_record(running_jobs().register(master, rest_interface(rest, view.reachable_at)))
        server = running_jobs().server
        if server is not None and server.dashboard is not None:
            view.dashboard_at(server.dashboard)
        self._graph.submitted = len(self._graph.nodes)
        return master

    def _compile(self) -> JobGraph:
        max_parallelism = self.get_max_parallelism()
        program = self._graph.pending()
        if not self._config.has_auto_generated_uids_enabled():
            require_uids(program.nodes)
        columns = ColumnSettings(
            self._configuration.get(RekindleOptions.COLUMNS_ENABLED),
            self._configuration.get(RekindleOptions.COLUMNS_COMBINE_FLOATS),
        )
        most = max_parallelism if max_parallelism > 0 else None
        graph = compile_job(program, self.get_parallelism(), most, columns)
        if runs_as_batch(program, RuntimeExecutionMode[self._configuration.get(ExecutionOptions.RUNTIME_MODE)]):
            graph = as_batch(graph, self._configuration.get(RekindleOptions.BATCH_MEMORY_RECORDS))
        else:
            self._check_iterations(graph)
        check_picklable(graph)
        return graph

    def _check_iterations(self, graph: JobGraph) -> None:
        config = self._checkpoint_config
        if graph.iterations and config.is_checkpointing_enabled() and not config.is_force_checkpointing():
            raise InvalidProgramError(
                "Checkpointing is currently not supported by default for iterative jobs, and the program has iteration "
                f"{graph.nodes[graph.iterations[0].head].name!r}: Flink loses the records that are in a loop. Rekindle "
                "keeps them in its checkpoints, and each counts once after a failure. Force checkpoints with "
                "env.enable_checkpointing(interval, mode, force=True), or set "
                f"{CheckpointingOptions.FORCE_CHECKPOINTING.key} to true"
            )

    def _cluster(self, graph: JobGraph, job_name: str, view: ProgressView) -> tuple[Cluster, JobGraph]:
        """Make ready what a job is to run on; return it, and the job with its sources there."""
        from rekindle.runtime.spark.cluster import SparkCluster

        session = self._spark_session(graph.slots, view)
        return SparkCluster(session, job_name, self._renewal(graph)), load_data_frames(graph, session)

    def _spark_session(self, slots: int, view: ProgressView | None = None) -> SparkSession:
        from rekindle.runtime.spark.session import (
            adopt_session,
            advise,
            create_session,
            existing_session,
            forget_dead_spark,
        )
        from rekindle.runtime.spark.spark_loss import spark_loss

        check_restore_setting(self._configuration)
        loss = None if self._session is None else spark_loss(self._session)
        if loss is not None and self._owns_session:
            self.close()
        elif loss is not None:
            raise SparkSetupError(f"the SparkSession of this environment cannot be used: {loss.what}. Make another one")
        if self._session is None:
            forget_dead_spark()
            self._owns_session = existing_session() is None
            if self._owns_session and view is not None:
                view.notice(_SPARK_STARTS)
            elif self._owns_session:
                set_up_logging(LogSettings.of(self._configuration))
                log.info(_SPARK_STARTS)
            frames = [node.data_frame for node in self._graph.nodes]
            packages = [name for frame in frames if isinstance(frame, DescribedFrame) for name in frame.packages]
            self._session = create_session(self._configuration, slots, dict.fromkeys(packages))
            if self._owns_session:
                atexit.register(self.close)
        if self._adopted is not self._session:
            adopt_session(self._session)
            advise(self._session)
            self._adopted = self._session
        self._ship_python_files(self._session)
        return self._session

    def _renewal(self, graph: JobGraph) -> Renew | None:
        """Return what starts Spark anew for a job; None where the session, or a DataFrame, is the program's own."""
        from pyspark.sql import DataFrame

        if not self._owns_session or any(isinstance(source.data_frame, DataFrame) for source in graph.cluster_sources):
            return None

        def renew() -> tuple[SparkSession, tuple[ClusterSource, ...]]:
            self.close()
            session = self._spark_session(graph.slots)
            return session, load_data_frames(graph, session).cluster_sources

        return renew

    def _await(self, master: JobMaster) -> JobExecutionResult:
        first = None
        try:
            return _result_of(master)
        except KeyboardInterrupt:
            first = say_interrupted(master)
            master.cancel(keep_checkpoints=True)
            with suppress(JobCancelledError):
                _result_of(master)
            raise
        finally:
            end_if_signalled(first)


def _result_of(master: JobMaster) -> JobExecutionResult:
    """Wait for the end of a job, in steps: a signal that comes just before a wait is handled only after it."""
    while not master.result.done():
        wait([master.result], timeout=_STEP_OF_WAITS)
    return master.result.result()
