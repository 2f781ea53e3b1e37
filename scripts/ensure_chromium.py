"""Installs Debian's Chromium for the tests of the dashboard, where there is none and that is allowed.

make test runs this. Without Chromium nothing fails: those tests are skipped, and the summary names them.
"""

from __future__ import annotations

import shutil
import sys

from debian_packages import become_root, install

PACKAGES = ("chromium", "chromium-driver", "fonts-dejavu-core")
PROGRAMS = ("chromium", "chromedriver")


def main() -> int:
    """Check, and install if need be."""
    if all(map(shutil.which, PROGRAMS)):
        return 0
    prefix = become_root()
    if prefix is None:
        print("There is no Chromium, so the tests of the dashboard in a browser are skipped. To have them run:")
        print(f"\n    sudo sh -c 'apt-get update && apt-get install --yes {' '.join(PACKAGES)}'\n")
        return 0
    print("Installing Chromium for the tests of the dashboard with apt-get", flush=True)
    failure = install(prefix, PACKAGES)
    if failure is not None:
        print(f"{failure}\nThe tests of the dashboard in a browser are skipped.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
