"""Options of Flink's commands that mean a Flink cluster, and what to use in their place."""

from __future__ import annotations

import re
from collections.abc import Iterable

_JOB = (
    "jobs on this machine are found automatically, and a job elsewhere with --jobmanager HOST:PORT (-m), the address "
    "of its REST interface"
)
_SPARK = "Spark's master says where a job runs: -D spark.master=yarn"
_SETTING = "set it as a Spark setting: -D"
_FILES = "give -D python.files=PATH,PATH, or call env.add_python_file(PATH) in the program"

_INSTEAD: dict[tuple[str, ...], str] = {
    ("-yid", "--yarnapplicationId"): f"There are no Flink YARN applications here: {_JOB}.",
    ("-yD",): "Use -D KEY=VALUE.",
    ("-m", "--jobmanager"): f"Programs are not submitted to a cluster, they run in a process here: {_SPARK}.",
    ("-t", "--target", "-e", "--executor"): f"There is no target to choose: {_SPARK} (or k8s://..., local[4]).",
    ("-yjm", "--yarnjobManagerMemory"): f"The driver is a Spark process: {_SETTING} spark.driver.memory=2g.",
    ("-ytm", "--yarntaskManagerMemory"): f"Slots run on Spark's executors: {_SETTING} spark.executor.memory=4g.",
    ("-ys", "--yarnslots"): f"Slots run on Spark's executors: {_SETTING} spark.executor.cores=4.",
    ("-yqu", "--yarnqueue"): f"The queue is Spark's: {_SETTING} spark.yarn.queue=NAME.",
    ("-ynm", "--yarnname"): "A job has the name that env.execute(NAME) gives it, or -D pipeline.name=NAME.",
    ("-yd", "--yarndetached"): "Use --detached (-d).",
    ("-yj", "--yarnjar", "-yt", "--yarnship"): f"Nothing has to be shipped: {_SPARK}. For Python files, {_FILES}.",
    ("-ynl", "--yarnnodeLabel"): f"Nodes are Spark's: {_SETTING} spark.yarn.executor.nodeLabelExpression=LABEL.",
    ("-yat", "--yarnapplicationType", "-yz", "--yarnzookeeperNamespace", "-yh", "--yarnhelp", "-yq", "--yarnquery"): (
        f"There are no Flink YARN applications here: {_SPARK}."
    ),
    ("-z", "--zookeeperNamespace"): "High availability needs no ZooKeeper: -D high-availability.cluster-id=NAME.",
    ("-pyfs", "--pyFiles"): f"To ship Python files, {_FILES}.",
    ("-pyarch", "--pyArchives"): f"To ship archives, {_SETTING} spark.archives=PATH.",
    ("-pyreq", "--pyRequirements"): "Packages are those of the Python that Spark's executors run.",
    ("-pyexec", "--pyExecutable"): "To choose the Python that runs functions, give -D python.executable=PATH.",
    ("-pyclientexec", "--pyClientExecutable"): "A program runs in the Python that runs this command.",
    ("-c", "--class", "-C", "--classpath"): "Programs are in Python: there is no class to run, and no class path.",
    ("--shutdownOnAttachedExit",): "A job ends with its program, unless that was started with --detached (-d).",
}
_OF = {option: advice for options, advice in _INSTEAD.items() for option in options}
_YARN_PROPERTY = re.compile(r"-yD.")


def advice_for(arguments: Iterable[str], unknown: str) -> str | None:
    """Return what to use in place of an option of Flink's; None if it is not one of them.

    Args:
        arguments: Those of the command.
        unknown: The option that was not understood: it, or what it begins with.
    """
    for argument in arguments:
        option = "-yD" if _YARN_PROPERTY.match(argument) else argument.partition("=")[0]
        if option in _OF and _same(option, unknown):
            return f"Flink's option {option} is not known here. {_OF[option]}"
    return None


def _same(option: str, unknown: str) -> bool:
    """Return whether what was not understood is this option, or a letter of it: -yid may read as -y -i -d."""
    letters = len(unknown) == 2 and unknown[0] == "-" and option.startswith("-y") and unknown[1] in option
    return letters or option.startswith(unknown) or option.replace("-", "").lower() == unknown.replace("-", "").lower()
