from __future__ import annotations

import pickle

import pytest

from rekindle.common import JobClient, JobExecutionResult, JobID, JobStatus


def test_a_new_job_id_is_32_hexadecimal_digits_that_no_other_has() -> None:
    ids = {JobID() for _ in range(100)} | {JobID.generate()}
    assert len(ids) == 101
    assert all(len(str(job_id)) == 32 and int(str(job_id), 16) >= 0 for job_id in ids)


def test_a_job_id_is_a_value() -> None:
    job_id = JobID.from_hex_string("8F40e725ca4933ca0427a13c795ca25f")
    assert str(job_id) == job_id.to_hex_string() == "8f40e725ca4933ca0427a13c795ca25f"
    assert job_id == JobID(str(job_id))
    assert hash(job_id) == hash(JobID(str(job_id)))
    assert job_id != str(job_id)
    assert pickle.loads(pickle.dumps(job_id)) == job_id


@pytest.mark.parametrize("text", ["", "abc", "z" * 32, "a" * 33])
def test_other_text_is_no_job_id(text: str) -> None:
    with pytest.raises(ValueError, match="32 hexadecimal digits"):
        JobID(text)


def test_failed_cancelled_and_finished_are_terminal_and_suspended_here_only() -> None:
    globally = {status for status in JobStatus if status.is_globally_terminal_state()}
    assert globally == {JobStatus.FAILED, JobStatus.CANCELED, JobStatus.FINISHED}
    assert {status for status in JobStatus if status.is_terminal_state()} == globally | {JobStatus.SUSPENDED}


def test_the_states_have_pyflinks_numbers() -> None:
    assert [status.name for status in sorted(JobStatus, key=lambda status: status.value)] == [
        "CREATED",
        "RUNNING",
        "FAILING",
        "FAILED",
        "CANCELLING",
        "CANCELED",
        "FINISHED",
        "RESTARTING",
        "SUSPENDED",
        "RECONCILING",
    ]


def test_a_result_gives_id_runtime_and_accumulators() -> None:
    job_id = JobID()
    result = JobExecutionResult(job_id, 1500, {"records": 7})
    assert result.get_job_id() == job_id
    assert result.get_net_runtime() == 1500
    assert result.get_accumulator_result("records") == 7
    assert result.get_accumulator_result("other") is None
    result.get_all_accumulator_results()["records"] = 8
    assert result.get_all_accumulator_results() == {"records": 7}


def test_a_result_reads_as_flinks() -> None:
    job_id = JobID()
    plain = f"Program execution finished\nJob with JobID {job_id} has finished.\nJob Runtime: 1500 ms\n"
    assert str(JobExecutionResult(job_id, 1500)) == plain
    with_accumulators = str(JobExecutionResult(job_id, 1500, {"records": 7}))
    assert with_accumulators == plain + "Accumulator Results: \n- records (int): 7\n"


def test_a_job_client_leaves_every_call_to_the_runtime() -> None:
    assert JobClient.__abstractmethods__ == {
        "cancel",
        "cancel_with_savepoint",
        "get_accumulators",
        "get_job_execution_result",
        "get_job_id",
        "get_job_status",
        "stop_with_savepoint",
        "trigger_savepoint",
    }
