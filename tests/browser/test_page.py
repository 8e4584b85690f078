"""The page in Chromium: what a person sees and does."""

import json
import socket
import subprocess
import sys
import threading
import time
import urllib.error
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from adabypass import Forecaster, load_dataset
from tests.browser.chromium import CHROMIUM, DRIVER, Browser, browsing
from tests.browser.series import load, many
from tests.cli.serving import ENVIRONMENT, address_of, post, started

if CHROMIUM is None or DRIVER is None:
    pytest.skip("chromium and chromedriver are not installed: make setup-browser", allow_module_level=True)

HOSTILE = '<img src=x onerror="window.hacked=1"></script><script>window.hacked=1</script>'
TIMES = "#series details[data-table=answers] tbody td:first-child"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as found:
        yield found


@pytest.fixture(scope="module")
def one() -> Iterator[str]:
    """The address of a service with one series, to which nothing is added."""
    with started("serve") as (_, address):
        post(address, load(500, jump=14.0, jump_at=430))
        yield address


@pytest.fixture(scope="module")
def wall() -> Iterator[str]:
    """The address of a service with 200 series."""
    with started("serve", "--model", "lag") as (_, address):
        rows = many(200, 60)
        for start in range(0, len(rows), 4000):
            post(address, rows[start : start + 4000])
        yield address


def is_live(browser: Browser) -> bool:
    return browser.text("#status-text") == "live" and browser.picture() != "" and browser.text("#last") != "–"


def test_data_arrive_and_the_fan_moves(browser: Browser) -> None:
    rows = load(120)
    with started("serve") as (_, address):
        browser.open(address)
        browser.until(lambda: "Waiting" in browser.text("#empty"), "a page that waits")
        post(address, rows[:100])
        browser.until(lambda: is_live(browser) and browser.text("#next") != "–", "the first picture")
        time.sleep(1.0)
        before = browser.text("#last"), browser.text("#next"), browser.picture()
        post(address, rows[100:101])
        browser.until(lambda: browser.text("#last") == str(rows[100]["y"]).rstrip("0").rstrip("."), "the newest value")
        browser.until(lambda: browser.text("#next") != before[1] and browser.picture() != before[2], "a fan that moves")
        browser.until(lambda: "observations learned" in browser.text("#subtitle"), "what was learned")
        browser.until(lambda: "Z" not in browser.text("#sentence") != "", "a sentence for screen readers")
        assert browser.complaints() == []


def test_a_jump_is_marked_and_explained(browser: Browser, one: str) -> None:
    browser.open(one)
    browser.until(lambda: "the level changed" in browser.text("#events"), "the change in the list")
    browser.until(lambda: "held" in browser.text("#coverage-text"), "the coverage")
    browser.until(lambda: len(browser.texts("#shares li")) == 5, "the shares")
    assert browser.run("return document.querySelectorAll('#pit rect').length") == 10
    assert browser.complaints() == []


def test_the_ranking_follows_what_happens(browser: Browser) -> None:
    every = [load(80, name, seed=i) for i, name in enumerate("abcd")]
    with started("serve", "--model", "lag") as (_, address):
        post(address, [each[i] for i in range(79) for each in every])
        browser.open(address)
        browser.until(lambda: len(browser.texts("#ranking li")) == 4, "four series")
        last = browser.texts("#ranking .item-name")[-1][:1]
        post(address, {**every["abcd".index(last)][79], "y": 200.0})
        browser.until(lambda: browser.texts("#ranking .item-name")[0].startswith(last), "the last to be the first")
        assert browser.run("return document.querySelector('#ranking .item').dataset.heat") == "2"
        browser.click("#ranking .item")
        browser.until(lambda: browser.text("#title") == last, "the series that was clicked")
        assert browser.driver.current_url.endswith(f"#/series/{last}")
        browser.type("body", Keys.ESCAPE)
        browser.until(lambda: browser.run("return document.body.dataset.view") == "list", "the list again")
        assert browser.complaints() == []


