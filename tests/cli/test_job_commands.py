"""The commands about running jobs, against a REST interface without jobs behind it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from rekindle.base.process_identity import start_ticks
from rekindle.rest.discovery import Endpoint, publish
from support.command_line import Ended, rekindle_here
from support.fake_rest import SINK, SOURCE, START, FakeJob, FakeRest, checkpoint, serving

ORDERS = "5f1c".ljust(32, "0")
PAYMENTS = "5f1d".ljust(32, "1")
SAVEPOINTS, STOP, CANCEL = (f"/jobs/{ORDERS}{path}" for path in ("/savepoints", "/stop", "?mode=cancel"))


@pytest.fixture
def orders() -> FakeJob:
    history = [
        checkpoint(5),
        checkpoint(6, "FAILED", failure_message="Checkpoint expired before completing.\nIt took too long."),
        checkpoint(7),
        checkpoint(8, is_savepoint=True, external_path="file:///savepoints/8"),
        checkpoint(9, "IN_PROGRESS"),
    ]
    return FakeJob(ORDERS, checkpoints=history)


@pytest.fixture
def rest(orders: FakeJob) -> Iterator[FakeRest]:
    with serving(FakeRest(orders, FakeJob(PAYMENTS, "payments", "FINISHED"))) as server:
        yield server


@pytest.fixture(autouse=True)
def _own_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("REKINDLE_STATE_DIR", str(tmp_path))
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.delenv("REKINDLE_TOKEN", raising=False)


@pytest.fixture
def found(rest: FakeRest) -> FakeRest:
    """Let the jobs be found on this machine."""
    pid = os.getpid()
    publish(Endpoint(pid=pid, start_ticks=start_ticks(pid), url=rest.url, token=rest.token, started=1))
    return rest


def run(rest: FakeRest, *arguments: str) -> Ended:
    return rekindle_here(*arguments, "-m", rest.address)


def columns(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("  ") if cell.strip()]


class TestList:
    def test_it_shows_the_jobs_that_have_not_ended(self, found: FakeRest) -> None:
        ended = rekindle_here("list")
        heading, _, job = ended.out.splitlines()
        assert columns(heading) == [
            *("Job id", "Name", "Status", "Started", "Duration", "Parallel", "Restarts", "Checkpoint", "At"),
        ]
        cells = columns(job)
        assert cells[:3] == [ORDERS, "orders", "RUNNING"]
        assert cells[4:7] == ["1 min 30 s", "2", "2"]
        assert cells[7].startswith("7 at ")
        assert cells[8] == found.url
        assert (ended.code, ended.err) == (0, "")

    @pytest.mark.parametrize(
        ("option", "state", "shown"),
        [
            ("-r", "RUNNING", [ORDERS]),
            ("--running", "RESTARTING", [ORDERS]),
            ("-r", "CREATED", []),
            ("-s", "CREATED", [ORDERS]),
            ("--scheduled", "RUNNING", []),
            ("-rs", "CREATED", [ORDERS]),
            ("--all", "RUNNING", [ORDERS, PAYMENTS]),
            ("-a", "CANCELLING", [ORDERS, PAYMENTS]),
        ],
    )
    def test_options_decide_which(
        self, rest: FakeRest, orders: FakeJob, option: str, state: str, shown: list[str]
    ) -> None:
        orders.state = state
        ended = run(rest, "list", option, "--json")
        assert ended.code == 0
        assert [job["job_id"] for job in ended.json()["jobs"]] == shown

    def test_json_has_it_all(self, rest: FakeRest) -> None:
        assert run(rest, "list", "--json").json() == {
            "jobs": [
                {
                    "job_id": ORDERS,
                    "job_name": "orders",
                    "status": "RUNNING",
                    "start_time": START,
                    "end_time": None,
                    "duration_ms": 90_000,
                    "parallelism": 2,
                    "restarts": 2,
                    "last_checkpoint": {"id": 7, "time": START + 7250, "path": "file:///checkpoints/chk-7"},
                    "url": rest.url,
                    "dashboard": None,
                    "header_file": None,
                    "why": None,
                    "savepoint": None,
                    "program": None,
                    "arguments": None,
                    "pid": None,
                    "log": None,
                }
            ],
            "unreachable": [],
        }

    def test_a_checkpoint_that_was_deleted_is_not_told(self, rest: FakeRest, orders: FakeJob) -> None:
        orders.checkpoints = [checkpoint(7, discarded=True)]
        orders.state = "FINISHED"
        (job,) = (job for job in run(rest, "list", "-a", "--json").json()["jobs"] if job["job_id"] == ORDERS)
        assert job["last_checkpoint"] is None

    def test_no_jobs_is_no_error(self, rest: FakeRest, orders: FakeJob) -> None:
        orders.state = "FAILED"
        ended = rekindle_here("list", "-r")
        assert ended.code == 0
        assert ended.out.startswith("There are no running jobs on this machine.\n")
        assert "--jobmanager HOST:PORT" in ended.out
        assert rekindle_here("list", "--json").json() == {"jobs": [], "unreachable": []}
        ended = run(rest, "list")
        assert ended.out == f"There are no jobs at {rest.address}.\n"

    def test_names_are_no_markup(self, rest: FakeRest, orders: FakeJob) -> None:
        orders.name = "[red]x[/red] \\[b]"
        assert orders.name in run(rest, "list").out


class TestFinding:
    @pytest.mark.parametrize("job", [ORDERS, ORDERS[:4], "orders"])
    def test_a_job_has_several_names(self, found: FakeRest, job: str) -> None:
        assert rekindle_here("savepoint", job, "--json").json()["job_id"] == ORDERS

    @pytest.mark.parametrize("command", ["savepoint", "stop", "cancel", "checkpoints"])
    def test_none_is_code_3_with_a_hint(self, found: FakeRest, command: str) -> None:
        ended = rekindle_here(command, "lost", "--json")
        assert ended.code == ended.json()["exit_code"] == 3
        error = ended.json()["error"]
        assert error.startswith("there is no job 'lost'; it may have ended: see rekindle list -a")
        assert f"There are:\n  {ORDERS}" in error
        assert "--jobmanager" not in ended.err

    def test_none_without_any_driver_says_where_was_looked(self) -> None:
        ended = rekindle_here("stop", "lost")
        assert ended.code == 3
        first, hint = ended.err.splitlines()
        assert "it may have ended" in first
        assert "--jobmanager HOST:PORT" in hint

    def test_several_are_code_2(self, rest: FakeRest) -> None:
        rest.jobs["0" * 32] = FakeJob("0" * 32)
        ended = run(rest, "stop", "orders")
        assert ended.code == 2
        assert "can mean 2 jobs" in ended.err
        assert rest.posted() == []

    @pytest.mark.parametrize(
        "command", ["list", "savepoint orders", "stop orders", "cancel orders", "checkpoints orders"]
    )
    def test_nobody_answers_is_code_4(self, command: str) -> None:
        ended = rekindle_here(*command.split(), "--json", "--jobmanager", "127.0.0.1:1")
        assert ended.code == ended.json()["exit_code"] == 4
        assert "nothing answers at http://127.0.0.1:1" in ended.err

    def test_tokens(self, rest: FakeRest, monkeypatch: pytest.MonkeyPatch) -> None:
        rest.token = "secret"
        ended = run(rest, "list")
        assert ended.code == 4
        assert "requires a token" in ended.err
        assert "--token or $REKINDLE_TOKEN" in ended.err
        assert run(rest, "list", "--token", "wrong").code == 4
        assert run(rest, "list", "--token", "secret").code == 0
        monkeypatch.setenv("REKINDLE_TOKEN", "secret")
        assert run(rest, "list").code == 0

    def test_an_address_that_is_none_is_code_2(self) -> None:
        assert rekindle_here("list", "-m", "host:port").code == 2

    def test_a_driver_that_is_gone_is_passed_over_with_a_warning(self, rest: FakeRest) -> None:
        pid = os.getpid()
        publish(Endpoint(pid=pid, start_ticks=start_ticks(pid), url="http://127.0.0.1:1", token=None, started=1))
        ended = rekindle_here("list", "--json")
        assert ended.code == 4
        assert [(one["pid"], one["url"]) for one in ended.json()["unreachable"]] == [(pid, "http://127.0.0.1:1")]
        assert ended.json()["jobs"] == []
        assert ended.err.startswith(f"warning: skipped a process that seems to run jobs: process {pid}: ")
        ended = rekindle_here("list")
        assert ended.code == 4
        assert f"error: no job answers; 1 process does not answer (pid {pid})\n" in ended.err
        ended = rekindle_here("savepoint", "orders")
        assert ended.code == 4
        assert f"error: no job 'orders' answers; 1 process does not answer (pid {pid})\n" in ended.err

    @pytest.mark.parametrize("command", ["checkpoint", "savepoint", "stop", "cancel"])
    def test_what_has_ended_cannot_be_steered(self, rest: FakeRest, command: str) -> None:
        ended = run(rest, command, "payments")
        assert ended.code == 1
        assert "has ended: it is FINISHED" in ended.err
        assert rest.posted() == []

    @pytest.mark.parametrize(
        "arguments",
        [
            ("stop", "orders", "-p", ""),
            ("savepoint", "orders", ""),
            ("cancel", "-s", "", "orders"),
            ("cancel", "orders", "--with-savepoint", ""),
            ("cancel", "orders", "--withSavepoint="),
        ],
        ids=" ".join,
    )
    def test_an_empty_directory_is_refused(self, rest: FakeRest, arguments: tuple[str, ...]) -> None:
        ended = run(rest, *arguments)
        assert ended.code == 2
        assert "is empty; did the command that should print it fail?" in ended.err
        assert rest.posted() == []


class TestSavepoint:
    def test_it_prints_the_path_alone(self, rest: FakeRest, orders: FakeJob) -> None:
        orders.polls = 2
        ended = run(rest, "savepoint", "orders")
        assert (ended.code, ended.out) == (0, "/default/savepoint-1\n")
        assert "Savepoint of orders" in ended.err
        assert rest.posted() == [(SAVEPOINTS, {"target-directory": None, "cancel-job": False})]

    def test_json(self, rest: FakeRest) -> None:
        assert run(rest, "savepoint", "orders", "/there", "--json").json() == {
            "job_id": ORDERS,
            "job_name": "orders",
            "request_id": "77",
            "savepoint": "/there/savepoint-1",
        }

    def test_a_directory_is_relative_to_here_if_the_job_is_here(
        self, found: FakeRest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.chdir(tmp_path)
        for directory, sent in [
            ("sub", f"{tmp_path}/sub"),
            ("/abs", "/abs"),
            ("s3://bucket/x", "s3://bucket/x"),
        ]:
            assert rekindle_here("savepoint", "orders", directory).code == 0
            assert found.posted()[-1][1]["target-directory"] == sent
        run(found, "savepoint", "orders", "sub")
        assert found.posted()[-1][1]["target-directory"] == "sub"

    def test_detached_gives_the_request(self, rest: FakeRest, orders: FakeJob) -> None:
        orders.polls = 1_000_000
        assert run(rest, "savepoint", "--detached", "orders").out == "77\n"
        assert run(rest, "savepoint", "--detached", "orders", "--json").json()["request_id"] == "77"

    def test_a_failure_is_code_1_with_the_reason(self, rest: FakeRest, orders: FakeJob) -> None:
        orders.failure = "rekindle.exceptions.CheckpointError: Savepoint 9 failed: disk full"
        ended = run(rest, "savepoint", "orders", "--json")
        assert (ended.code, ended.json()) == (1, {"error": "Savepoint 9 failed: disk full", "exit_code": 1})

    def test_a_refusal_is_told_in_the_jobs_words(self, rest: FakeRest, orders: FakeJob) -> None:
        orders.refusal = (400, "a savepoint needs a directory, and none is configured")
        ended = run(rest, "savepoint", "orders")
        assert ended.code == 2
        assert "error: a savepoint needs a directory" in ended.err
        orders.refusal = (409, "another one is under way")
        assert run(rest, "savepoint", "orders").code == 1


class TestCheckpoint:
    def test_it_prints_the_id_alone(self, rest: FakeRest, orders: FakeJob) -> None:
        orders.polls = 2
        ended = run(rest, "checkpoint", "orders", "--type", "full")
        assert (ended.code, ended.out) == (0, "9\n")
        assert rest.posted() == [(f"/jobs/{ORDERS}/checkpoints", {"checkpointType": "FULL"})]

    def test_json(self, rest: FakeRest) -> None:
        assert run(rest, "checkpoint", "orders", "--json").json() == {
            "job_id": ORDERS,
            "job_name": "orders",
            "request_id": "77",
            "checkpoint": 9,
        }

    def test_a_failure_is_code_1_with_the_reason(self, rest: FakeRest, orders: FakeJob) -> None:
        orders.failure = "rekindle.exceptions.CheckpointError: Checkpoint 9 failed: disk full"
        ended = run(rest, "checkpoint", "orders", "--json")
        assert (ended.code, ended.json()) == (1, {"error": "Checkpoint 9 failed: disk full", "exit_code": 1})

    def test_an_unknown_type_is_code_2(self, rest: FakeRest) -> None:
        ended = run(rest, "checkpoint", "orders", "--type", "huge")
        assert ended.code == 2
        assert "must be one of configured, full, incremental" in ended.err


class TestStop:
    @pytest.mark.parametrize(
        ("options", "drain", "directory"),
        [
            ([], False, None),
            (["--drain"], True, None),
            (["-d", "-p", "/there"], True, "/there"),
            (["--savepoint-path", "/there"], False, "/there"),
            (["--savepointPath", "/there"], False, "/there"),  # as Flink writes it
        ],
    )
    def test_it_waits_for_savepoint_and_end(
        self, rest: FakeRest, orders: FakeJob, options: list[str], drain: bool, directory: str | None
    ) -> None:
        orders.polls, orders.ending = 2, 2
        ended = run(rest, "stop", *options, "orders", "--json")
        location = f"{directory or '/default'}/savepoint-1"
        assert ended.json() == {
            "job_id": ORDERS,
            "job_name": "orders",
            "status": "FINISHED",
            "savepoint": location,
            "drained": drain,
        }
        assert ended.code == 0
        assert orders.state == "FINISHED"
        assert rest.posted() == [(STOP, {"targetDirectory": directory, "drain": drain})]

    def test_text_ends_with_the_path(self, rest: FakeRest) -> None:
        ended = run(rest, "stop", "orders")
        assert ended.out.splitlines() == [f"Job orders ({ORDERS}) has stopped. Savepoint:", "/default/savepoint-1"]

    def test_a_failure_is_code_1(self, rest: FakeRest, orders: FakeJob) -> None:
        orders.failure = "rekindle.exceptions.CheckpointError: the job failed meanwhile"
        ended = run(rest, "stop", "orders", "--json")
        assert (ended.code, ended.json()["error"]) == (1, "the job failed meanwhile")


class TestCancel:
    @pytest.mark.parametrize(
        ("arguments", "directory"),
        [
            (["-s", "/there", "orders"], "/there"),
            (["-s", "orders"], None),
            (["orders", "-s"], None),
            (["orders", "-s", "/there"], "/there"),
            (["-s", "--json", "orders"], None),
            (["-s/there", "orders"], "/there"),
            (["--with-savepoint", "/there", "orders"], "/there"),
            (["--with-savepoint", "orders"], None),
            (["--with-savepoint=/there", "orders"], "/there"),
            (["orders", "--with-savepoint=/there"], "/there"),
            (["orders", "--with-savepoint"], None),
            (["--withSavepoint", "/there", "orders"], "/there"),
            (["orders", "--withSavepoint"], None),
        ],
    )
    def test_every_way_to_ask_for_a_savepoint(
        self, rest: FakeRest, orders: FakeJob, arguments: list[str], directory: str | None
    ) -> None:
        orders.polls, orders.ending = 1, 1
        ended = rekindle_here("cancel", "-m", rest.address, *arguments)
        assert ended.code == 0, ended.err
        assert rest.posted() == [(SAVEPOINTS, {"target-directory": directory, "cancel-job": True})]
        assert f"{directory or '/default'}/savepoint-1" in ended.out
        assert orders.state == "CANCELED"

    def test_without_one(self, rest: FakeRest, orders: FakeJob) -> None:
        orders.ending = 2
        ended = run(rest, "cancel", "orders")
        assert ended.out.splitlines() == [
            f"Job orders ({ORDERS}) was cancelled.",
            "Its last checkpoint is kept: file:///checkpoints/chk-7",
        ]
        assert rest.posted() == [(CANCEL, None)]

    def test_what_is_deleted_is_said(self, rest: FakeRest, orders: FakeJob) -> None:
        orders.retains = False
        assert run(rest, "cancel", "orders").out.splitlines() == [
            f"Job orders ({ORDERS}) was cancelled.",
            "Its checkpoints were deleted, the last one was file:///checkpoints/chk-7",
            "To keep the last one: execution.checkpointing.externalized-checkpoint-retention: RETAIN_ON_CANCELLATION",
        ]

    def test_a_checkpoint_that_is_not_kept_is_named_as_deleted(self, rest: FakeRest, orders: FakeJob) -> None:
        orders.retains = False
        assert run(rest, "cancel", "orders", "--json").json() == {
            "job_id": ORDERS,
            "job_name": "orders",
            "status": "CANCELED",
            "request_id": None,
            "savepoint": None,
            "retained_checkpoint": None,
            "deleted_checkpoint": "file:///checkpoints/chk-7",
        }

    def test_without_waiting(self, rest: FakeRest, orders: FakeJob) -> None:
        orders.polls = orders.ending = 1_000_000
        assert run(rest, "cancel", "--no-wait", "orders").out == f"Job orders ({ORDERS}) is being cancelled.\n"
        document = run(rest, "cancel", "--no-wait", "-s", "orders", "--json").json()
        assert (document["status"], document["request_id"], document["savepoint"]) == ("CANCELLING", "77", None)

    def test_a_job_that_ended_by_itself_was_not_cancelled(self, rest: FakeRest, orders: FakeJob) -> None:
        orders.ending = 1_000_000

        def ends() -> None:
            orders.state = "FINISHED"

        orders.on_poll = ends
        ended = run(rest, "cancel", "-s", "orders")
        assert ended.code == 1
        assert "was not cancelled: it had ended as FINISHED" in ended.err

    def test_a_savepoint_that_fails_is_code_1(self, rest: FakeRest, orders: FakeJob) -> None:
        orders.failure = "rekindle.exceptions.CheckpointError: disk full"
        assert run(rest, "cancel", "-s", "orders", "--json").json() == {"error": "disk full", "exit_code": 1}

    @pytest.mark.parametrize("arguments", [[], ["-s"], ["--json", "--with-savepoint"]], ids=" ".join)
    def test_without_a_job_it_is_a_misunderstanding(self, arguments: list[str]) -> None:
        assert rekindle_here("cancel", *arguments).code == 2


class TestCheckpoints:
    def test_overview(self, rest: FakeRest) -> None:
        ended = run(rest, "checkpoints", "orders")
        assert ended.code == 0
        lines = ended.out.splitlines()
        assert lines[:2] == [
            f"Checkpoints of orders ({ORDERS})",
            "3 completed, 1 failed, 1 in progress, 1 restored",
        ]
        table = {line.split("  ")[0].strip(): columns(line)[1:] for line in lines[3:]}
        assert table["Duration"] == ["100 ms", "300 ms", *["250 ms"] * 5, "900 ms"]
        assert table["Last completed"][0] == "7"
        assert table["Last completed"][2] == "file:///checkpoints/chk-7"
        assert table["Last savepoint"][2] == "file:///savepoints/8"
        assert table["Last failed"][2] == "Checkpoint expired before completing."
        assert table["Restored from"][2] == "file:///savepoints/old"
        assert [columns(line)[:3] for line in lines[-5:]] == [
            ["9", "checkpoint", "IN_PROGRESS"],
            ["8", "savepoint", "COMPLETED"],
            ["7", "checkpoint", "COMPLETED"],
            ["6", "checkpoint", "FAILED"],
            ["5", "checkpoint", "COMPLETED"],
        ]
        assert columns(lines[-3])[4:] == ["250 ms", "2.0 KiB", "3.0 MiB", "3/3", "file:///checkpoints/chk-7"]

    def test_a_job_without_any(self, rest: FakeRest) -> None:
        ended = run(rest, "checkpoints", "payments")
        assert ended.code == 0
        assert "0 completed, 0 failed" in ended.out

    def test_one(self, rest: FakeRest) -> None:
        ended = run(rest, "checkpoints", "orders", "7")
        assert ended.code == 0
        assert f"Checkpoint 7 of orders ({ORDERS})" in ended.out
        assert [columns(line) for line in ended.out.splitlines()[-3:]] == [
            [
                "Source: orders (orders)",
                "0",
                "250 ms",
                "250 ms",
                "11 ms",
                "222 ms",
                "33 ms",
                "4 ms",
                "1.0 KiB",
                "2.0 KiB",
            ],
            [
                "Source: orders (orders)",
                "1",
                "251 ms",
                "250 ms",
                "11 ms",
                "222 ms",
                "33 ms",
                "4 ms",
                "1.0 KiB",
                "2.0 KiB",
            ],
            ["Sink: totals", "0", "missing", *"-------"],
        ]

    def test_one_that_failed_has_the_whole_reason(self, rest: FakeRest) -> None:
        output = run(rest, "checkpoints", "orders", "6").out
        assert "Reason:       Checkpoint expired before completing.\nIt took too long.\n" in output

    def test_json_is_what_rest_has(self, rest: FakeRest) -> None:
        document = run(rest, "checkpoints", "orders", "--json").json()
        assert document["counts"] == {"restored": 1, "total": 5, "in_progress": 1, "completed": 3, "failed": 1}
        assert set(document) == {"counts", "summary", "latest", "history"}
        document = run(rest, "checkpoints", "orders", "7", "--json").json()
        assert (document["id"], document["external_path"]) == (7, "file:///checkpoints/chk-7")
        assert {vertex: len(task["subtasks"]) for vertex, task in document["tasks"].items()} == {SOURCE: 2, SINK: 1}

    def test_one_that_is_not_there_is_code_3(self, rest: FakeRest) -> None:
        ended = run(rest, "checkpoints", "orders", "99")
        assert ended.code == 3
        assert "error: Could not find checkpoint 99." in ended.err
        assert run(rest, "checkpoints", "orders", "last").code == 2
