from pathlib import Path

import pytest

from adabypass import Forecaster, Stream
from adabypass.service.keeper import FIELDS, LEVEL, QUANTILES
from adabypass.service.limits import Limits
from tests.service.serving import noise, serving


def test_answers_are_those_of_a_stream() -> None:
    rows = noise(60)
    with serving() as client:
        found = client.post("/observations", json=rows).json()["answers"]
    with Stream(
        None, Forecaster(lags=1), key="id", time="time", fields=FIELDS, level=LEVEL, quantiles=QUANTILES
    ) as stream:
        expected = [answer.to_dict() for answer in stream.learn(rows)]
    assert [{name: each[name] for name in expected[0]} for each in found] == expected
    assert {each["status"] for each in found} == {"learned"}


def test_lines_and_single_objects_are_learned_as_lists_are() -> None:
    rows = noise(5)
    lines = "\n".join(str(row).replace("'", '"') for row in rows)
    with serving() as one, serving() as other, serving() as third:
        listed = one.post("/observations", json=rows).json()["answers"]
        as_lines = other.post("/observations", content=lines, headers={"content-type": "application/x-ndjson"})
        singly = [third.post("/series/a/observations", json={"time": r["time"], "y": r["y"]}).json() for r in rows]
    assert as_lines.json()["answers"] == listed
    assert [each["answers"][0] for each in singly] == listed


def test_a_retry_is_answered_as_the_first_time_and_learned_once() -> None:
    rows = noise(30)
    with serving() as client:
        first = client.post("/observations", json=rows).json()
        again = client.post("/observations", json=rows[10:]).json()
        late = client.post("/observations", json={"id": "a", "time": 3.5, "y": 1.0}).json()
    assert (again["learned"], again["repeated"]) == (0, 20)
    strip = [{**each, "status": ""} for each in first["answers"][10:]]
    assert [{**each, "status": ""} for each in again["answers"]] == strip
    assert late["answers"] == [{"id": "a", "time": 3.5, "y": 1.0, "status": "late"}]


def test_an_idempotency_key_makes_observations_without_times_harmless_to_send_again() -> None:
    body, headers = [{"id": "a", "y": 1.0}, {"id": "a", "y": 2.0}], {"idempotency-key": "first"}
    with serving() as client:
        answers = [client.post("/observations", json=body, headers=headers).text for _ in range(2)]
        assert answers[0] == answers[1]
        assert client.get("/series/a/answers").json()["answers"][-1]["number"] == 2
        other = client.post("/observations", json=body[:1], headers=headers)
    assert (other.status_code, other.json()["error"]) == (422, "key_was_used")


def test_a_request_whose_answer_was_lost_in_a_crash_is_not_learned_twice(tmp_path: Path) -> None:
    body, headers = [{"id": "a", "y": 1.0}, {"id": "a", "y": 2.0}], {"idempotency-key": "first"}
    with serving(tmp_path) as client:
        before = client.post("/observations", json=body, headers=headers).json()
        history = client.app.keeper.history  # type: ignore[attr-defined]
        history._file.execute("UPDATE keys SET body=NULL")  # as if it was killed before
    with serving(tmp_path) as client:
        after = client.post("/observations", json=body, headers=headers).json()
        assert [each["number"] for each in after["answers"]] == [1, 2]
        assert [each["y"] for each in after["answers"]] == [each["y"] for each in before["answers"]]
        assert client.get("/readyz").json() == {"status": "ready"}
        assert client.app.keeper.stream.n_learned == 2  # type: ignore[attr-defined]


def test_all_is_there_after_a_restart(tmp_path: Path) -> None:
    rows = noise(40)
    with serving(tmp_path) as client:
        client.put("/series/a", json={"title": "Outdoor temperature", "unit": "°C"})
        client.post("/observations", json=rows[:20])
        paths = ("/series?sort=anomaly&spark=1", "/series/a", "/series/a/answers", "/series/a/forecast?horizon=3")
        before = [client.get(path).json() for path in paths]
    with serving(tmp_path) as client:
        assert [client.get(path).json() for path in paths] == before
        assert client.post("/observations", json=rows).json()["learned"] == 20


