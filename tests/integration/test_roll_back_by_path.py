"""Rolling a job back by path: cancelled, and started again four checkpoints before its last."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rekindle.checkpoint import paths
from rekindle.common import JobStatus
from rekindle.datastream import ExternalizedCheckpointRetention
from rekindle.exceptions import JobCancelledError
from rekindle.runtime.master.client import LocalJobClient
from support.balances import environment, judge, numbering_job, read_output
from support.left_behind import left_in
from support.processes import wait_until

EVENTS = 40_000


def numbers(output: Path) -> set[tuple[str, int]]:
    return {(key, int(number)) for key, number, _ in (line.split(",") for line in read_output(str(output)))}


def test_four_checkpoints_back_by_path(local_cluster: Any, tmp_path: Path) -> None:
    env = environment(local_cluster, str(tmp_path / "checkpoints"), state_checkpoints_num__retained="20")
    retention = ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION
    env.get_checkpoint_config().set_externalized_checkpoint_retention(retention)
    numbering_job(env, EVENTS, str(tmp_path / "first"))
    client = env.execute_async("numbering")
    assert isinstance(client, LocalJobClient)
    master = client._master
    wait_until(lambda: master.checkpoint_statistics().counts.completed >= 6, "there are checkpoints to go back over")
    client.cancel().result()
    assert master.status is JobStatus.CANCELED

    [job] = ((tmp_path / "checkpoints") / name for name in left_in(tmp_path / "checkpoints"))
    kept = sorted(int(path.parent.name[4:]) for path in job.glob(f"chk-*/{paths.METADATA}"))
    overview = master.checkpoint_statistics()
    assert kept == [entry.checkpoint_id for entry in reversed(overview.history) if entry.external_path][-20:]
    assert {task.uid for task in overview.history[-1].tasks} >= {"events", "numbering", "sink"}
    with pytest.raises(JobCancelledError, match=f"rekindle run -s {job}/chk-{kept[-1]} "):
        client.get_job_execution_result().result()

    back = {"execution_state__recovery_path": f"{job}/chk-{kept[-1] - 4}", "rekindle_epoch_max__records": str(EVENTS)}
    env = environment(local_cluster, str(tmp_path / "checkpoints"), **back)
    numbering_job(env, EVENTS, str(tmp_path / "again"))
    client = env.execute_async("again")
    assert isinstance(client, LocalJobClient)
    client.get_job_execution_result().result()
    verdict = judge(EVENTS, str(tmp_path / "again"))
    assert (verdict.wrong_sums, verdict.duplicated) == (0, 0)
    first, again = numbers(tmp_path / "first"), numbers(tmp_path / "again")
    assert len(first | again) == EVENTS, "nothing is lost over the whole"
    assert first & again, "what came after the fourth checkpoint before the last is there again"
    restored = client._master.checkpoint_statistics().latest_restored
    assert restored is not None
    assert restored.checkpoint_id == kept[-1] - 4
    assert sorted(int(path.parent.name[4:]) for path in job.glob(f"chk-*/{paths.METADATA}")) == kept
