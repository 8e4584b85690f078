"""Draw the pictures of the page in docs/images: `make page-pictures`."""

import time
from functools import partial
from pathlib import Path

from tests.browser.chromium import Browser, browsing
from tests.browser.series import load, many
from tests.cli.serving import post, started

IMAGES = Path(__file__).parents[2] / "docs" / "images"


def main() -> None:
    """Draw all pictures."""
    with browsing() as browser:
        with started("watch", "--replay", "80", "--no-open", "nile") as (_, address):
            browser.open(address)
            browser.until(lambda: browser.text("#subtitle").startswith("nile, 10"), "the Nile")
            time.sleep(1.0)
            save(browser, "page")
        with started("serve", "--period", 96) as (_, address):
            draw_one(browser, address)
        with started("serve") as (_, address):
            draw_many(browser, address)


def draw_one(browser: Browser, address: str) -> None:
    """Draw the page of one series: light, dark, and on a phone."""
    post(address, load(800, "web-1 cpu", jump=12.0, jump_at=680))
    for name, is_dark in (("page-light", False), ("page-dark", True)):
        browser.show_as(1280, 1180, is_dark=is_dark)
        shown(browser, address, "#shares li")
        save(browser, name)
    browser.show_as(390, 844, scale=2.0)
    shown(browser, address, "#shares li")
    save(browser, "page-phone")
    browser.show_as(1280, 860)


def draw_many(browser: Browser, address: str) -> None:
    """Draw the page of 200 series, and of one of them."""
    rows = many(200, 240)
    for start in range(0, len(rows), 5000):
        post(address, rows[start : start + 5000])
    shown(browser, address, "#ranking li")
    save(browser, "page-200")
    browser.show_as(1280, 860, is_dark=True)
    shown(browser, f"{address}/#/series/web-041", "#shares li")
    save(browser, "page-200-dark")
    browser.show_as(1280, 860)


def shown(browser: Browser, address: str, selector: str) -> None:
    """Open a page, and wait until it shows all."""
    browser.open(address)
    browser.until(partial(browser.run, "return document.querySelector(arguments[0])", selector), selector)
    time.sleep(1.5)


def save(browser: Browser, name: str) -> None:
    """Write what the browser shows to a file."""
    browser.driver.save_screenshot(str(IMAGES / f"{name}.png"))


if __name__ == "__main__":
    main()
