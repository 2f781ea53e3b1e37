"""The numbering job, with Spark started by the environment: restartable.py EVENTS DIRECTORY [key=value …].

With ``frame=DIRECTORY`` the events come from text files that Spark reads, through a session of the program's own.
"""

from __future__ import annotations

import sys

from rekindle.common import Configuration
from rekindle.runtime.spark.session import create_session
from support.balances import numbering_job
from support.ha_jobs import NAME, ha_environment, ha_program


def main() -> None:
    count, directory, *settings = sys.argv[1:]
    options = dict(setting.split("=", 1) for setting in settings)
    pause = float(options.pop("pause", "0"))
    files = options.pop("frame", None)
    if files is None:
        ha_program(int(count), directory, options, None, pause).execute(NAME)
        return
    session = create_session(Configuration(), parallelism=2)
    env = ha_environment(directory, options, session)
    lines = session.readStream.option("maxFilesPerTrigger", 1).text(files)
    events = env.from_data_frame(lines, uid="files", bounded=True).map(lambda row: int(row.value))
    numbering_job(env, int(count), f"{directory}/out", source=events)
    env.execute(NAME)


if __name__ == "__main__":
    main()
