"""PySpark's daemon as Rekindle runs it: what it imports, and of what it says nothing."""

from __future__ import annotations

import gc
import sys
from types import ModuleType, SimpleNamespace

import pytest

from rekindle.runtime.spark import worker_daemon


def test_an_archive_is_taken_off_the_path_if_its_package_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["/spark/pyspark.zip", *sys.path])
    worker_daemon.prefer_installed("pyspark", "pyspark.zip")
    assert "/spark/pyspark.zip" not in sys.path


def test_it_stays_if_it_is_the_only_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["/spark/nowhere.zip", *sys.path])
    worker_daemon.prefer_installed("no_such_package", "nowhere.zip")
    assert sys.path[0] == "/spark/nowhere.zip"


@pytest.mark.parametrize(("error", "said"), [(BrokenPipeError(), False), (ValueError("why"), True)])
def test_only_a_connection_that_was_closed_is_passed_over(
    error: Exception, said: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        raise error
    except Exception:
        worker_daemon._QuietTraceback.print_exc()
    assert ("Traceback" in capsys.readouterr().err) is said


@pytest.mark.parametrize(("name", "quiet"), [("pyspark.daemon", True), ("program", False), (None, False)])
def test_a_worker_of_pysparks_own_daemon_passes_over_it_too(
    name: str | None, quiet: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session that the program made itself has that daemon."""
    main = ModuleType("__main__")
    main.__spec__ = None if name is None else SimpleNamespace(name=name)  # type: ignore[assignment]
    monkeypatch.setitem(sys.modules, "__main__", main)
    worker_daemon.quieten_this_worker()
    assert hasattr(main, "traceback") is quiet


def test_the_collector_passes_over_what_a_worker_has_before_its_first_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))
    gc.unfreeze()
    try:
        worker_daemon.prepare_this_worker.__wrapped__()
        assert gc.get_freeze_count() > len(sys.modules)
    finally:
        gc.unfreeze()


def test_a_worker_is_prepared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared: list[str] = []
    monkeypatch.setattr(worker_daemon, "quieten_this_worker", lambda: prepared.append("quiet"))
    monkeypatch.setattr(worker_daemon, "leave_to_collector_what_follows", lambda: prepared.append("collector"))
    worker_daemon.prepare_this_worker.cache_clear()
    try:
        for _ in range(3):
            worker_daemon.prepare_this_worker()
    finally:
        worker_daemon.prepare_this_worker.cache_clear()
    assert prepared == ["quiet", "collector"]
