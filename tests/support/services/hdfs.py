"""HDFS on the loopback: a NameNode and a DataNode, each a process of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import hdfs_native
import pytest

from support.processes import wait_until
from support.services.jars import hdfs_jars
from support.services.server_process import HOST, free_ports, start_server

JAVA_OPTIONS = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
NAME_NODE = "org.apache.hadoop.hdfs.server.namenode.NameNode"
DATA_NODE = "org.apache.hadoop.hdfs.server.datanode.DataNode"
LOGGING = """
log4j.rootLogger=WARN, console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d %p %c{1}: %m%n
"""


class Hdfs:
    """One NameNode with one DataNode.

    Attributes:
        uri: Where it is.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        names, names_http, data, data_http, data_ipc, self.free_port = free_ports(6)
        self.address = f"{HOST}:{names}"
        self.uri = f"hdfs://{self.address}"
        self._nodes: dict[str, subprocess.Popen[bytes]] = {}
        (directory / "webapps" / "hdfs").mkdir(parents=True)  # without them the nodes do not start
        (directory / "webapps" / "datanode").mkdir()
        (directory / "log4j.properties").write_text(LOGGING)
        write_settings(directory / "core-site.xml", {"fs.defaultFS": self.uri})
        write_settings(
            directory / "hdfs-site.xml",
            {
                "dfs.replication": 1,
                "dfs.namenode.name.dir": directory / "names",
                "dfs.datanode.data.dir": directory / "data",
                "dfs.namenode.rpc-address": self.address,
                "dfs.namenode.http-address": f"{HOST}:{names_http}",
                "dfs.datanode.address": f"{HOST}:{data}",
                "dfs.datanode.http.address": f"{HOST}:{data_http}",
                "dfs.datanode.ipc.address": f"{HOST}:{data_ipc}",
                "dfs.namenode.safemode.extension": 0,
                "dfs.heartbeat.interval": 1,
            },
        )

    def start(self) -> None:
        """Start both nodes, and wait until a file can be written."""
        command = self._java(NAME_NODE, "-format", "-force", "-nonInteractive")
        done = subprocess.run(command, capture_output=True, text=True, timeout=90, env=_environment())
        assert done.returncode == 0, f"the NameNode could not be formatted:\n{done.stdout}{done.stderr}"
        self.start_name_node()
        self._start(DATA_NODE)
        wait_until(self._takes_files, "HDFS takes files", timeout=120)

    def start_name_node(self) -> None:
        """Start the NameNode with the files that it knows."""
        self._start(NAME_NODE)

    def kill_name_node(self) -> None:
        """End the NameNode with SIGKILL."""
        self._end(self._nodes.pop(NAME_NODE))

    def stop(self) -> None:
        """End both."""
        for node in self._nodes.values():
            self._end(node)

    def wait(self) -> None:
        """Wait until a file can be written."""
        wait_until(self._takes_files, "HDFS takes files", timeout=120)

    def _start(self, main: str) -> None:
        log = self._directory / f"{main.rpartition('.')[2]}.log"
        self._nodes[main] = start_server(self._java(main), log, env=_environment())

    def _takes_files(self) -> bool:
        for name, node in self._nodes.items():
            if node.poll() is not None:
                log = self._directory / f"{name.rpartition('.')[2]}.log"
                raise AssertionError(f"{name} ended:\n{log.read_text(errors='replace')[-3000:]}")
        client = hdfs_native.Client(self.uri, {"dfs.client.failover.max.attempts": "1"})
        try:
            with client.create("/_probe", hdfs_native.WriteOptions(overwrite=True)) as file:
                file.write(b"x")
            return client.delete("/_probe")
        except (OSError, RuntimeError):
            return False

    def _java(self, main: str, *arguments: str) -> list[str]:
        temporary = f"-Djava.io.tmpdir={self._directory}"  # where its web server unpacks itself, and leaves it
        return ["java", *JAVA_OPTIONS, temporary, "-cp", f"{self._directory}:{hdfs_jars()}/*", main, *arguments]

    @staticmethod
    def _end(node: subprocess.Popen[bytes]) -> None:
        node.kill()
        node.wait(30)


def write_settings(path: Path, settings: Mapping[str, object]) -> None:
    """Write a configuration file of Hadoop's."""
    lines = (f"<property><name>{name}</name><value>{value}</value></property>" for name, value in settings.items())
    path.write_text("<configuration>\n" + "\n".join(lines) + "\n</configuration>\n")


@pytest.fixture(scope="session")
def hdfs_server() -> Iterator[Hdfs]:
    """Start HDFS once for all tests of the run; a test that kills a node starts it again."""
    if shutil.which("java") is None:
        pytest.skip("HDFS needs Java, and there is none on the PATH")
    if not hdfs_jars().exists():
        pytest.skip(f"the jars of HDFS are not in {hdfs_jars()}: make services fetches them with Maven")
    directory = Path(tempfile.mkdtemp(prefix="rekindle-hdfs-"))
    server = Hdfs(directory)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def hdfs(hdfs_server: Hdfs, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the URI of a directory of the test's own."""
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    return f"{hdfs_server.uri}/test-{abs(hash(request.node.nodeid)):x}"


def _environment() -> dict[str, str]:
    """Return the environment of a node: the Java options of Spark's processes are not for it."""
    return {name: value for name, value in os.environ.items() if name != "JDK_JAVA_OPTIONS"}
