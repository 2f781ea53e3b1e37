"""Offsets of completed checkpoints, committed for a consumer group so that others can see how far a job is."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from contextlib import closing

from rekindle.connectors.kafka.kafka_admin import KafkaAdmin
from rekindle.graph.splits import Split

log = logging.getLogger(__name__)


class GroupOffsets:
    """Commit offsets in a thread of its own, the newest ones if some are waiting. Nothing depends on them.

    Args:
        group: The consumer group.
        make_admin: Makes a client.
    """

    def __init__(self, group: str, make_admin: Callable[[], KafkaAdmin]) -> None:
        self._group = group
        self._make_admin = make_admin
        self._lock = threading.Lock()
        self._waiting: Mapping[Split, int] | None = None
        self._busy = False
        self._failed = False

    def commit(self, offsets: Mapping[Split, int]) -> None:
        """Have offsets committed, soon; returns at once."""
        with self._lock:
            self._waiting = offsets
            begins, self._busy = not self._busy, True
        if begins:
            threading.Thread(target=self._run, name=f"kafka-offsets-{self._group}").start()

    def _run(self) -> None:
        while True:
            with self._lock:
                offsets, self._waiting = self._waiting, None
                if offsets is None:
                    self._busy = False
                    return
            self._commit(offsets)

    def _commit(self, offsets: Mapping[Split, int]) -> None:
        try:
            with closing(self._make_admin()) as admin:
                admin.commit(self._group, offsets)
            self._failed = False
        except Exception as error:  # whatever it is, the job does without
            level = logging.DEBUG if self._failed else logging.WARNING
            self._failed = True
            log.log(
                level,
                "the offsets of a checkpoint were not committed for consumer group %r, which only those miss who watch "
                "the group: the job has them in its checkpoints. %s",
                self._group,
                error,
            )
