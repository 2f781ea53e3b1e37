"""Which settings the JVM of Spark is given when it is started, and which only when it runs.

What it is started with stands on its command line, which every account of the machine can read. Secrets are told to it
afterwards, when the session is made: over its own connection, which only this program has.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from rekindle.config.secrets import has_secret

log = logging.getLogger(__name__)

_FILE_INSTEAD = {
    "spark.driver.extraJavaOptions": "a file that the options name, or into JDK_JAVA_OPTIONS",
    "spark.driver.defaultJavaOptions": "a file that the options name, or into JDK_JAVA_OPTIONS",
    "spark.jars.repositories": "an Ivy settings file, and name that in spark.jars.ivySettings",
}
"""What Spark needs before it runs, and where a secret of it may be put instead."""


def for_the_start(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings without those that are secret; warn of those that Spark has to put on a command line."""
    start = {}
    for key, value in settings.items():
        if key in _FILE_INSTEAD:
            start[key] = value
            if has_secret(key, value):
                log.warning(
                    "%s holds a secret, and Spark takes it from a command line, where every account of this machine "
                    "can read it: put the secret into %s",
                    *(key, _FILE_INSTEAD[key]),
                )
        elif not has_secret(key, value):
            start[key] = value
    return start