def test_it_can_be_zoomed_moved_and_followed_again(browser: Browser, one: str) -> None:
    browser.open(one)
    browser.until(lambda: is_live(browser), "the picture")
    time.sleep(1.0)

    def is_following() -> bool:
        return bool(browser.run("return document.getElementById('follow').getAttribute('aria-pressed')") == "true")

    acts: list[Callable[[], None]] = [
        lambda: browser.click("[data-zoom=in]"), lambda: browser.type("#chart", "+"),
        lambda: browser.type("#chart", Keys.ARROW_LEFT), lambda: drag(browser),
    ]  # fmt: skip
    for act in acts:
        before = browser.picture()
        act()
        browser.until(partial(is_other, browser, before), "another part")
        assert not is_following()
    browser.type("#chart", "0")
    browser.until(is_following, "following again")
    before = browser.picture()
    browser.click("[data-window='100']")
    browser.until(lambda: browser.picture() != before, "fewer observations")
    browser.run(
        "const choice = document.querySelector('#horizon'); choice.value = '96';"
        "choice.dispatchEvent(new Event('change'))"
    )
    browser.run("document.querySelector('[data-table=forecast]').open = true")
    browser.until(lambda: len(browser.texts("[data-table=forecast] tbody tr")) == 96, "a longer forecast")
    assert browser.complaints() == []


def is_other(browser: Browser, before: str) -> bool:
    return browser.picture() != before


def drag(browser: Browser) -> None:
    """Draw a range in the picture with the mouse."""
    box = browser.run(
        "const b = document.querySelector('.u-over').getBoundingClientRect(); return [b.left, b.top, b.width]"
    )
    y = box[1] + 60
    for kind, share in (("mousePressed", 0.3), ("mouseMoved", 0.5), ("mouseMoved", 0.6), ("mouseReleased", 0.6)):
        place = {"type": kind, "x": box[0] + share * box[2], "y": y, "button": "left", "buttons": 1, "clickCount": 1}
        browser.driver.execute_cdp_cmd("Input.dispatchMouseEvent", place)


def test_a_pause_keeps_the_picture_and_loses_nothing(browser: Browser) -> None:
    rows = load(60)
    with started("serve") as (_, address):
        post(address, rows[:50])
        browser.open(address)
        browser.until(lambda: is_live(browser), "the picture")
        browser.type("body", " ")
        before = browser.text("#last")
        post(address, rows[50:])
        browser.until(lambda: browser.text("#pause") == "Resume (10 new)", "a count of what has come")
        assert (browser.text("#last"), browser.text("#status-text")) == (before, "paused")
        browser.click("#pause")
        browser.run("document.querySelector('[data-table=answers]').open = true")
        browser.until(lambda: len(browser.texts(TIMES)) == 50 and "14:45" in browser.texts(TIMES)[0], "all rows")
        assert browser.complaints() == []


def test_after_a_kill_it_says_so_and_goes_on_without_a_gap_or_a_double(browser: Browser, tmp_path: Path) -> None:
    rows = load(45)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = serve_at(port, tmp_path)
    address = f"http://127.0.0.1:{port}"
    try:
        post(address, rows[:10])
        browser.open(address)
        browser.until(lambda: is_live(browser), "the picture")
        browser.run("document.querySelector('[data-table=answers]').open = true")
        sender = threading.Thread(target=send_all, args=(address, rows))
        sender.start()
        for _ in range(3):
            time.sleep(0.4)
            process.kill()
            process.wait()
            browser.until(lambda: "connection lost" in browser.text("#status-text"), "that the connection is lost")
            process = serve_at(port, tmp_path)
            browser.until(lambda: browser.text("#status-text") == "live", "that it is back")
        sender.join(60)
        expected = [each["time"].replace("T", " ").replace("Z", " UTC").replace(" 00:00:00 UTC", "") for each in rows]
        browser.until(lambda: len(browser.texts(TIMES)) >= len(rows), "all rows")
        time.sleep(1.0)
        shown = [each.replace(" 00:00:00 UTC", "") for each in browser.texts(TIMES)]
        assert [each.strip() for each in shown[::-1]] == [each.strip() for each in expected]
        assert browser.run("return window.violations") == []
    finally:
        process.kill()
        process.wait()


