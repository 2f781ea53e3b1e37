"""Makes pending files visible, whatever an earlier attempt to do so has left."""

from __future__ import annotations

from collections.abc import Iterable

from rekindle.connectors.files import file_sink_paths as paths
from rekindle.connectors.files.file_committables import Committable, FileCommittable, HeldFile, MergedFile
from rekindle.connectors.files.sink_base_path import sink_files
from rekindle.connectors.files.sink_files import FileSinkError, SinkFiles


class Committer:
    """Commit the files of one base path, and of those that the job had before."""

    def __init__(self, files: SinkFiles, base_path: str) -> None:
        self._files = files
        self._base_path = base_path
        self._before: dict[str, SinkFiles] = {}  # the base paths of jobs before, as far as they were asked for

    def commit(self, committables: Iterable[FileCommittable | MergedFile]) -> None:
        """Give pending files their finished names; those that have them already stay as they are."""
        moved: dict[SinkFiles, set[str]] = {}
        for committable in committables:
            files = self._holding(committable)
            _finish(committable, files)
            moved.setdefault(files, set()).add(paths.directory_of(committable.finished))
            if isinstance(committable, MergedFile):
                files.sync_directories([paths.directory_of(committable.finished)])  # before what it replaces goes
                for name in committable.replaced:
                    files.remove(name)
                    files.remove(paths.kept(name))
        for files, directories in moved.items():
            files.sync_directories(directories)

    def keep(self, committable: Committable) -> None:
        """Let a pending file outlive a failure of the job."""
        files = self._holding(committable)
        if files.size(committable.pending) is not None:
            files.rename(committable.pending, paths.kept(committable.pending))
            files.sync_directories({paths.directory_of(committable.pending)})

    def is_waiting(self, file: HeldFile) -> bool:
        """Return whether a file is hidden, and not finished."""
        hidden = any(self._files.size(name) is not None for name in _hidden_names(file))
        return hidden and self._files.size(file.finished) is None

    def was_merged(self, file: HeldFile) -> bool:
        """Return whether a file is gone because one that has its records is finished."""
        files = self._holding(file)
        if _is_there(file, files):
            return False
        hidden, directory = paths.parse_hidden(file.pending), paths.directory_of(file.pending)
        return hidden is not None and any(
            paths.directory_of(path) == directory and hidden.is_in(path) for path in files.walk()
        )

    def _holding(self, committable: Committable) -> SinkFiles:
        """Return the base path that has the file: the own one, unless only that of the job before has it."""
        if committable.base_path in ("", self._base_path) or _is_there(committable, self._files):
            return self._files
        before = self._before.get(committable.base_path)
        if before is None:
            before = self._before[committable.base_path] = sink_files(committable.base_path)
        return before if _is_there(committable, before) else self._files


def _hidden_names(committable: Committable) -> tuple[str, str]:
    return committable.pending, paths.kept(committable.pending)


def _is_there(committable: Committable, files: SinkFiles) -> bool:
    return any(files.size(name) is not None for name in (committable.finished, *_hidden_names(committable)))


def _finish(committable: FileCommittable | MergedFile, files: SinkFiles) -> None:
    hidden = committable.pending
    pending = files.size(hidden)
    if pending is None:
        hidden = paths.kept(hidden)
        pending = files.size(hidden)
    finished = files.size(committable.finished)
    if pending is None and finished is None:
        raise FileSinkError(
            f"cannot commit {files.describe(committable.finished)}: neither it nor the pending "
            f"{paths.name_of(committable.pending)!r} is there; its {committable.size} bytes are lost. "
            "The file was removed or moved. Bring it back, or restore from another checkpoint, and leave files below "
            "the base path alone until the checkpoint after theirs is complete"
        )
    for size, path in ((finished, committable.finished), (pending, hidden)):
        if size not in (None, committable.size):
            raise FileSinkError(
                f"cannot commit {files.describe(committable.finished)}: "
                f"{files.describe(path)} has {size} bytes, the checkpoint says {committable.size}. "
                "It was changed or truncated. Bring its content back, or restore from another checkpoint"
            )
    if finished is None:
        files.rename(hidden, committable.finished)
    elif pending is not None:
        files.remove(hidden)
