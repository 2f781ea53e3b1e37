"""A headless Chromium, and how tests look at a page in it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.processes import wait_until

CHROMIUM, CHROMEDRIVER = shutil.which("chromium"), shutil.which("chromedriver")
MISSING = (
    "Chromium is not installed, so nobody looked at the dashboard in a browser: "
    "apt-get install chromium chromium-driver"
)
_OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
)
DESKTOP, PHONE = (1360, 860), (390, 844)


class Browser:
    """Look at pages.

    Args:
        driver: Selenium's.
        url: The address of the dashboard, as the driver of the job prints it.
    """

    def __init__(self, driver: Any, url: str) -> None:
        self._driver = driver
        self._url = url.partition("/?")[0]
        self._opened_by = f"{url}#/" if "?" in url else f"{url}/#/"

    def resize(self, size: tuple[int, int], dark: bool = False) -> None:
        """Be a screen of a size, light or dark."""
        metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False}
        self._driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self._driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})

    def go(self, place: str = "") -> None:
        """Go to a page, by what follows # in its address."""
        self._driver.get(f"{self._opened_by}{place}")
        self._opened_by = f"{self._url}/#/"

    def reload(self) -> None:
        """Load the page again."""
        self._driver.refresh()

    def run(self, script: str, *arguments: Any) -> Any:
        """Run a piece of JavaScript in the page."""
        return self._driver.execute_script(script, *arguments)

    def text(self, selector: str = "main") -> str:
        """Return the text that can be read in an element; empty if there is none."""
        return str(self.run("return document.querySelector(arguments[0])?.innerText ?? ''", selector))

    def count(self, selector: str) -> int:
        """Return how many elements there are."""
        return int(self.run("return document.querySelectorAll(arguments[0]).length", selector))

    def until(self, selector: str, *words: str) -> None:
        """Wait until an element holds some words."""
        try:
            wait_until(lambda: all(word in self.text(selector) for word in words), f"{words} in {selector}", 60)
        except AssertionError as error:
            raise AssertionError(f"{error}; there is: {self.text()[:2000]}") from None

    def click(self, selector: str) -> None:
        """Click an element."""
        self._driver.find_element("css selector", selector).click()

    def type(self, selector: str, text: str) -> None:
        """Type into a field."""
        self._driver.find_element("css selector", selector).send_keys(text)

    def press(self, *keys: str) -> str:
        """Press keys; return what has the focus then."""
        from selenium.webdriver.common.action_chains import ActionChains

        for key in keys:
            ActionChains(self._driver).send_keys(key).perform()
        found = "const e = document.activeElement; return (e.innerText || e.getAttribute('aria-label') || e.id).trim()"
        return str(self.run(found))

    def problems(self) -> list[str]:
        """Return what the console has said since it was asked last: errors, and breaches of the policy."""
        entries = self._driver.get_log("browser")
        return [entry["message"] for entry in entries if entry["level"] in ("SEVERE", "WARNING")]

    def requests(self) -> list[str]:
        """Return the addresses that were asked for since this was asked last."""
        messages = (json.loads(entry["message"])["message"] for entry in self._driver.get_log("performance"))
        sent = (each["params"] for each in messages if each["method"] == "Network.requestWillBeSent")
        return [str(each["request"]["url"]) for each in sent]

    def save(self, path: Path) -> None:
        """Make a picture of what is seen."""
        self._driver.save_screenshot(str(path))


@contextmanager
def browsing(url: str, profile: Path) -> Iterator[Browser]:
    """Start a Chromium of its own, and end it."""
    from selenium.webdriver import Chrome
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = str(CHROMIUM)
    for option in (*_OPTIONS, f"--user-data-dir={profile}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = Chrome(options=options, service=Service(str(CHROMEDRIVER)))
    try:
        yield Browser(driver, url)
    finally:
        driver.quit()