def serve_at(port: int, folder: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "adabypass", "serve", "--model", "lag", "--port", port, "--state", folder]
    process = subprocess.Popen([*map(str, command)], stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    address_of(process)
    assert process.stderr is not None
    process.stderr.close()
    return process


def send_all(address: str, rows: list[dict[str, Any]]) -> None:
    """Send rows one after another, each until it is acknowledged."""
    for row in rows:
        while True:
            try:
                post(address, row)
                break
            except (urllib.error.URLError, OSError, json.JSONDecodeError):
                time.sleep(0.05)
        time.sleep(0.06)


def test_names_are_shown_as_text(browser: Browser) -> None:
    with started("serve", "--model", "lag") as (_, address):
        post(address, [*load(40, HOSTILE), *load(40, "b", seed=1)])
        for id in (HOSTILE, "b"):
            browser.open(f"{address}/#/series/{browser.run('return encodeURIComponent(arguments[0])', id)}")
            browser.until(lambda: is_live(browser), "the series")
            browser.run(
                "return fetch(`/series/${encodeURIComponent(arguments[0])}`, {method: 'PUT', headers: "
                "{'content-type': 'application/json'},"
                "body: JSON.stringify({title: arguments[1], unit: arguments[1]})})",
                id, HOSTILE,
            )  # fmt: skip
            browser.driver.refresh()
            browser.until(lambda: browser.text("#title") == HOSTILE, "its title as text")
            browser.until(lambda: HOSTILE in browser.text("#ranking"), "its name in the list as text")
            assert browser.run("return window.hacked") is None
            assert browser.complaints() == []


def test_the_policy_stops_code_that_is_not_the_page_s(browser: Browser, one: str) -> None:
    """The test above would see a violation: this one makes some."""
    browser.open(one)
    browser.until(lambda: is_live(browser), "the picture")
    browser.run("const s = document.createElement('style'); s.textContent = 'b{}'; document.head.append(s)")
    browser.until(lambda: browser.run("return window.violations.length") > 0, "a violation")
    assert (
        browser.run("try { document.body.innerHTML = '<b>'; return 'ran' } catch (e) { return e.name }") == "TypeError"
    )


@pytest.mark.parametrize("is_dark", [False, True])
def test_nobody_is_kept_out(browser: Browser, one: str, wall: str, is_dark: bool) -> None:
    browser.show_as(1280, 860, is_dark=is_dark)
    try:
        browser.open(one)
        browser.until(lambda: is_live(browser) and len(browser.texts("#shares li")) == 5, "the series")
        browser.run("document.querySelectorAll('details').forEach((each) => { each.open = true })")
        time.sleep(1.0)
        assert browser.barriers() == []
        browser.open(wall)
        browser.until(lambda: len(browser.texts("#ranking li")) == 200, "the wall")
        assert browser.barriers() == []
        browser.open(f"{wall}/docs")
        assert browser.barriers() == []
    finally:
        browser.show_as(1280, 860)


def test_it_fits_a_phone(browser: Browser, one: str, wall: str) -> None:
    browser.show_as(390, 844, scale=2.0)
    try:
        for address, selector in (
            (one, "#chart canvas"),
            (wall, "#ranking li"),
            (f"{wall}/#/series/web-041", "canvas"),
        ):
            browser.open(address)
            browser.until(partial(browser.run, "return document.querySelector(arguments[0])", selector), selector)
            time.sleep(0.5)
            assert browser.run("return document.documentElement.scrollWidth") <= 390
            assert browser.complaints() == []
    finally:
        browser.show_as(1280, 860)


def test_series_can_be_searched(browser: Browser, wall: str) -> None:
    browser.open(wall)
    browser.until(lambda: len(browser.texts("#ranking li")) == 200, "the wall")
    browser.type("body", "/")
    browser.type("#search", "-11")
    browser.until(lambda: len(browser.texts("#ranking li")) == 10, "ten of them")
    assert browser.complaints() == []


def test_a_token_is_asked_for_once(browser: Browser, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("0123456789abcdef\n")
    with started("serve", "--token-file", token) as (_, address):
        browser.open(address)
        browser.until(lambda: browser.run("return document.body.dataset.view") == "login", "the question")
        assert browser.barriers() == []
        browser.type("#token", "wrong", Keys.ENTER)
        browser.until(lambda: "not the token" in browser.text("#login-error"), "that it is wrong")
        browser.run("document.querySelector('#token').value = ''")
        browser.type("#token", "0123456789abcdef", Keys.ENTER)
        browser.until(lambda: "Waiting" in browser.text("#empty"), "the page")
        browser.driver.refresh()
        browser.until(lambda: browser.run("return document.body.dataset.view") == "empty", "the page at once")


def test_a_file_shows_a_trace_and_a_forecast_without_a_server(browser: Browser, tmp_path: Path) -> None:
    nile = load_dataset("nile")
    forecaster = Forecaster(lags=1)
    trace = forecaster.run(nile.y)
    trace.to_html(tmp_path / "trace.html", time=nile.time[trace.first :], title=HOSTILE)
    forecaster.forecast(24).to_html(tmp_path / "next.html", y=nile.y, title="The Nile")
    for name, title in (("trace", HOSTILE), ("next", "The Nile")):
        browser.open((tmp_path / f"{name}.html").as_uri())
        browser.until(partial(is_drawn, browser, title), "the picture")
        assert browser.text("#last").startswith("10.97")
        assert browser.run("return window.hacked") is None
        assert browser.complaints() == []


def is_drawn(browser: Browser, title: str) -> bool:
    return browser.text("#title") == title and len(browser.picture()) > 20_000