def test_answers_that_were_not_written_down_come_again_when_the_stream_is_resumed(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        client.post("/observations", json=noise(30))
        keeper = client.app.keeper  # type: ignore[attr-defined]
        expected = client.get("/series/a/answers").json()
        keeper.history._file.execute("DELETE FROM answers WHERE number > 12")
        keeper.stream._abandon()  # as if it was killed
    with serving(tmp_path) as client:
        assert client.get("/series/a/answers").json() == expected


def test_when_answers_cannot_be_written_nothing_is_learned_and_a_restart_has_them(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        client.post("/observations", json=noise(10))
        history = client.app.keeper.history  # type: ignore[attr-defined]
        history._file.execute("PRAGMA query_only=ON")  # as a full disk
        assert client.post("/observations", json=noise(20)).status_code == 503
        assert client.get("/readyz").status_code == 503
        assert client.post("/observations", json=noise(30)).json()["error"] == "not_ready"
    with serving(tmp_path) as client:
        assert len(client.get("/series/a/answers").json()["answers"]) == 20
        assert client.post("/observations", json=noise(30)).json()["learned"] == 10


def test_a_forecast_has_the_steps_levels_and_quantiles_that_were_asked_for() -> None:
    with serving() as client:
        client.post("/observations", json=noise(50))
        found = client.get("/series/a/forecast?horizon=4&levels=0.8&quantiles=0.01,0.99").json()
    assert found["time"] == [50.0, 51.0, 52.0, 53.0]
    assert {"mean", "sd", "lower_80", "upper_80", "quantile_1", "quantile_99"} < found.keys()
    assert all(len(found[name]) == 4 for name in ("mean", "lower_80", "upper_80"))


def test_next_steps_are_forecast_on_request() -> None:
    with serving() as client:
        client.post("/observations", json=noise(50))
        rows = [*noise(1, start=50), *noise(30, "b", seed=1)]
        found = client.post("/observations?horizon=3", json=rows).json()
        assert set(found["forecasts"]) == {"a", "b"}
        assert found["forecasts"]["a"] == client.get("/series/a/forecast?horizon=3").json()


def test_what_has_changed_comes_first_in_the_ranking_and_is_listed() -> None:
    quiet, loud = noise(300, "quiet"), noise(300, "loud", seed=1)
    for row in loud[-3:]:
        row["y"] += 12.0
    with serving() as client:
        client.post("/observations", json=[row for pair in zip(quiet, loud, strict=True) for row in pair])
        ranked = client.get("/series?sort=anomaly").json()["series"]
        changes = client.get("/series/loud/changes").json()["changes"]
        searched = client.get("/series?search=QUI").json()
    assert [each["id"] for each in ranked] == ["loud", "quiet"]
    assert ranked[0]["unusual"] > 1.5
    assert ranked[1]["unusual"] < 1.3
    assert "level" in {each["change"] for each in changes}
    assert (searched["n_series"], searched["n_found"]) == (2, 1)


def test_what_was_learned_is_explained() -> None:
    with serving(forecaster=Forecaster()) as client:
        client.put("/series/new")
        assert client.get("/series/new/explain").json()["error"] == "not_ready"
        client.post("/observations", json=noise(60))
        found = client.get("/series/a/explain").json()
    assert abs(found["level"]["median"] - 10.0) < 1.0
    assert abs(sum(found["shares"].values()) - 1.0) < 1e-9


def test_a_series_can_be_forgotten_and_begin_anew(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        client.post("/observations", json=noise(20))
        assert client.delete("/series/a").status_code == 204
        assert client.get("/series/a").json()["error"] == "unknown_series"
        assert client.delete("/series/a").status_code == 404
        assert client.post("/observations", json=noise(20)).json()["learned"] == 20


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400), (b"\xff", 400), (b"[" * 100_000, 400), (b"1" * 5000, 400), (b'{"id":"a","y":NaN}', 400),
        (b"7", 422), (b'[{"id":"a"}]', 422), (b'{"y":1}', 422), (b'{"id":"a","y":"1"}', 422),
        (b'{"id":"a","y":true}', 422), (b'{"id":"a","y":1e999}', 422), (b'{"id":"","y":1}', 422),
        (b'{"id":"a\\u0000","y":1}', 422), (b'{"id":"\\ud800","y":1}', 422), (b'{"id":["a"],"y":1}', 422),
        (b'{"id":"a","y":1,"time":"yesterday"}', 422), (b'{"id":"a","y":1,"time":true}', 422),
        (b'{"id":"a","y":1,"value":1}', 422), (b'{"id":"a","y":1,"time":"9999-99-99"}', 422),
    ],
)  # fmt: skip
def test_a_bad_body_is_refused_in_words_and_changes_nothing(body: bytes, status: int) -> None:
    with serving() as client:
        answer = client.post("/observations", content=body, headers={"content-type": "application/json"})
        assert answer.status_code == status
        assert set(answer.json()) == {"error", "message"}
        assert client.get("/series").json()["n_series"] == 0


