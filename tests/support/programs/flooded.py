"""The numbering job under few descriptors, which says where it listens: flooded.py EVENTS DIRECTORY.

It waits in its middle for a line to read, and loses a slot then.
"""

from __future__ import annotations

import logging
import os
import resource
import signal
import sys
import time

from support.balances import environment, numbering_job
from support.processes import wait_until
from support.slot_processes import slot_processes


def main() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (1_024, 1_024))
    logging.basicConfig(level=logging.INFO)
    count, directory = int(sys.argv[1]), sys.argv[2]
    told = f"{directory}/told"

    def wait_in_the_middle(event: int, context: object) -> None:
        while event == count // 2 and not os.path.exists(told):
            time.sleep(0.01)

    with slot_processes() as cluster:
        env = environment(None, f"{directory}/checkpoints", rekindle_epoch_max__records="500")
        numbering_job(env, count, f"{directory}/out", wait_in_the_middle)
        master = cluster.submit(env)
        wait_until(lambda: cluster.directory is not None, "it runs")
        assert cluster.pool is not None
        assert cluster.directory is not None
        print(cluster.pool._server.port, *(slot.unix_name for slot in cluster.directory.slots), flush=True)
        sys.stdin.readline()
        os.kill(master.slot_pids()[0], signal.SIGKILL)
        with open(told, "w"):
            pass
        master.result.result(120)
        print("attempts", len(cluster.attempts), flush=True)


if __name__ == "__main__":
    main()
