"""What a slot is told when its process is started, by whom, and what the process answers.

Spark's Python workers start slots, and import no more than this for it.
"""

from __future__ import annotations

import msgspec

REGISTERED = b"registered"
"""What the starting process says on its standard output when its slot has registered with the job master."""


class SlotDeployment(msgspec.Struct, frozen=True):
    """Start a slot. ``job`` is a pickled ``SlotJob``, read only after ``sys_path`` is in place.

    What it restores, it is told when it is to open, see :class:`rekindle.runtime.wire.messages.OpenJob`.
    """

    attempt: int
    slot: int
    secret: bytes
    master_host: str
    master_port: int
    listen_tcp: bool
    sys_path: list[str]
    heartbeat_ms: int
    orphan_timeout_ms: int
    job: bytes
