"""What a program leaves behind of the checkpoint that it starts from: listed by uid, state and size."""

from __future__ import annotations

import io
from pathlib import Path

import msgspec
import pytest

from rekindle.checkpoint.left_behind import described, left_behind, listed
from rekindle.checkpoint.metadata import (
    CheckpointMetadata,
    ListStateMetadata,
    NativeState,
    OperatorMetadata,
    SourcePosition,
    StagedRows,
    StateHandle,
    StoredFile,
)
from rekindle.checkpoint.restoring import Consent, fit_to_checkpoint
from rekindle.checkpoint.snapshot_file import SnapshotWriter
from rekindle.checkpoint.storage import checkpoint_files
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from rekindle.common import Encoder
from rekindle.datastream import StreamExecutionEnvironment
from rekindle.datastream.connectors.file_system import FileSink
from rekindle.exceptions import StateRestoreError
from rekindle.graph.compilation.compiler import compile_job
from rekindle.graph.job_graph import JobGraph
from rekindle.state.blocks import KeyGroupBlock
from rekindle.state.operator_state.stored import DistributionMode, StoredList
from rekindle.testing import local_environment


def program(*, sink: str | None = None, printed: str | None = None) -> JobGraph:
    env: StreamExecutionEnvironment = local_environment()
    stream = env.from_collection([1]).uid("numbers")
    if sink is not None:
        stream.sink_to(FileSink.for_row_format("/tmp/out", Encoder.simple_string_encoder()).build()).uid(sink)
    if printed is not None:
        stream.print().uid(printed)
    return compile_job(env._graph, 1, None)


def written_by(uid: str, *, keyed: tuple[str, ...] = (), **counts: int) -> OperatorMetadata:
    lists = {
        name.replace("_", "-"): ListStateMetadata(DistributionMode.UNION, [count]) for name, count in counts.items()
    }
    return OperatorMetadata(uid, uid.title(), 1, 128, list(keyed), lists)


def saved(*operators: OperatorMetadata, handles: tuple[StateHandle, ...] = ()) -> CheckpointMetadata:
    return CheckpointMetadata(7, "job", "orders", 0, 5, list(operators), list(handles), [], savepoint=True)


FILES = written_by("files", lineage=1, pending_commits=2)


def snapshot(*keyed: tuple[str, str, bytes], lists: tuple[tuple[str, str, list[bytes]], ...] = ()) -> bytes:
    buffer = io.BytesIO()
    writer = SnapshotWriter(buffer)
    for uid, name, data in keyed:
        writer.keyed(uid, KeyGroupBlock(name, "value", 3, 1, data))
    for uid, name, items in lists:
        writer.operator_list(uid, name, StoredList.of(DistributionMode.UNION, items))
    writer.finish()
    return buffer.getvalue()


class TestWhatIsLeft:
    def test_all_states_of_operators_that_are_gone_and_none_of_others(self) -> None:
        left = left_behind(program(sink="files"), saved(FILES, written_by("count", keyed=("total", "seen"), none=0)))
        assert listed(left) == "'Count' (uid count: total, seen)"

    def test_what_a_source_has_read(self) -> None:
        metadata = msgspec.structs.replace(saved(written_by("lines")), positions=[SourcePosition("lines", ["4"], [])])
        assert listed(left_behind(program(), metadata)) == "'Lines' (uid lines: position)"

    def test_output_to_be_committed_under_a_uid_that_belongs_to_another_kind_of_operator(self) -> None:
        assert [state.name for state in left_behind(program(printed="files"), saved(FILES))] == ["pending-commits"]
        rows = msgspec.structs.replace(written_by("files"), staged=[StagedRows(7, 30, StoredFile(900, 0, "rows"))])
        (state,) = left_behind(program(sink="files"), saved(rows))
        assert (state.items, state.output) == (30, True)


class TestConsent:
    @pytest.mark.parametrize("graph", [program(), program(printed="files")], ids=["gone", "another operator"])
    def test_output_to_be_committed_needs_its_own(self, graph: JobGraph) -> None:
        with pytest.raises(StateRestoreError, match=r"does not have: 'Files' .*--allow-non-restored-state"):
            fit_to_checkpoint(graph, saved(FILES), Consent())
        with pytest.raises(
            StateRestoreError, match=r"'Files' \(uid files: pending-commits\).*--drop-uncommitted-output"
        ):
            fit_to_checkpoint(graph, saved(FILES), Consent(unclaimed_state=True))
        with pytest.raises(StateRestoreError, match="--allow-non-restored-state"):
            fit_to_checkpoint(graph, saved(FILES), Consent(uncommitted_output=True))
        assert fit_to_checkpoint(graph, saved(FILES), Consent(True, True)) == graph

    def test_other_state_does_not(self) -> None:
        idle = written_by("files", lineage=1, pending_commits=0)
        fit_to_checkpoint(program(), saved(idle, written_by("count", keyed=("total",))), Consent(unclaimed_state=True))

    def test_a_sink_that_is_there_needs_none(self) -> None:
        fit_to_checkpoint(program(sink="files"), saved(FILES), Consent())


class TestSizes:
    def test_are_counted_over_all_files_of_all_slots(self, tmp_path: Path) -> None:
        (tmp_path / "chk-7").mkdir()
        (tmp_path / "chk-7" / "slot-0").write_bytes(snapshot(("count", "total", b"12345"), ("other", "total", b"1")))
        lists = (("files", "pending-commits", [b"abc", b"defg"]), ("files", "lineage", [b"x"]))
        inline = snapshot(("count", "total", b"678"), lists=lists)
        handles = (
            StateHandle(0, StoredFile(1, 0, "slot-0")),
            StateHandle(
                1,
                StoredFile(1, 0, None, inline),
                native=[NativeState("count", {"a.sst": StoredFile(7_000, 0, "a")})],
            ),
        )
        metadata = saved(written_by("count", keyed=("total",)), FILES, handles=handles)
        stored = StoredCheckpoint(metadata, checkpoint_files(str(tmp_path)), "chk-7")
        assert described(left_behind(program(), metadata), stored) == (
            "'Count' (uid count): total (8 bytes), files of the state backend (7,000 bytes); "
            "'Files' (uid files): lineage (1 item, 1 bytes), pending-commits (2 items, 7 bytes, output to be committed)"
        )

    def test_a_file_that_cannot_be_read_leaves_them_out(self, tmp_path: Path) -> None:
        metadata = saved(written_by("count", keyed=("total",)), handles=(StateHandle(0, StoredFile(1, 0, "gone")),))
        stored = StoredCheckpoint(metadata, checkpoint_files(str(tmp_path)), "chk-7")
        assert described(left_behind(program(), metadata), stored) == "'Count' (uid count): total"
