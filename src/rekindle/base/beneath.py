"""Files below a directory, reached without leaving it: no symbolic link on the way is followed.

Each step is taken from the open directory before it, so nobody who exchanges a name for a link in between leads
anywhere else. The directory itself is what somebody named: links on the way to it are theirs to choose.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from rekindle.base.file_modes import directory_mode
from rekindle.base.file_owners import distrust, is_trusted

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class RefusedFileError(OSError):
    """There is something that could be used, and must not be."""


@contextmanager
def directory_beneath(root: str, parts: list[str], make: bool = False, own: bool = False) -> Iterator[int]:
    """Open a directory; it is closed at the end.

    Args:
        root: Where to begin.
        parts: The names on the way from there.
        make: Whether directories are made that are not there.
        own: Whether those on the way must belong to somebody whose files are believed.

    Raises:
        RefusedFileError: There is a link on the way, or a directory of somebody else.
        OSError: There is none.
    """
    if make:
        make_directories(root)
    here = os.open(root, _DIRECTORY)
    try:
        for depth, name in enumerate(parts, 1):
            there = _step(here, name, os.path.join(root, *parts[:depth]), make)
            os.close(here)
            here = there
            if own:
                _check_owner(os.fstat(here), os.path.join(root, *parts[:depth]))
        yield here
    finally:
        os.close(here)


def open_file(here: int, name: str, shown: str) -> int:
    """Open a file in an open directory for reading; only a file, of somebody whose files are believed.

    Raises:
        RefusedFileError: It is none, or somebody else's.
        OSError: It cannot be opened.
    """
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=here)
    except OSError as error:
        raise _link(shown) if error.errno == errno.ELOOP else error from None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise RefusedFileError(errno.EINVAL, "it is not a file", shown)
        _check_owner(found, shown)
        os.set_blocking(descriptor, True)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def check_own_file(here: int, name: str, shown: str) -> None:
    """Find out whether a name in an open directory is that of a file of somebody whose files are believed.

    Raises:
        RefusedFileError: It is not.
        OSError: There is nothing of that name.
    """
    found = os.stat(name, dir_fd=here, follow_symlinks=False)
    if stat.S_ISLNK(found.st_mode):
        raise _link(shown)
    if not stat.S_ISREG(found.st_mode):
        raise RefusedFileError(errno.EINVAL, "it is not a file", shown)
    _check_owner(found, shown)


def make_directories(path: str) -> None:
    """Make a directory and those above it that are not there, all of them as private as the umask wants it."""
    above = os.path.dirname(path)
    if above != path and not os.path.isdir(above):
        make_directories(above)
    with suppress(FileExistsError):
        os.mkdir(path, directory_mode())


def _step(here: int, name: str, shown: str, make: bool) -> int:
    if name == "..":
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), shown)
    if make:
        with suppress(FileExistsError):
            os.mkdir(name, directory_mode(), dir_fd=here)
    try:
        return os.open(name, _DIRECTORY | os.O_NOFOLLOW, dir_fd=here)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR) and _is_link(here, name):
            raise _link(shown) from None
        raise


def _is_link(here: int, name: str) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=here, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _check_owner(found: os.stat_result, shown: str) -> None:
    if not is_trusted(found.st_uid):
        raise RefusedFileError(errno.EPERM, distrust(shown, found.st_uid), shown)


def _link(shown: str) -> OSError:
    what = "it is a symbolic link, and none is followed there: name what it leads to"
    return RefusedFileError(errno.ELOOP, what, shown)
