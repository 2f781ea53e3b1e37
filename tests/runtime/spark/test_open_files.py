"""The limit of open files: raised as far as it may be, and a sentence where that is too low."""

from __future__ import annotations

import resource

import pytest

from rekindle.exceptions import SparkSetupError
from rekindle.runtime.spark.open_files import require_open_files


class Limits:
    """Hold limits in the place of the system."""

    def __init__(self, patch: pytest.MonkeyPatch, soft: int, hard: int) -> None:
        self.limits = (soft, hard)
        patch.setattr(resource, "getrlimit", lambda which: self.limits)
        patch.setattr(resource, "setrlimit", self._set)

    def _set(self, which: int, limits: tuple[int, int]) -> None:
        self.limits = limits


@pytest.mark.parametrize(
    ("soft", "hard", "raised"),
    [
        (256, resource.RLIM_INFINITY, 4096),
        (256, 1024, 1024),
        (1024, 1_048_576, 4096),
        (65_536, 1_048_576, 65_536),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, resource.RLIM_INFINITY),
    ],
)
def test_a_low_limit_is_raised(monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, raised: int) -> None:
    limits = Limits(monkeypatch, soft, hard)
    require_open_files()
    assert limits.limits == (raised, hard)


def test_a_limit_under_which_spark_cannot_start_is_an_error_that_says_how_to_raise_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Limits(monkeypatch, 64, 64)
    with pytest.raises(SparkSetupError, match=r"may open only 64 files here.*ulimit -n 4096"):
        require_open_files()