@pytest.mark.parametrize(
    "path",
    [
        "/series/a/forecast?horizon=0", "/series/a/forecast?horizon=1001", "/series/a/forecast?horizon=x",
        "/series/a/forecast?levels=2", "/series/a/forecast?levels=nan", "/series/a/answers?limit=-1",
        "/series?sort=y", "/events?after=x", "/events?series=[",
    ],
)  # fmt: skip
def test_a_bad_query_is_refused(path: str) -> None:
    with serving() as client:
        client.post("/observations", json=noise(20))
        assert client.get(path).status_code in (400, 422)


@pytest.mark.parametrize("kind", ["text/plain", "", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_only_json_is_read(kind: str) -> None:
    with serving() as client:
        answer = client.post("/observations", content=b'{"id":"a","y":1}', headers={"content-type": kind})
    assert answer.status_code == 415


def test_limits_are_refused_in_words() -> None:
    with serving(limits=Limits(max_body=300, max_rows=3, max_series=2, max_horizon=5, rate=1e6)) as client:
        assert client.post("/observations", json=noise(4)).json()["error"] == "too_many_rows"
        assert client.post("/observations", json=noise(40)).json()["error"] == "too_large"
        rows = [{"id": id, "y": 1.0} for id in "abc"]
        assert client.post("/observations", json=rows).json()["error"] == "too_many_series"
        assert client.post("/observations", json=rows[:2]).json()["learned"] == 2
        assert client.put("/series/new", json={}).json()["error"] == "too_many_series"
        assert client.get("/series/a/forecast?horizon=6").status_code == 422
    with serving(limits=Limits(rate=2.0)) as client:
        found = [client.get("/series") for _ in range(10)]
        refused = next(each for each in found if each.status_code == 429)
        assert refused.json()["error"] == "too_many_requests"
        assert int(refused.headers["retry-after"]) >= 1


@pytest.mark.parametrize("id", ["a/b", "../../etc/passwd", "<script>alert(1)</script>", "a b", "ä", "%2F", "."])
def test_any_id_can_be_asked_for(tmp_path: Path, id: str) -> None:
    with serving(tmp_path) as client:
        client.post("/observations", json=noise(3, id))
        quoted = "".join(f"%{byte:02X}" for byte in id.encode())
        assert client.get(f"/series/{quoted}").json()["id"] == id
        assert client.delete(f"/series/{quoted}").status_code == 204
    assert {each.name for each in tmp_path.iterdir()} == {"lock", "commits", "stream.sqlite", "answers.sqlite"}


def test_times_of_two_kinds_are_refused() -> None:
    with serving() as client:
        client.post("/observations", json=noise(3))
        assert "needs one" in client.post("/observations", json={"id": "a", "y": 1.0}).json()["message"]
        dated = {"id": "a", "y": 1.0, "time": "2026-01-01"}
        assert "cannot be compared" in client.post("/observations", json=dated).json()["message"]


def test_the_metrics_name_forecasts_as_grafana_does() -> None:
    with serving(limits=Limits(max_gauges=1)) as client:
        client.post("/observations", json=[*noise(30, 'a"\\b'), *noise(5, "b")])
        text = client.get("/metrics").text
    for name in ("y", "yhat", "yhat_lower", "yhat_upper"):
        assert f'\n{name}{{series="a\\"\\\\b"}} ' in text
    assert "\nadabypass_serve_learned_total 35\n" in text
    assert "\nadabypass_serve_series_without_gauges 1\n" in text


def test_the_description_has_every_path_and_can_be_read() -> None:
    with serving() as client:
        described = client.get("/openapi.json").json()
        page = client.get("/docs")
        for path, operations in described["paths"].items():
            assert path in page.text
            for method in set(operations) - {"parameters"}:
                wanted = path.replace("{id}", "a")
                if wanted != "/events":
                    assert client.request(method, wanted).status_code not in (405, 500), (method, path)
    assert "<script" not in page.text
