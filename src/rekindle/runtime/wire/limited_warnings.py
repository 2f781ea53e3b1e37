"""What goes wrong again and again, told a few times only."""

from __future__ import annotations

import logging
import threading
from collections import Counter


class LimitedWarnings:
    """Count troubles by kind, and log each kind when its count reaches 1, 10, 100, …

    Strangers decide how often some troubles happen; how much is logged is not theirs to decide.

    Args:
        where: What has the troubles, for the log.
        log: The logger of whoever notes them.
    """

    def __init__(self, where: str, log: logging.Logger) -> None:
        self._where = where
        self._log = log
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    def note(self, what: str) -> None:
        """Count a trouble.

        Args:
            what: Its kind, in words. There must be few kinds: each is kept.
        """
        with self._lock:
            self._counts[what] += 1
            count = self._counts[what]
        if count == 1:
            self._log.warning("%s: %s (more of this is counted, and told of now and then)", self._where, what)
        elif count == 10 ** (len(str(count)) - 1):
            self._log.warning("%s: %s (%d times so far)", self._where, what, count)
