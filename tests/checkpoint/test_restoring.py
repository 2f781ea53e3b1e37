"""Finding the checkpoint to restore from, and whether it fits the program."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from rekindle.checkpoint import paths
from rekindle.checkpoint.metadata import (
    CheckpointMetadata,
    ListStateMetadata,
    OperatorMetadata,
    SourcePosition,
    encode_metadata,
)
from rekindle.checkpoint.restoring import FALLBACK_KEY, Consent, RestorePath, fit_to_checkpoint
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from rekindle.config.options import known_key
from rekindle.exceptions import CheckpointCorruptError, CheckpointNotFoundError, StateRestoreError
from rekindle.graph.compilation.compiler import compile_job
from rekindle.graph.job_graph import JobGraph, JobNode
from rekindle.graph.partitioning import FORWARD
from rekindle.graph.stream_graph import StreamEdge, StreamGraph
from rekindle.graph.transformations.one_input import PassTransformation
from rekindle.graph.transformations.sources import CollectionSourceTransformation
from rekindle.state.operator_state.stored import DistributionMode


def open_checkpoint(location: str) -> StoredCheckpoint:
    return RestorePath(location).current


def metadata(checkpoint_id: int, *operators: OperatorMetadata, timestamp: int = 0) -> CheckpointMetadata:
    return CheckpointMetadata(checkpoint_id, "job", "word count", timestamp, 5, list(operators), [], [])


def write_checkpoint(job: Path, checkpoint_id: int, timestamp: int = 0, complete: bool = True) -> Path:
    directory = job / f"chk-{checkpoint_id}"
    directory.mkdir(parents=True)
    (directory / "slot-0-0").write_bytes(b"state")
    if complete:
        (directory / "_metadata").write_bytes(encode_metadata(metadata(checkpoint_id, timestamp=timestamp)))
    return directory


def read(checkpoint: StoredCheckpoint, path: str) -> bytes:
    """Read a file that the metadata points to, as a slot does."""
    assert checkpoint.files is not None
    return checkpoint.files.read(paths.resolve(checkpoint.directory, path))


def damage(checkpoint: Path) -> Path:
    file = checkpoint / "_metadata"
    file.write_bytes(file.read_bytes()[:-1])
    return file


class TestOpening:
    @pytest.mark.parametrize("ending", ["", "/", "/_metadata"])
    @pytest.mark.parametrize("scheme", ["", "file://"])
    def test_by_its_directory_or_its_metadata_file(self, tmp_path: Path, ending: str, scheme: str) -> None:
        directory = write_checkpoint(tmp_path / "job", 3)
        write_checkpoint(tmp_path / "job", 4)
        found = open_checkpoint(f"{scheme}{directory}{ending}")
        assert found.metadata == metadata(3)
        assert read(found, "slot-0-0") == b"state", "paths are relative to the metadata"

    def test_a_directory_that_was_moved_can_be_opened(self, tmp_path: Path) -> None:
        moved = write_checkpoint(tmp_path / "job", 3).rename(tmp_path / "kept for later")
        assert open_checkpoint(str(moved)).metadata.checkpoint_id == 3

    def test_the_newest_below_the_directory_of_a_job(self, tmp_path: Path) -> None:
        for number in (2, 10, 9):
            write_checkpoint(tmp_path / "job", number)
        found = open_checkpoint(str(tmp_path / "job"))
        assert found.metadata.checkpoint_id == 10
        assert read(found, "slot-0-0") == b"state"

    def test_the_newest_below_the_root_of_all_checkpoints(self, tmp_path: Path) -> None:
        write_checkpoint(tmp_path / "job", 2)
        write_checkpoint(tmp_path / "job", 3)
        (tmp_path / "a file").write_text("of somebody else's")
        assert open_checkpoint(str(tmp_path)).metadata.checkpoint_id == 3

    def test_between_jobs_the_one_taken_last_is_the_newest_whatever_its_number(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        write_checkpoint(tmp_path / "old job", 900, timestamp=1_000)
        write_checkpoint(tmp_path / "new job", 3, timestamp=2_000)
        write_checkpoint(tmp_path / "new job", 4, timestamp=3_000)
        assert open_checkpoint(str(tmp_path / "new job")).metadata.checkpoint_id == 4
        assert not caplog.records
        write_checkpoint(tmp_path / "older job", 901, timestamp=500)
        assert open_checkpoint(str(tmp_path)).metadata.checkpoint_id == 4
        (record,) = caplog.records
        assert f"3 jobs have checkpoints in {tmp_path}, and new job/chk-4 is the newest" in record.getMessage()

    def test_a_half_written_checkpoint_is_skipped(self, tmp_path: Path) -> None:
        write_checkpoint(tmp_path / "job", 7)
        write_checkpoint(tmp_path / "job", 8, complete=False)
        (tmp_path / "job" / "chk-9").mkdir()
        (tmp_path / "job" / "chk-8" / "_metadata.inprogress-1").write_bytes(b"half")
        assert open_checkpoint(str(tmp_path / "job")).metadata.checkpoint_id == 7
        assert open_checkpoint(str(tmp_path)).metadata.checkpoint_id == 7

    def test_a_damaged_checkpoint_is_not_skipped_but_named(self, tmp_path: Path) -> None:
        older = write_checkpoint(tmp_path / "job", 7)
        damaged = damage(write_checkpoint(tmp_path / "job", 8))
        with pytest.raises(CheckpointCorruptError, match=str(damaged)) as info:
            open_checkpoint(str(tmp_path / "job"))
        assert f"Earlier checkpoints exist ({older}): set {FALLBACK_KEY} to true" in str(info.value)
        assert known_key(FALLBACK_KEY)

    def test_a_damaged_checkpoint_with_none_before_it_comes_without_that_advice(self, tmp_path: Path) -> None:
        damaged = damage(write_checkpoint(tmp_path / "job", 8))
        write_checkpoint(tmp_path / "job", 9)
        with pytest.raises(CheckpointCorruptError, match=str(damaged)) as info:
            open_checkpoint(str(tmp_path / "job" / "chk-8"))
        assert FALLBACK_KEY not in str(info.value)

    def test_shared_files_are_found_beside_the_checkpoint(self, tmp_path: Path) -> None:
        directory = write_checkpoint(tmp_path / "job", 3)
        (tmp_path / "job" / "shared").mkdir()
        (tmp_path / "job" / "shared" / "1-0-0-x").write_bytes(b"shared")
        for location in (directory, tmp_path / "job", tmp_path):
            assert read(open_checkpoint(str(location)), paths.from_checkpoint("1-0-0-x")) == b"shared"

    @pytest.mark.parametrize("below", ["missing", "", "job", "job/chk-1", "job/chk-1/slot-0-0"])
    def test_where_there_is_none_it_raises_naming_the_place_and_what_to_give(self, tmp_path: Path, below: str) -> None:
        write_checkpoint(tmp_path / "job", 1, complete=False)
        location = str(tmp_path / below)
        with pytest.raises(
            CheckpointNotFoundError, match=f"there is no checkpoint at {location}: .*Give the directory of"
        ):
            open_checkpoint(location)


class TestGoingBack:
    @pytest.mark.parametrize("named", ["", "job", "job/chk-8", "job/chk-8/_metadata"])
    def test_the_newest_that_can_be_read_stands_in_for_damaged_ones(
        self, tmp_path: Path, named: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        write_checkpoint(tmp_path / "job", 2)
        older = write_checkpoint(tmp_path / "job", 5)
        write_checkpoint(tmp_path / "job", 6, complete=False)
        damaged = [damage(write_checkpoint(tmp_path / "job", number)) for number in (7, 8)]
        path = RestorePath(str(tmp_path / named), fallback=True)
        assert path.current.metadata.checkpoint_id == 5
        assert path.earlier() == [str(tmp_path / "job" / "chk-2")]
        assert str(damaged[1]) in caplog.messages[0]
        assert f"{older} is used instead" in caplog.messages[1]
        assert "committed after that one may be written again" in caplog.messages[1]

    def test_checkpoints_newer_than_the_one_that_is_named_are_not_considered(self, tmp_path: Path) -> None:
        for number in (4, 5, 6):
            write_checkpoint(tmp_path / "job", number)
        path = RestorePath(str(tmp_path / "job" / "chk-5"), fallback=True)
        assert path.current.metadata.checkpoint_id == 5
        assert path.earlier() == [str(tmp_path / "job" / "chk-4")]

    def test_one_after_the_other_until_none_is_left(self, tmp_path: Path) -> None:
        for number in (4, 5, 6):
            write_checkpoint(tmp_path / "job", number)
        path = RestorePath(str(tmp_path / "job"), fallback=True)
        found = [path.current, path.go_back(), path.go_back()]
        assert [stored.metadata.checkpoint_id for stored in found if stored is not None] == [6, 5, 4]
        assert path.go_back() is None

    def test_where_all_before_it_are_damaged_there_is_none(self, tmp_path: Path) -> None:
        for number in (4, 5):
            damage(write_checkpoint(tmp_path / "job", number))
        write_checkpoint(tmp_path / "job", 6)
        assert RestorePath(str(tmp_path / "job"), fallback=True).go_back() is None

    def test_where_all_are_damaged_it_raises(self, tmp_path: Path) -> None:
        for number in (4, 5):
            damage(write_checkpoint(tmp_path / "job", number))
        with pytest.raises(CheckpointCorruptError, match="chk-4/_metadata"):
            RestorePath(str(tmp_path), fallback=True)

    def test_a_savepoint_has_none_before_it(self, tmp_path: Path) -> None:
        directory = write_checkpoint(tmp_path / "job", 3).rename(tmp_path / "job" / "savepoint-123456-abc")
        write_checkpoint(tmp_path / "job", 2)
        path = RestorePath(str(directory), fallback=True)
        assert path.current.metadata.checkpoint_id == 3
        assert path.earlier() == []

    def test_between_jobs_it_is_the_newest_checkpoint_that_can_be_read_that_counts(self, tmp_path: Path) -> None:
        write_checkpoint(tmp_path / "one", 3, timestamp=3_000)
        write_checkpoint(tmp_path / "two", 1, timestamp=2_000)
        damage(write_checkpoint(tmp_path / "two", 2, timestamp=4_000))
        damage(write_checkpoint(tmp_path / "three", 1, timestamp=5_000))
        assert RestorePath(str(tmp_path), fallback=True).current.metadata.timestamp == 3_000
        with pytest.raises(CheckpointCorruptError):
            RestorePath(str(tmp_path))


def job(
    uid: str = "counter", parallelism: int = 2, max_parallelism: int | None = None, name: str = "Counter"
) -> JobGraph:
    graph = StreamGraph()
    source = graph.add("Source", CollectionSourceTransformation([]), (), uid="source")
    read = (StreamEdge(source.id, FORWARD),)
    graph.add(name, PassTransformation(), read, uid=uid, parallelism=parallelism, max_parallelism=max_parallelism)
    return compile_job(graph, 2, None)


def counter(graph: JobGraph) -> JobNode:
    return graph.nodes[1]


def split(**counts: list[int]) -> dict[str, ListStateMetadata]:
    return {name: ListStateMetadata(DistributionMode.SPLIT, own) for name, own in counts.items()}


COUNTER = OperatorMetadata("counter", "Counter", 2, 128, ["count", "names"], {})
SOURCE = OperatorMetadata("source", "Source", 2, 128, [], split(position=[1, 1]))


class TestFitting:
    def test_state_of_operators_that_the_program_has_fits(self) -> None:
        graph = job()
        assert fit_to_checkpoint(graph, metadata(1, COUNTER, SOURCE), Consent()) == graph

    def test_an_operator_that_is_new_starts_empty(self) -> None:
        graph = job()
        assert fit_to_checkpoint(graph, metadata(1, SOURCE), Consent()) == graph

    def test_state_without_an_operator_raises_naming_uid_and_states_and_what_to_do(self) -> None:
        gone = OperatorMetadata("gone-uid", "Old Counter", 2, 128, ["count", "names"], split(pending=[1, 2], none=[0]))
        with pytest.raises(StateRestoreError) as info:
            fit_to_checkpoint(job(), metadata(7, COUNTER, gone), Consent())
        message = str(info.value)
        assert "'Old Counter' (uid gone-uid: count, names, pending)" in message
        assert "checkpoint 7 of job 'word count'" in message
        assert "--allow-non-restored-state" in message

    def test_the_message_tells_a_savepoint_from_a_checkpoint_and_names_its_path(self) -> None:
        gone = OperatorMetadata("gone-uid", "Old Counter", 2, 128, ["count"], {})
        saved = msgspec.structs.replace(metadata(7, gone), savepoint=True)
        with pytest.raises(StateRestoreError, match=r"^savepoint 7 of job 'word count' \(/s/savepoint-1\) holds state"):
            fit_to_checkpoint(job(), saved, Consent(), "/s/savepoint-1")

    def test_state_without_an_operator_may_be_left_behind_when_that_is_allowed(self) -> None:
        graph = job(uid="another")
        assert fit_to_checkpoint(graph, metadata(7, COUNTER), Consent(unclaimed_state=True)) == graph

    @pytest.mark.parametrize("position", [SourcePosition("gone", ['"5"'], []), SourcePosition("gone", [], [], True)])
    def test_a_source_of_sparks_that_has_been_read_from_counts_as_state(self, position: SourcePosition) -> None:
        saved = metadata(7, OperatorMetadata("gone", "Lines", 2, 128, [], {}))
        unread = msgspec.structs.replace(saved, positions=[SourcePosition("gone", [], [])])
        fit_to_checkpoint(job(), unread, Consent())
        saved = msgspec.structs.replace(saved, positions=[position])
        with pytest.raises(StateRestoreError, match=r"'Lines' \(uid gone: position\)"):
            fit_to_checkpoint(job(), saved, Consent())
        fit_to_checkpoint(job(), saved, Consent(unclaimed_state=True))

    def test_an_operator_without_state_may_go(self) -> None:
        gone = OperatorMetadata("gone", "Map", 2, 128, [], split(position=[0, 0]))
        fit_to_checkpoint(job(), metadata(7, gone), Consent())

    def test_a_derived_max_parallelism_is_taken_from_the_snapshot(self) -> None:
        saved = OperatorMetadata("counter", "Counter", 2, 256, ["count"], {})
        graph = job(parallelism=2)
        assert counter(graph).max_parallelism == 128
        assert counter(fit_to_checkpoint(graph, metadata(1, saved), Consent())).max_parallelism == 256

    def test_other_operators_keep_their_max_parallelism(self) -> None:
        saved = OperatorMetadata("counter", "Counter", 2, 256, ["count"], {})
        assert fit_to_checkpoint(job(), metadata(1, saved), Consent()).nodes[0].max_parallelism == 128

    def test_an_explicit_max_parallelism_that_is_the_same_fits(self) -> None:
        graph = job(max_parallelism=128)
        assert fit_to_checkpoint(graph, metadata(1, COUNTER), Consent()) == graph

    def test_an_explicit_max_parallelism_cannot_change(self) -> None:
        with pytest.raises(StateRestoreError, match=r"'Counter' \(uid counter\) is set to max parallelism 64.* 128"):
            fit_to_checkpoint(job(max_parallelism=64), metadata(1, COUNTER), Consent())

    def test_a_parallelism_up_to_the_max_parallelism_of_the_snapshot_fits(self) -> None:
        saved = OperatorMetadata("counter", "Counter", 2, 5, ["count"], {})
        assert counter(fit_to_checkpoint(job(parallelism=5), metadata(1, saved), Consent())).max_parallelism == 5

    def test_a_parallelism_above_the_max_parallelism_of_the_snapshot_raises_naming_both_numbers(self) -> None:
        saved = OperatorMetadata("counter", "Counter", 2, 5, ["count"], {})
        with pytest.raises(StateRestoreError, match=r"'Counter' .* parallelism 6, .* max parallelism 5"):
            fit_to_checkpoint(job(parallelism=6), metadata(1, saved), Consent())

    def test_operator_state_alone_does_not_bind_the_max_parallelism(self) -> None:
        saved = OperatorMetadata("counter", "Counter", 2, 5, [], split(position=[1, 1]))
        graph = job(parallelism=6, max_parallelism=64)
        assert fit_to_checkpoint(graph, metadata(1, saved), Consent()) == graph

    def test_the_name_of_an_operator_does_not_matter(self) -> None:
        graph = job(name="Renamed")
        assert (
            fit_to_checkpoint(graph, metadata(1, msgspec.structs.replace(COUNTER, name="Old name")), Consent()) == graph
        )
