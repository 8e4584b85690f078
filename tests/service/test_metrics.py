import json
import re
from pathlib import Path

from tests.service.serving import noise, serving

ROOT = Path(__file__).parents[2]


def test_the_dashboard_asks_for_metrics_that_there_are() -> None:
    dashboard = json.loads((ROOT / "docs" / "grafana" / "adabypass.json").read_text())
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    with serving() as client:
        client.post("/observations", json=noise(30))
        text = client.get("/metrics").text
    known = set(re.findall(r"^(\w+)", text, re.M))
    functions = {"topk", "rate", "increase", "sum", "by", "status", "series", "m", "h"}
    words = {word for expr in asked for word in re.findall(r"[a-z_]+", re.sub(r'"[^"]*"', "", expr))}
    assert words - functions <= known
    assert {"y", "yhat", "yhat_lower", "yhat_upper"} < words


def test_every_metric_is_described_once_and_has_one_type() -> None:
    with serving() as client:
        client.post("/observations", json=[*noise(30), *noise(30, "b")])
        lines = client.get("/metrics").text.splitlines()
    described = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(described) == len(set(described))
    assert {re.split(r"[{ ]", line)[0] for line in lines if not line.startswith("#")} <= set(described)
