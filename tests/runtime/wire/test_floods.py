"""Strangers who connect without end, to every port of a job whose processes may have few descriptors."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections import deque
from contextlib import suppress
from pathlib import Path

from support.balances import judge
from support.driver import python_path
from support.processes import wait_until

COUNT = 4_000
HELD = 1_200  # more than the job may have descriptors
TESTS = Path(__file__).parents[2]


class Flood:
    """Connects to a port again and again, and holds as many connections as it can."""

    def __init__(self, *addresses: str | tuple[str, int]) -> None:
        self.opened = 0
        self._addresses = addresses
        self._held: deque[socket.socket] = deque()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Flood:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()
        for sock in self._held:
            sock.close()

    def _run(self) -> None:
        while not self._over.is_set():
            for address in self._addresses:
                sock = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)
                sock.settimeout(1)
                self._held.append(sock)
                with suppress(OSError):  # what was listening there may be gone
                    sock.connect(address)
                    self.opened += 1
            while len(self._held) > HELD:
                self._held.popleft().close()


def test_a_job_loses_a_slot_and_ends_well_while_strangers_flood_all_its_ports(tmp_path: Path) -> None:
    command = [sys.executable, str(TESTS / "support" / "programs" / "flooded.py"), str(COUNT), str(tmp_path)]
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    environment = {**os.environ, "PYTHONPATH": python_path(TESTS)}
    with subprocess.Popen(command, text=True, env=environment, **streams) as driver:
        try:
            assert driver.stdout is not None
            port, *sockets = driver.stdout.readline().split()
            with Flood(("127.0.0.1", int(port))) as control, Flood(*("\0" + name for name in sockets)) as data:
                wait_until(lambda: min(control.opened, data.opened) > HELD, "the job is flooded")
                output, log = driver.communicate("kill\n", timeout=120)
        finally:
            driver.kill()
    assert driver.returncode == 0, log[-4_000:]
    assert output.split() == ["attempts", "2"]
    verdict = judge(COUNT, str(tmp_path / "out"))
    assert (verdict.lost, verdict.duplicated, verdict.wrong_sums) == (0, 0, 0)
    strange = [line for line in log.splitlines() if "port" in line or "socket" in line]
    assert any("control port" in line for line in strange)
    assert len(strange) <= 60, log[-4_000:]
    assert len(log.splitlines()) <= 200, log[-4_000:]
