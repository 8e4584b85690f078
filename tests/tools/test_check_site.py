"""The check of the site finds what leads nowhere, and what is loaded from elsewhere."""

from pathlib import Path

from tools.check_site import errors


def test_a_site_whose_links_lead_somewhere_passes(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text('<h1 id="top">A</h1><a href="b.html#place">b</a><a href="https://x.org">x</a>')
    (tmp_path / "b.html").write_text('<p id="place"></p><a href="index.html">a</a>')
    assert errors(tmp_path) == []


def test_what_is_wrong_is_named(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text('<a href="gone.html">x</a><a href="b.html#no">y</a><img src="no.png">')
    (tmp_path / "b.html").write_text('<script src="https://x.org/s.js"></script>')
    (tmp_path / "orphan.html").write_text("<p>alone</p>")
    assert sorted(errors(tmp_path)) == [
        "b.html loads https://x.org/s.js from elsewhere",
        "index.html links to b.html#no, but there is no such place",
        "index.html links to gone.html, which is not there",
        "index.html links to no.png, which is not there",
        "orphan.html is linked from nowhere",
    ]
