"""A job starts from a savepoint in which the position of a source has a uid that was derived."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from rekindle.checkpoint.metadata import decode_metadata, encode_metadata
from rekindle.common import Encoder
from rekindle.datastream import SourceFunction
from rekindle.datastream.connectors.file_system import FileSink, FileSource, StreamFormat
from rekindle.graph.operator_shape import OperatorShape
from rekindle.runtime.master.client import LocalJobClient
from support.balances import environment, read_output
from support.processes import wait_until
from support.programs_with_uids import IN_ORDER, earlier_release


class Open(SourceFunction):
    """Emit something each time it is started, and do not end."""

    def open(self, runtime_context: Any) -> None:
        self._cancelled = threading.Event()

    def run(self, ctx: Any) -> None:
        ctx.collect("started")
        self._cancelled.wait()

    def cancel(self) -> None:
        self._cancelled.set()


def test_files_that_have_been_read_are_not_read_again(local_cluster: Any, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("one\ntwo\nthree\n")
    output = tmp_path / "out"

    def written() -> list[str]:
        return sorted(read_output(str(output))) if output.exists() else []

    def started(**settings: str) -> LocalJobClient:
        env = environment(local_cluster, str(tmp_path / "checkpoints"), **settings)
        source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path / "in.txt")).build()
        lines = env.from_source(source, IN_ORDER, "lines").uid("lines").map(str)
        sink = FileSink.for_row_format(str(output), Encoder.simple_string_encoder()).build()
        lines.union(env.add_source(Open()).uid("open")).sink_to(sink).uid("out")
        client = env.execute_async()
        assert isinstance(client, LocalJobClient)
        return client

    client = started()
    wait_until(lambda: len(written()) == 4, "all lines are written")
    savepoint = client.stop_with_savepoint(False, str(tmp_path)).result()

    metadata = Path(savepoint.removeprefix("file://")) / "_metadata"
    saved = decode_metadata(metadata.read_bytes(), "savepoint")
    (position,) = saved.positions
    assert (position.uid, position.consumed) == ("lines", True)
    saved = earlier_release(saved, lines=OperatorShape("TextLinesOperator").uid(0))
    metadata.write_bytes(encode_metadata(saved))

    client = started(execution_state__recovery_path=savepoint)
    wait_until(lambda: written().count("started") == 2, "there has been an epoch")
    client.stop_with_savepoint(False, str(tmp_path)).result()
    assert written() == ["one", "started", "started", "three", "two"]
