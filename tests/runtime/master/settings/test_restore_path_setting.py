from __future__ import annotations

from pathlib import Path

import pytest

from rekindle.common.configuration import Configuration
from rekindle.datastream import StreamExecutionEnvironment
from rekindle.exceptions import CheckpointNotFoundError, ConfigurationError
from rekindle.runtime.master.settings.job_settings import settle
from rekindle.runtime.master.settings.state_settings import check_restore_setting


@pytest.mark.parametrize("path", ["", " "])
def test_an_empty_path_is_not_the_current_directory(path: str) -> None:
    configuration = Configuration().set_string("execution.state-recovery.path", path)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    with pytest.raises(ConfigurationError, match=r"execution\.state-recovery\.path is empty"):
        settle("a" * 32, "job", env._configuration, env._checkpoint_config, env._config)


def test_that_there_is_nothing_to_start_from_is_found_out_before_spark_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def start(*arguments: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr("rekindle.runtime.spark.session.create_session", start)
    path = tmp_path / "savepoint-1"
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"execution.state-recovery.path": str(path)})
    )
    env.from_collection([1]).print()
    with pytest.raises(CheckpointNotFoundError, match=f"there is no checkpoint at {path}"):
        env.execute("orders")
    (path / "chk-1").mkdir(parents=True)
    (path / "chk-1" / "_metadata").write_bytes(b"whatever it is")
    with pytest.raises(AssertionError, match="Spark was started"):
        env.execute("orders")


def test_with_high_availability_a_job_may_not_need_it(tmp_path: Path) -> None:
    ha = {"high-availability.type": "filesystem", "high-availability.storageDir": f"file://{tmp_path}"}
    check_restore_setting(Configuration.from_dict({**ha, "execution.state-recovery.path": str(tmp_path / "gone")}))
    check_restore_setting(Configuration())
