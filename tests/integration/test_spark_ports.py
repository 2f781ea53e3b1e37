"""What others on this machine get from the Spark that Rekindle starts: tasks hold secrets, and shuffles records."""

from __future__ import annotations

import os
import socket
import stat
import struct
from typing import Any

_OPEN_BLOCKS = 0
_RPC_REQUEST = 3
_RPC_RESPONSE = 4


def test_a_block_is_given_only_to_who_proves_sparks_secret(spark: Any) -> None:
    broadcast = spark.sparkContext.broadcast(["what a task holds"])
    name = f"broadcast_{broadcast._jbroadcast.id()}_piece0"
    port = int(spark.sparkContext._jsc.sc().getExecutorMemoryStatus().keys().head().rpartition(":")[2])

    answer = asked_for_block(port, spark.sparkContext.applicationId, name)

    assert answer[0] != _RPC_RESPONSE, "it has opened the block"
    assert b"SaslMessage" in answer, "it wants to be shown the secret first"


def asked_for_block(port: int, application: str, block: str) -> bytes:
    """Ask a block manager for a block, as another executor would do it, and return its answer."""

    def text(value: str) -> bytes:
        return struct.pack(">i", len(value)) + value.encode()

    body = bytes([_OPEN_BLOCKS]) + text(application) + text("driver") + struct.pack(">i", 1) + text(block)
    header = bytes([_RPC_REQUEST]) + struct.pack(">qi", 77, len(body))
    with socket.create_connection(("127.0.0.1", port), 30) as connection, connection.makefile("rb") as answers:
        connection.sendall(struct.pack(">q", 8 + len(header) + len(body)) + header + body)
        (length,) = struct.unpack(">q", answers.read(8))
        return answers.read(length - 8)


def test_its_scratch_files_are_for_the_user_only(spark: Any) -> None:
    directory = spark.sparkContext.getConf().get("spark.local.dir")
    spark.range(100).repartition(3).count()
    assert any(name.startswith("blockmgr-") for name in os.listdir(directory)), "records of shuffles lie there"
    assert stat.S_IMODE(os.stat(directory).st_mode) == 0o700
