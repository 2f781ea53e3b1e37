"""Servers of tests outlive the thread that started them, and not the run."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from support.driver import python_path
from support.processes import all_pids, wait_until

STARTER = """
import sys, threading
from pathlib import Path
from support.services.server_process import start_server

def start():
    print(start_server(["sleep", "600"], Path(sys.argv[1])).pid, flush=True)

starting = threading.Thread(target=start)
starting.start()
starting.join()
print("the thread is over", flush=True)
sys.stdin.read()
"""


def test_a_server_ends_though_the_run_of_tests_was_killed(tmp_path: Path) -> None:
    environment = {"PYTHONPATH": python_path(Path(__file__).parents[1])}
    command = [sys.executable, "-c", STARTER, str(tmp_path / "log")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as run:
        assert run.stdout is not None
        server = int(run.stdout.readline())
        assert run.stdout.readline() == b"the thread is over\n"
        assert server in all_pids()
        run.send_signal(signal.SIGKILL)
    wait_until(lambda: server not in all_pids(), "the server is gone", timeout=30)
