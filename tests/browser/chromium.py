"""Chromium without a window, and what is asked of a page in it."""

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.common.by import By

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
)  # fmt: skip
AXE = Path(__file__).with_name("axe.min.js")
WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
"""
SECONDS = 20.0


class Browser:
    """A browser of its own, which notes what its console says.

    Parameters
    ----------
    folder : Path
        Of its profile.
    """

    def __init__(self, folder: Path) -> None:
        options = webdriver.ChromeOptions()
        options.binary_location = str(CHROMIUM)
        for flag in (*FLAGS, f"--user-data-dir={folder}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(str(DRIVER)))
        self.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
        self.show_as(1280, 860)

    def show_as(self, width: int, height: int, *, is_dark: bool = False, scale: float = 1.0) -> None:
        """Set the size of the window, and whether the system is dark."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})

    def open(self, address: str) -> None:
        """Load a page anew."""
        self.driver.get("about:blank")
        self.driver.get_log("browser")
        self.driver.get(address)

    def run(self, script: str, *arguments: object) -> Any:
        """Return what a script returns."""
        return self.driver.execute_script(script, *arguments)

    def text(self, selector: str) -> str:
        """Return the text of an element as it is in the document."""
        return str(self.run("return document.querySelector(arguments[0])?.textContent ?? ''", selector))

    def texts(self, selector: str) -> list[str]:
        """Return the texts of all elements of a kind."""
        found: list[str] = self.run(
            "return [...document.querySelectorAll(arguments[0])].map((each) => each.textContent)", selector
        )
        return found

    def click(self, selector: str) -> None:
        """Click an element, as a person would."""
        self.driver.find_element(By.CSS_SELECTOR, selector).click()

    def type(self, selector: str, *keys: str) -> None:
        """Send keys to an element."""
        self.driver.find_element(By.CSS_SELECTOR, selector).send_keys(*keys)

    def until(self, is_done: Callable[[], Any], what: str) -> Any:
        """Wait until something holds."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            found = is_done()
            if found:
                return found
            time.sleep(0.05)
        raise AssertionError(f"after {SECONDS:g} s still not: {what}; the page says: {self.text('#status')}")

    def picture(self) -> str:
        """Return what is drawn in the chart."""
        return str(self.run("return document.querySelector('#chart canvas')?.toDataURL() ?? ''"))

    def complaints(self) -> list[str]:
        """Return errors of the console since the page was opened, and violations of its policy."""
        said = [each["message"] for each in self.driver.get_log("browser") if each["level"] in ("SEVERE", "WARNING")]
        return [*said, *self.run("return window.violations ?? []")]

    def barriers(self) -> list[str]:
        """Return what axe-core finds that keeps people out, of serious or critical impact."""
        self.run(AXE.read_text())
        found = self.driver.execute_async_script(
            "const done = arguments[arguments.length - 1];"
            "axe.run(document, {resultTypes: ['violations']}).then((found) => done(JSON.stringify(found.violations)))"
        )
        return [
            f"{each['id']}: {each['nodes'][0]['html'][:200]} {each['nodes'][0].get('failureSummary')}"
            for each in json.loads(found)
            if each["impact"] in ("serious", "critical")
        ]


@contextmanager
def browsing() -> Iterator[Browser]:
    """Yield a browser, and close it."""
    with tempfile.TemporaryDirectory(prefix="chromium", ignore_cleanup_errors=True) as folder:
        browser = Browser(Path(folder))
        try:
            yield browser
        finally:
            browser.driver.quit()
