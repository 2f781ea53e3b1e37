from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from pathlib import Path
from unittest import mock

import pytest

from rekindle.cli.program_end import ProgramEnd
from rekindle.common.job_status import JobStatus
from rekindle.config.configuration_environment import DYNAMIC_PROPERTIES
from rekindle.program.run_report import ErrorReport, JobReport
from support.command_line import TIMEOUT, Ended, rekindle, rekindle_command, rekindle_here
from support.processes import all_pids, wait_until

RETENTION = "execution.checkpointing.externalized-checkpoint-retention"
SETTINGS = """\
import json, os, sys
from rekindle.datastream import StreamExecutionEnvironment
env = StreamExecutionEnvironment.get_execution_environment()
print(json.dumps({"argv": sys.argv, "path": sys.path[0], "name": __name__, "settings": env._configuration.to_dict()}))
sys.exit(int(sys.argv[1]))
"""


def write(directory: Path, text: str, name: str = "program.py") -> str:
    path = directory / name
    path.write_text(text)
    return str(path)


def test_options_before_the_program_are_settings_and_those_after_it_its_own(tmp_path: Path) -> None:
    program = write(tmp_path, SETTINGS)
    ended = rekindle(
        *("run", "-s", "points/7", "-n", "--drop-uncommitted-output", "-p", "3"),
        *("-D", "pipeline.name=x=y", "-Dspark.a=b", "-D", "io.tmp.dirs="),
        *(program, "7", "-s", "-D", "--json", "--help", "--", "-x"),
        cwd=tmp_path,
        REKINDLE_PARALLELISM_DEFAULT="9",
        REKINDLE_STATE_BACKEND="rocksdb",
    )  # fmt: skip
    assert ended.code == 7, ended.err
    seen = ended.json()
    assert seen["argv"] == [program, "7", "-s", "-D", "--json", "--help", "--", "-x"]
    assert seen["path"] == str(tmp_path)
    assert seen["name"] == "__main__"
    assert seen["settings"] == {
        "execution.state-recovery.path": str(tmp_path / "points" / "7"),
        "execution.state-recovery.ignore-unclaimed-state": "true",
        "execution.state-recovery.ignore-uncommitted-output": "true",
        "parallelism.default": "3",
        "pipeline.name": "x=y",
        "spark.a": "b",
        "io.tmp.dirs": "",
        "state.backend": "rocksdb",
    }


def test_a_savepoint_named_after_the_program_is_warned_of(tmp_path: Path) -> None:
    program = write(tmp_path, SETTINGS)
    warned = rekindle("run", program, "0", "-s", "points/7")
    assert f"warning: -s comes after {program}" in " ".join(warned.err.split())
    assert warned.json()["settings"] == {}
    assert "warning" not in rekindle("run", program, "0").err


@pytest.mark.parametrize(
    ("options", "warning"),
    [
        (["-s", "/a", "-s", "/b"], "--from-savepoint is given 2 times; the last one holds: /b"),
        (["-p", "2", "-p", "3"], "--parallelism is given 2 times; the last one holds: 3"),
        (["-D", "a=1", "-D", "a=2"], "-D a is given more than once; the last value holds"),
        (["-s", "/b", "-D", "execution.state-recovery.path=/a"], "-s /b takes precedence over -D execution."),
        (["-s", "/b", "-D", "execution.savepoint.path=/a"], "-s /b takes precedence over -D execution.savepoint.path"),
        (["-p", "2", "-D", "parallelism.default=3"], "-p 2 takes precedence over -D parallelism.default=3"),
    ],
)
def test_what_is_given_twice_is_said(tmp_path: Path, options: list[str], warning: str) -> None:
    ended = rekindle("run", *options, write(tmp_path, SETTINGS), "0")
    assert f"warning: {warning}" in " ".join(ended.err.split())
    settings = ended.json()["settings"]
    assert "/a" not in settings.values()
    assert "execution.savepoint.path" not in settings


def test_what_is_given_once_or_may_be_given_often_is_not(tmp_path: Path) -> None:
    options = ("-s", "/b", "-D", "execution.state-recovery.path=/b", "-D", "a=1", "-D", "a=1", "-D", "b=2", "-n", "-n")
    assert "warning" not in rekindle("run", *options, write(tmp_path, SETTINGS), "0").err


def test_a_savepoint_of_the_configuration_that_does_not_hold_is_said(tmp_path: Path) -> None:
    path = {"REKINDLE_EXECUTION_STATE_RECOVERY_PATH": "/a"}
    ended = rekindle("run", "-s", "/b", write(tmp_path, SETTINGS), "0", **path)
    assert "warning: -s /b takes precedence over execution.state-recovery.path: /a" in " ".join(ended.err.split())
    assert "warning" not in rekindle("run", "-s", "/a", write(tmp_path, SETTINGS), "0", **path).err


