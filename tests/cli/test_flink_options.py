"""Options of Flink's commands that mean a Flink cluster: a sentence says what to use here."""

from __future__ import annotations

import pytest

from support.command_line import rekindle_here


@pytest.mark.parametrize(
    "command", ["list", "savepoint 5f1c", "stop 5f1c", "cancel 5f1c", "checkpoints 5f1c", "dispose", "history ."]
)
@pytest.mark.parametrize("option", ["-yid", "--yarnapplicationId"])
def test_a_yarn_application_is_named_by_nobody_here(command: str, option: str) -> None:
    ended = rekindle_here(*command.split(), option, "application_1_2")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(
        f"error: Flink's option {option} is not known here. There are no Flink YARN applications"
    )
    assert "--jobmanager HOST:PORT" in ended.err


@pytest.mark.parametrize(
    ("options", "instead"),
    [
        ("-yD key=value", "Use -D KEY=VALUE"),
        ("-yDkey=value", "Use -D KEY=VALUE"),
        ("-m yarn-cluster", "-D spark.master=yarn"),
        ("-t yarn-per-job", "-D spark.master=yarn"),
        ("--target=yarn-application", "-D spark.master=yarn"),
        ("-e yarn-per-job", "-D spark.master=yarn"),
        ("-yjm 1024m", "-D spark.driver.memory=2g"),
        ("--yarntaskManagerMemory 1g", "-D spark.executor.memory=4g"),
        ("-ys 4", "-D spark.executor.cores=4"),
        ("-yqu fast", "-D spark.yarn.queue=NAME"),
        ("-ynm orders", "-D pipeline.name=NAME"),
        ("-yd", "Use --detached (-d)"),
        ("-pyfs more.py", "-D python.files=PATH"),
        ("--pyFiles more.py", "-D python.files=PATH"),
        ("-pyexec /usr/bin/python3", "-D python.executable=PATH"),
        ("-z /ns", "high-availability.cluster-id"),
        ("-c Main", "Programs are in Python"),
        ("--shutdownOnAttachedExit", "--detached (-d)"),
    ],
)
def test_run_says_what_to_use_instead(options: str, instead: str) -> None:
    ended = rekindle_here("run", *options.split(), "orders.py")
    assert ended.code == 2
    assert ended.err.startswith("error: Flink's option ")
    assert instead in ended.err


def test_other_mistakes_are_told_as_before() -> None:
    assert "No such option: -x" in rekindle_here("run", "-x", "orders.py").err
    assert "Invalid value for '--parallelism' / '-p'" in rekindle_here("run", "-p", "many", "orders.py").err
    assert "No such option: --yarn" in rekindle_here("list", "--yarn").err


def test_what_follows_the_program_is_the_programs_own() -> None:
    ended = rekindle_here("run", "-x", "orders.py", "-yid", "application_1_2")
    assert "No such option: -x" in ended.err


def test_yarn_cluster_is_no_address() -> None:
    ended = rekindle_here("list", "-m", "yarn-cluster")
    assert ended.code == 2
    assert ended.err.startswith("error: 'yarn-cluster' is not the address of a job")


def test_json_has_the_same_sentence() -> None:
    ended = rekindle_here("stop", "-yid", "application_1_2", "5f1c", "--json")
    assert ended.json()["exit_code"] == 2
    assert ended.json()["error"].startswith("Flink's option -yid is not known here.")
