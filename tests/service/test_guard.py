import pytest

from adabypass.errors import ParameterError
from adabypass.service.guard import is_loopback
from adabypass.service.server import make_access
from tests.service.serving import TOKEN, serving

OURS = {"authorization": f"Bearer {TOKEN}"}


def test_nothing_is_answered_without_the_token() -> None:
    with serving(token=TOKEN) as client:
        paths = ("/series", "/events", "/metrics", "/series/a/forecast", "/nothing")
        assert [client.get(path).status_code for path in paths] == [401] * len(paths)
        assert client.post("/observations", json={"id": "a", "y": 1}).status_code == 401
        for wrong in ("", "Bearer", "Bearer x", f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer \xff"):
            assert client.get("/series", headers={b"authorization": wrong.encode("latin-1")}).status_code == 401
        assert client.get("/series", headers=OURS).status_code == 200
        assert client.get("/healthz").status_code == client.get("/").status_code == 200


def test_a_page_shows_the_token_once_and_has_a_cookie_then() -> None:
    with serving(token=TOKEN) as client:
        assert client.post("/session", json={"token": "wrong"}).status_code == 401
        answer = client.post("/session", json={"token": TOKEN})
        cookie = answer.headers["set-cookie"].lower()
        assert answer.status_code == 204
        assert all(word in cookie for word in ("httponly", "samesite=strict"))
        assert TOKEN not in cookie
        assert client.get("/series").status_code == 200
        cross = {"sec-fetch-site": "cross-site"}
        assert client.post("/observations", json={"id": "a", "y": 1}, headers=cross).status_code == 403
        assert client.delete("/session").status_code == 204
        assert client.get("/series").status_code == 401


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "", "127.0.0.1.evil.example:80", "[::2]"])
def test_another_host_is_refused(host: str) -> None:
    with serving() as client:
        assert client.get("/series", headers={"host": host}).status_code == 421
        assert client.get("/series", headers={"host": "localhost:8765"}).status_code == 200


def test_a_page_of_another_site_can_neither_read_nor_send() -> None:
    cross = {"sec-fetch-site": "cross-site", "origin": "https://evil.example"}
    with serving() as client:
        assert client.get("/series", headers=cross).status_code == 403
        assert client.post("/observations", json={"id": "a", "y": 1}, headers=cross).status_code == 403
        assert client.get("/", headers=cross).status_code == 200  # a link to the page
        assert "access-control-allow-origin" not in client.options("/series").headers


def test_every_answer_has_the_security_headers() -> None:
    with serving(token=TOKEN) as client:
        for path in ("/", "/series", "/nothing", "/healthz", "/page/app.js"):
            headers = client.get(path).headers
            assert "default-src 'none'" in headers["content-security-policy"]
            assert "unsafe" not in headers["content-security-policy"]
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["cache-control"] in ("no-store", "no-cache")


@pytest.mark.parametrize("path", ["/page/../__init__.py", "/page/%2e%2e/__init__.py", "/page/", "/page/nothing.js"])
def test_only_files_of_the_page_are_served(path: str) -> None:
    with serving() as client:
        assert client.get(path).status_code == 404


def test_other_machines_need_a_token() -> None:
    with pytest.raises(ParameterError, match="--token-file"):
        make_access("0.0.0.0", None)
    with pytest.raises(ParameterError, match="16 or more"):
        make_access("0.0.0.0", "short")
    access = make_access("0.0.0.0", TOKEN, ("Wall.example",))
    assert "wall.example" in access.hosts
    assert "0.0.0.0" not in access.hosts
    assert make_access("127.0.0.1", None).token is None


def test_loopback_addresses_are_known() -> None:
    assert [is_loopback(each) for each in ("127.0.0.1", "127.9.9.9", "::1", "localhost")] == [True] * 4
    assert [is_loopback(each) for each in ("0.0.0.0", "::", "192.168.0.1", "example.org")] == [False] * 4
