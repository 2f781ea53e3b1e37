"""A socket cannot go back: what it sent and no checkpoint holds is gone with the slot, and nothing comes twice."""

from __future__ import annotations

import select
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from rekindle.datastream.connectors.file_system import FileSink
from support.balances import environment, read_output
from support.paced_cluster import PacedCluster
from support.processes import wait_until

LINES = 2_000


class LineServer:
    """Send each line once, to who connected last: a killed process hangs up, and a slot of this one does not."""

    def __init__(self) -> None:
        self.server = socket.create_server(("127.0.0.1", 0))
        self.server.settimeout(60)
        self.connections = 0
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self) -> None:
        lines = iter(range(LINES))
        line = next(lines)
        while True:
            client, _ = self.server.accept()
            self.connections += 1
            with client, suppress(ConnectionError):
                while not select.select([self.server], [], [], 0.0005)[0]:
                    client.sendall(f"{line}\n".encode())
                    if line == LINES - 1:
                        return
                    line = next(lines)


@pytest.fixture
def lines() -> Iterator[LineServer]:
    server = LineServer()
    yield server
    server.thread.join(60)
    server.server.close()


def test_no_line_comes_twice_though_a_slot_dies(lines: LineServer, local_cluster: PacedCluster, tmp_path: Path) -> None:
    output = tmp_path / "out"
    env = environment(local_cluster, str(tmp_path / "checkpoints"))
    text = env.socket_text_stream("127.0.0.1", lines.server.getsockname()[1]).uid("socket")
    text.sink_to(FileSink.for_row_format(str(output)).build()).uid("sink")
    master = env._submit("lines", None)
    wait_until(lambda: master.result.done() or (output.exists() and read_output(str(output))), "output is committed")
    assert not master.result.done(), "the job was over before it could be killed: the test proves nothing"
    local_cluster.kill_slot(0)
    master.result.result(120)
    assert lines.connections == 2
    found = Counter(read_output(str(output)))
    assert found[str(LINES - 1)] == 1, "the job went on to the end"
    assert {line for line, count in found.items() if count > 1} == set()
