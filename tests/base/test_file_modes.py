"""The permissions of files with state: their owner's, and those of whom the umask lets write."""

from __future__ import annotations

import os

import pytest

from rekindle.base.file_modes import directory_mode, file_mode


@pytest.mark.parametrize(
    ("umask", "file", "directory"),
    [
        (0o022, 0o600, 0o700),
        (0o077, 0o600, 0o700),
        (0o027, 0o600, 0o700),
        (0o002, 0o660, 0o770),
        (0o007, 0o660, 0o770),
        (0o000, 0o666, 0o777),
    ],
)
def test_only_whom_the_umask_lets_write_may_read(umask: int, file: int, directory: int) -> None:
    before = os.umask(umask)
    try:
        assert (file_mode(), directory_mode()) == (file, directory)
    finally:
        assert os.umask(before) == umask