def test_a_module_runs_as_after_python_m(tmp_path: Path) -> None:
    write(tmp_path, SETTINGS, "jobs.py")
    ended = rekindle("run", "-s", "s3://bucket/points", "--module", "jobs", "3", cwd=tmp_path)
    assert ended.code == 3, ended.err
    assert ended.json()["settings"] == {"execution.state-recovery.path": "s3://bucket/points"}


def test_a_program_that_executes_nothing_ends_with_1(tmp_path: Path) -> None:
    ended = rekindle("run", "--json", write(tmp_path, "print('hello')"))
    assert ended.code == 1
    error = f"{tmp_path}/program.py ended without having executed a job: it calls no execute()"
    assert ended.json() == {"jobs": [], "error": error, "exit_code": 1}
    assert "hello" in ended.err
    assert "without having executed a job" in ended.err


def test_a_program_that_raises_ends_with_1_and_its_traceback(tmp_path: Path) -> None:
    ended = rekindle("run", write(tmp_path, "def f():\n    raise KeyError('oops')\nf()\n"))
    assert (ended.code, ended.out) == (1, "")
    assert 'program.py", line 2, in f' in ended.err
    assert "KeyError: 'oops'" in ended.err


@pytest.mark.parametrize("arguments", [(), ("missing.py",), ("-D", "bad", "x.py"), ("-p", "0", "x.py"), ("-z", "x.py")])
def test_what_cannot_work_ends_with_2(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert rekindle_here("run", *arguments, cwd=tmp_path).code == 2


@pytest.mark.parametrize("option", ["-cm", "--claim-mode", "--claimMode"])
def test_the_claim_mode_is_a_setting(tmp_path: Path, option: str) -> None:
    program = write(tmp_path, SETTINGS)
    with mock.patch("rekindle.cli.run.run_to_end", return_value=0) as started:
        rekindle_here("run", "-n", option, "claim", program, "0", cwd=tmp_path)
    settings = json.loads(started.call_args.args[1][DYNAMIC_PROPERTIES])
    assert settings["execution.state-recovery.claim-mode"] == "CLAIM"
    ended = rekindle_here("run", option, "MINE", program, cwd=tmp_path)
    assert ended.code == 2
    assert "'MINE' is not one of CLAIM, NO_CLAIM (see rekindle run --help)" in ended.err


@pytest.mark.parametrize("option", ["-py", "--python", "-pym", "--pyModule"])
def test_flinks_options_for_the_program_are_explained(tmp_path: Path, option: str) -> None:
    ended = rekindle_here("run", option, write(tmp_path, SETTINGS), cwd=tmp_path)
    assert ended.code == 2
    assert "give the program itself, after all options: rekindle run [OPTIONS] FILE" in ended.err


@pytest.mark.parametrize("command", ["run", "info", "stop"])
def test_an_option_without_its_value_is_explained_by_its_command(command: str) -> None:
    ended = rekindle_here(command, "-p")
    assert ended.code == 2
    assert f"requires an argument (see rekindle {command} --help)" in ended.err


@pytest.mark.parametrize(
    ("arguments", "as_json"),
    [
        (("-s", "", "x.py", "--json"), False),
        (("--json", "-s", "", "x.py"), True),
        (("-s", "", "--json", "x.py"), True),
        (("-D", "a=b", "-Dc=d", "-np", "2", "-p3", "--fromSavepoint", "", "--json", "x.py"), True),
        (("-n", "--from-savepoint=", "--log=x", "x.py", "--json"), False),
        (("-s", "", "--", "--json"), False),
        (("-D", "--json", "-s", "", "x.py"), False),
        (("--json", "-z"), True),
    ],
    ids=str,
)
def test_only_an_option_before_the_program_asks_for_json(arguments: tuple[str, ...], as_json: bool) -> None:
    ended = rekindle_here("run", *arguments)
    assert ended.code == 2
    assert bool(ended.out) == as_json


@pytest.mark.parametrize("option", ["-s", "--fromSavepoint"])
def test_an_empty_path_is_not_the_current_directory(tmp_path: Path, option: str) -> None:
    ended = rekindle_here("run", option, "", write(tmp_path, "print('hello')"), cwd=tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert "error: the path after -s is empty; did the command that should print it fail?" in ended.err


def test_a_log_is_for_detached_programs_only(tmp_path: Path) -> None:
    ended = rekindle_here("run", "--log", "x.log", write(tmp_path, "print('hello')"), cwd=tmp_path)
    assert ended.code == 2
    assert "only the output of a detached program" in " ".join(ended.err.split())
    assert not (tmp_path / "x.log").exists()


def test_the_help_is_readable() -> None:
    ended = rekindle_here("run", "--help")
    assert ended.code == 0
    for option in ("-s", "-n", "-p", "-d", "-D", "--log", "--module", "--json"):
        assert option in ended.out


WAITING = """\
import sys, time
import rekindle
print("waiting", flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize(
    ("number", "to_all", "code"),
    [(signal.SIGTERM, False, 143), (signal.SIGHUP, False, 129), (signal.SIGINT, True, 130)],
)
def test_a_request_to_end_reaches_the_program(tmp_path: Path, number: signal.Signals, to_all: bool, code: int) -> None:
    """SIGTERM is sent to the command only; Ctrl-C is sent by the terminal to both."""
    program = write(tmp_path, WAITING)
    with subprocess.Popen(
        rekindle_command("run", program),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        (os.killpg if to_all else os.kill)(process.pid, number)
        _, said = process.communicate(timeout=TIMEOUT)
    assert process.returncode == code
    assert "Traceback" not in said
    assert said == ("error: interrupted\n" if to_all else f"error: {program} was ended by {number.name}\n")


LISTENS_LATE = """\
import os, sys, time
print("starts", flush=True)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.05)
from rekindle.runtime.master.signals import watch_signals
watch_signals()
time.sleep(600)
"""


def test_an_interrupt_of_the_command_alone_reaches_a_program_that_is_still_starting(tmp_path: Path) -> None:
    command = rekindle_command("run", write(tmp_path, LISTENS_LATE), str(tmp_path / "go on"))
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "starts\n"
            process.send_signal(signal.SIGINT)
            (tmp_path / "go on").touch()
            _, said = process.communicate(timeout=TIMEOUT)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    assert (process.returncode, said) == (130, "error: interrupted\n")


def report(status: JobStatus) -> JobReport:
    return JobReport("a" * 32, "job", status.name)


@pytest.mark.parametrize(
    ("code", "jobs", "expected"),
    [
        (0, [JobStatus.FINISHED], 0),
        (0, [JobStatus.FINISHED, JobStatus.FINISHED], 0),
        (0, [], 1),
        (0, [JobStatus.FAILED], 1),
        (0, [JobStatus.FAILED, JobStatus.FINISHED], 0),
        (0, [JobStatus.RUNNING], 1),
        (0, [JobStatus.CANCELED], 5),
        (1, [JobStatus.FAILED], 1),
        (1, [JobStatus.CANCELED], 5),
        (1, [JobStatus.FINISHED], 1),
        (1, [], 1),
        (7, [JobStatus.CANCELED], 7),
        (130, [JobStatus.CANCELED], 130),
    ],
)
def test_exit_codes(code: int, jobs: list[JobStatus], expected: int) -> None:
    assert ProgramEnd(code, tuple(report(status) for status in jobs)).exit_code == expected


@pytest.mark.parametrize(
    ("code", "kind", "expected"),
    [
        (1, "ConfigurationError", 2),
        (1, "CheckpointNotFoundError", 3),
        (1, "StateMigrationException", 1),
        (1, "JobCancelledError", 5),
        (1, "JobExecutionError", 1),
        (7, "ConfigurationError", 7),
    ],
)
def test_exit_codes_of_errors_of_rekindles(code: int, kind: str, expected: int) -> None:
    end = ProgramEnd(code, (), ErrorReport("oops", kind))
    assert (end.exit_code, end.problem("x.py")) == (expected, "oops")


@pytest.mark.parametrize(
    ("code", "jobs", "problem"),
    [
        (0, [JobStatus.FINISHED], None),
        (1, [], None),
        (0, [JobStatus.RUNNING], f"the program ended while job 'job' ({'a' * 32}) was RUNNING; wait for its result"),
        (143, [JobStatus.RUNNING], f"x.py was ended by SIGTERM while job 'job' ({'a' * 32}) was RUNNING"),
        (143, [], "x.py was ended by SIGTERM"),
        (130, [], "interrupted"),
        (130, [JobStatus.RUNNING], f"interrupted while job 'job' ({'a' * 32}) was RUNNING"),
        (250, [], None),
    ],
)
def test_what_is_said_of_an_end(code: int, jobs: list[JobStatus], problem: str | None) -> None:
    said = ProgramEnd(code, tuple(report(status) for status in jobs)).problem("x.py")
    assert said == problem or (said is not None and problem is not None and said.startswith(problem))
    assert ("execute_async" in (said or "")) == (problem is not None and "wait for" in problem)


MISTAKEN = """\
import rekindle.exceptions

def begin():
    raise rekindle.exceptions.{kind}("it cannot [be]")

begin()
"""


@pytest.mark.parametrize(("kind", "code"), [("ConfigurationError", 2), ("CheckpointNotFoundError", 3)])
def test_an_error_of_rekindles_is_shown_without_a_traceback(tmp_path: Path, kind: str, code: int) -> None:
    program = write(tmp_path, MISTAKEN.format(kind=kind))
    ended = rekindle("run", "--json", program)
    assert ended.code == code
    assert ended.json() == {"jobs": [], "error": "it cannot [be]", "exit_code": code}
    assert ended.err.splitlines()[:1] == ["error: it cannot [be]"]
    assert "Traceback" not in ended.err
    log = tmp_path / "log"
    ended = rekindle("run", "-d", "--log", str(log), program)
    assert (ended.code, ended.out) == (code, "")
    assert ended.err.splitlines()[-2:] == ["error: it cannot [be]", f"(full output: {log})"]
    assert "error: it cannot [be]" in log.read_text()


def test_a_detached_program_that_exits_with_a_code_of_its_own_gives_it_to_the_command(tmp_path: Path) -> None:
    ended = rekindle("run", "-d", "--log", str(tmp_path / "log"), write(tmp_path, "import sys\nsys.exit(9)"))
    assert ended.code == 9
    assert "program.py ended with exit code 9 without a running job" in ended.err


@pytest.mark.parametrize(
    ("text", "message"),
    [("raise KeyError('oops')", "KeyError: 'oops'"), ("print('nothing to do')", "nothing to do")],
)
def test_a_detached_program_that_ends_before_a_job_runs_shows_its_log_and_ends_with_1(
    tmp_path: Path, text: str, message: str
) -> None:
    ended = rekindle("run", "-d", "--json", write(tmp_path, text), REKINDLE_STATE_DIR=str(tmp_path / "state"))
    assert ended.code == 1
    assert ended.json()["exit_code"] == 1
    assert message in ended.err
    (log,) = (tmp_path / "state" / "logs").iterdir()
    assert log.name.startswith("program-")
    assert str(log) in ended.json()["error"]
    assert message in log.read_text()
    assert (tmp_path / "state" / "logs").stat().st_mode & 0o777 == 0o700


# --- programs that run jobs, without Spark ---

TWO_JOBS = """\
import sys
from dataclasses import dataclass
from rekindle.testing import LocalEnvironment
from shop import price

@dataclass
class Sale:
    item: str
    amount: int

env = LocalEnvironment()
sales = env.from_collection([Sale("tea", 1), Sale("rum", 2), Sale("tea", 3)])
worth = sales.key_by(lambda sale: sale.item).reduce(lambda a, b: Sale(a.item, a.amount + b.amount))
found = [sale.amount * price(sale.item) for sale in worth.execute_and_collect("first")]
print("found", sorted(found), env.get_parallelism())
env.from_collection([1]).map(lambda number: number + 1).print()
env.execute("second")
"""


def test_a_program_runs_as_with_python_and_its_jobs_are_told(tmp_path: Path) -> None:
    write(tmp_path, "def price(item):\n    return {'tea': 2, 'rum': 5}[item]\n", "shop.py")
    ended = rekindle("run", "-p", "2", "--json", write(tmp_path, TWO_JOBS), REKINDLE_REKINDLE_PROGRESS="none")
    assert ended.code == 0, ended.err
    document = ended.json()
    assert document["exit_code"] == 0
    assert [(job["job_name"], job["status"]) for job in document["jobs"]] == [
        ("first", "FINISHED"),
        ("second", "FINISHED"),
    ]
    assert all(len(job["job_id"]) == 32 and job["runtime_ms"] > 0 for job in document["jobs"])
    assert "found [2, 8, 10] 2" in ended.err
    assert "2\n" in ended.err


FAILING_AND_CANCELLED = """\
import sys, time
from pathlib import Path
from rekindle.datastream import SourceFunction
from rekindle.testing import LocalEnvironment
from rekindle.exceptions import JobExecutionError

class Endless(SourceFunction):
    def run(self, ctx):
        self.running = True
        number = 0
        while self.running:
            with ctx.get_checkpoint_lock():
                ctx.collect(number)
            number += 1
    def cancel(self):
        self.running = False

env = LocalEnvironment()
env.from_collection([1]).map(lambda number: number // 0).print()
try:
    env.execute("failing")
except JobExecutionError:
    print("as expected")
sums = env.add_source(Endless()).key_by(lambda number: number % 3).reduce(lambda a, b: a + b).uid("sums")
sums.filter(lambda number: False).print()
env.enable_checkpointing(100)
client = env.execute_async("endless")
while not list(Path(sys.argv[1]).glob("*/chk-*/_metadata")):
    time.sleep(0.05)
client.cancel()
client.get_job_execution_result().result()
"""


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("checkpoints")


@pytest.fixture(scope="module")
def cancelled(tmp_path_factory: pytest.TempPathFactory, checkpoints: Path) -> Ended:
    """Run a job that is cancelled and leaves its last checkpoint behind."""
    program = write(tmp_path_factory.mktemp("cancelled"), FAILING_AND_CANCELLED)
    return rekindle(
        *("run", "--json", "-p", "1", "-D", f"state.checkpoints.dir={checkpoints}"),
        *("-D", f"{RETENTION}=RETAIN_ON_CANCELLATION"),
        *(program, str(checkpoints)),
        REKINDLE_RESTART_STRATEGY="none",
    )


def test_a_cancelled_job_ends_the_command_with_5_and_a_failed_one_is_told(cancelled: Ended) -> None:
    assert cancelled.code == 5, cancelled.err
    failing, endless = cancelled.json()["jobs"]
    assert failing["status"] == "FAILED"
    assert "ZeroDivisionError" in failing["failure"]
    assert endless["status"] == "CANCELED"
    assert (Path(endless["checkpoint"].removeprefix("file://")) / "_metadata").exists()
    assert "was cancelled" in cancelled.json()["error"]
    assert "JobCancelledError" not in cancelled.err


UNTIL_TOLD = """\
import os, sys, time
from rekindle.common import Configuration
from rekindle.datastream import SourceFunction
from rekindle.testing import LocalEnvironment

class UntilTold(SourceFunction):
    def __init__(self, path):
        self.path = path
        self.running = True
    def run(self, ctx):
        while self.running and not os.path.exists(self.path):
            time.sleep(0.05)
        ctx.collect("told")
    def cancel(self):
        self.running = False

env = LocalEnvironment(Configuration.from_dict({"rest.enabled": "true"}))
env.add_source(UntilTold(sys.argv[1])).print()
env.execute("until told")
env.add_source(UntilTold(sys.argv[1] + " again")).print()
env.execute("until signalled")
print("went on")
"""


def test_a_detached_job_goes_on_after_the_command(
    tmp_path: Path, cancelled: Ended, checkpoints: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It starts from the newest checkpoint in a directory, of another program: all state of that is dropped."""
    assert cancelled.code == 5, cancelled.err
    monkeypatch.setenv("REKINDLE_STATE_DIR", str(tmp_path / "state"))
    told = tmp_path / "told"
    program = write(tmp_path, UNTIL_TOLD, "until_told.py")
    log = tmp_path / "job.log"
    ended = rekindle("run", "-d", "--log", str(log), "-p", "1", "-s", str(checkpoints), "-n", program, str(told))
    try:
        assert ended.code == 0, ended.err
        submitted, where, rest = ended.out.splitlines()
        job_id = submitted.removeprefix("Job has been submitted with JobID ")
        assert len(job_id) == 32
        pid = int(where.split("process ")[1].split(";")[0])
        assert where.endswith(str(log))
        assert re.fullmatch(r"Its dashboard is at http://127\.0\.0\.1:\d+/\?token=[\w-]{43}", rest)
        assert pid in all_pids()
        assert os.getsid(pid) == pid
        assert "FINISHED" not in log.read_text()
    finally:
        told.touch()
    wait_until(lambda: "[until signalled] attempt 1 runs" in log.read_text(), "its second job runs", TIMEOUT)
    os.kill(pid, signal.SIGTERM)
    wait_until(lambda: pid not in all_pids(), "the program has ended", TIMEOUT)
    assert "attempt 1 runs, from checkpoint" in log.read_text()
    assert "told\n" in log.read_text()
    assert "[until told] FINISHED" in log.read_text()
    assert "[until signalled] SIGTERM was received: the job is cancelled" in log.read_text()
    assert "went on" not in log.read_text()
    jobs = rekindle("list", "-a", "--json").json()["jobs"]
    assert [(job["job_name"], job["status"], job["why"], job["log"]) for job in jobs] == [
        ("until told", "FINISHED", None, str(log)),
        ("until signalled", "CANCELED", "SIGTERM was received", str(log)),
    ]
