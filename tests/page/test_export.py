import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adabypass import Forecaster, PassiveAggressive, load_dataset
from adabypass.errors import ShapeError
from adabypass.page import asset, assets
from adabypass.page.export import MODULES, self_contained


def data_of(page: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found is not None
    return json.loads(found[1])


def test_a_trace_is_written_with_all_that_the_page_shows(tmp_path: Path) -> None:
    nile = load_dataset("nile")
    trace = Forecaster(lags=1).run(nile.y)
    trace.to_html(tmp_path / "nile.html", time=nile.time[trace.first :], title="</script><b>The Nile")
    page = (tmp_path / "nile.html").read_text()
    found = data_of(page)
    assert found["title"] == "</script><b>The Nile"
    assert len(found["answers"]) == len(trace)
    last, low, high = found["answers"][-1], *trace.predictive.interval(0.9)
    assert (last["time"], last["y"], last["mean"]) == (1284, nile.y[-1], trace.mean[-1])
    assert (last["lower_90"], last["upper_90"]) == pytest.approx((low[-1], high[-1]))
    changed = [each["number"] - 1 for each in found["answers"] if each["change"]]
    assert changed == [each.found_at for each in trace.changes()]


def test_a_forecast_is_written_after_its_past(tmp_path: Path) -> None:
    model = Forecaster()
    y = np.sin(np.arange(60) / 5.0)
    y[7] = np.nan
    model.learn(y)
    ahead = model.forecast(horizon=5)
    ahead.to_html(tmp_path / "next.html", y=y)
    found = data_of((tmp_path / "next.html").read_text())
    assert [each["y"] for each in found["answers"]][6:9] == [y[6], None, y[8]]
    assert found["forecast"]["at"] == [61.0, 62.0, 63.0, 64.0, 65.0]
    assert found["forecast"]["mean"] == ahead.mean.tolist()


def test_points_have_no_intervals(tmp_path: Path) -> None:
    trace = Forecaster(PassiveAggressive(), lags=1).run([1.0, 2.0, 3.0, 2.0])
    trace.to_html(tmp_path / "a.html")
    assert "lower_90" not in data_of((tmp_path / "a.html").read_text())["answers"][-1]
    with pytest.raises(ShapeError, match="rows to show"):
        trace.to_html(tmp_path / "a.html", time=[1])


def test_only_the_page_s_own_code_can_run() -> None:
    page = self_contained({"title": "a", "answers": [], "forecast": None, "learned": None})
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert "default-src 'none'" in policy[1]
    assert "unsafe" not in policy[1]
    for text in re.findall(r"<(?:style|script|script type=\"module\")>(.*?)</(?:style|script)>", page, re.S):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy[1]
    assert not re.findall(r'(?:src|href)="/', page.replace('href="/docs"', ""))


def test_modules_can_stand_in_one_script() -> None:
    """No two have the same name at their top, and none needs what stands below it."""
    names: list[str] = []
    for module in MODULES:
        text = asset(module)[0].decode()
        for used, source in re.findall(r'^import \{ (.*) \} from "\./(.*)";$', text, re.M):
            assert MODULES.index(source) < MODULES.index(module)
            assert {each.strip() for each in used.split(",")} <= set(names)
        assert len(re.findall(r"^import ", text, re.M)) == len(re.findall(r'^import \{ .* \} from ".*";$', text, re.M))
        names += re.findall(r"^(?:export )?(?:async )?(?:function|class|const|let) (\$?\w*)", text, re.M)
    assert len(names) == len(set(names))


def test_the_page_loads_nothing_from_elsewhere_and_makes_no_html_of_text() -> None:
    for name in assets():
        text = asset(name)[0].decode()
        if name.startswith("uPlot"):
            continue
        assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg)", text), name
        assert not re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|style=\"|onclick=", text)


def test_the_licence_of_what_is_vendored_is_there() -> None:
    assert b"1.6.32" in asset("uPlot.min.js")[0][:80]
    assert b"MIT" in asset("uPlot-LICENSE.txt")[0]
