"""Runs a program as a driver process of its own, tagged and with a temp directory of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from support.processes import tag_environment, tagged_pids, wait_until

_PROGRAMS = Path(__file__).parent / "programs"
WORKERS = Path(__file__).parent / "workers"


def python_path(*first: Path) -> str:
    """Return a PYTHONPATH that begins with some directories and goes on with what there is."""
    return os.pathsep.join([*map(str, first), *filter(None, [os.environ.get("PYTHONPATH")])])


class Driver:
    """A driver process, everything it starts, and where it puts temporary files."""

    def __init__(
        self,
        program: str,
        *arguments: str,
        environment: dict[str, str] | None = None,
        through: Sequence[str] = (),
        executable: str = sys.executable,
    ) -> None:
        self.tag = uuid.uuid4().hex
        self.temporary = Path(tempfile.mkdtemp(prefix="driver-test-"))
        self._output = open(self.temporary.with_suffix(".log"), "w+")  # noqa: SIM115 - closed in close
        self.process = subprocess.Popen(
            [executable, *through, str(_PROGRAMS / program), *arguments],
            stdout=self._output,
            stderr=subprocess.STDOUT,
            env={
                **tag_environment(self.tag),
                "TMPDIR": str(self.temporary),
                "PYTHONPATH": python_path(Path(__file__).parent.parent),
                "_JAVA_OPTIONS": f"-Djava.io.tmpdir={self.temporary} -XX:-UsePerfData",
                "SPARK_LOCAL_DIRS": str(self.temporary),
                **(environment or {}),
            },
            start_new_session=True,
        )

    def output(self) -> str:
        """Return what the driver printed so far."""
        self._output.flush()
        return Path(self._output.name).read_text()

    def wait(self, timeout: float = 180.0) -> int:
        """Wait for the end of the driver; give its exit code."""
        return self.process.wait(timeout)

    def assert_nothing_is_left(self, timeout: float = 10.0) -> None:
        """Require that all processes of the driver are gone soon, and all temporary files with them."""
        wait_until(lambda: not tagged_pids(self.tag), f"processes are gone; {self._describe()}", timeout)
        wait_until(lambda: not self.leftovers(), f"temp files are gone; {self.leftovers()}", timeout)

    def leftovers(self) -> list[str]:
        """List the temporary files that are there, but for libraries that a JVM unpacked before it was killed."""
        return sorted(name for name in os.listdir(self.temporary) if not name.startswith("lib"))

    def _describe(self) -> str:
        from support.processes import command_line

        return str([(pid, command_line(pid)[:150]) for pid in tagged_pids(self.tag)])

    def close(self) -> None:
        """Kill what still runs, and clean up."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for pid in tagged_pids(self.tag):
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                continue
        self._output.close()
        os.unlink(self._output.name)
        subprocess.run(["rm", "-rf", str(self.temporary)], check=True)


@contextmanager
def driver(
    program: str,
    *arguments: str,
    environment: dict[str, str] | None = None,
    through: Sequence[str] = (),
    executable: str = sys.executable,
) -> Iterator[Driver]:
    """Run a program of ``tests/support/programs``; print its output if the test fails.

    Args:
        program: Its name.
        arguments: Its arguments.
        environment: Variables to be added.
        through: What Python runs it by, such as ``-m rekindle.cli run``.
        executable: What runs it in the place of Python.
    """
    running = Driver(program, *arguments, environment=environment, through=through, executable=executable)
    try:
        yield running
    except BaseException:
        print(running.output()[-8000:])
        raise
    finally:
        running.close()
