"""Check the site that was built: every link and picture within it leads somewhere, and nothing comes from elsewhere.

.venv/bin/python tools/check_site.py build/docs
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

OWN = ("generated/", "genindex", "search", "py-modindex")


class Page(HTMLParser):
    """What a page links to, what it loads, and the places in it that can be linked to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.places: set[str] = {"", "top"}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect addresses and places."""
        given = dict(attrs)
        if given.get("id"):
            self.places.add(str(given["id"]))
        if tag == "a" and given.get("href"):
            self.links.append(str(given["href"]))
        address = given.get("src") or (given.get("href") if tag == "link" else None)
        is_loaded = tag in ("img", "script", "source", "iframe") or given.get("rel") in ("stylesheet", "preload")
        if address and is_loaded:
            self.loaded.append(address)


def errors(root: Path) -> list[str]:
    """Return in words what is wrong with the site in a folder."""
    pages = {path.resolve(): Page(path) for path in root.rglob("*.html") if "_static" not in path.parts}
    found = []
    for path, page in pages.items():
        name = path.relative_to(root.resolve())
        found += [f"{name} loads {each} from elsewhere" for each in page.loaded if urlsplit(each).netloc]
        for link in [*page.links, *(each for each in page.loaded if not urlsplit(each).netloc)]:
            if urlsplit(link).scheme or urlsplit(link).netloc:
                continue
            address, place = urldefrag(link)
            target = (path.parent / unquote(address.split("?")[0])).resolve() if address else path
            if not target.exists():
                found.append(f"{name} links to {link}, which is not there")
            elif target in pages and unquote(place) not in pages[target].places:
                found.append(f"{name} links to {link}, but there is no such place")
    linked = {
        (path.parent / unquote(urldefrag(link)[0])).resolve() for path, page in pages.items() for link in page.links
    }
    for path in pages:
        place = str(path.relative_to(root.resolve()))
        if path not in linked and not place.startswith(OWN) and place != "index.html":
            found.append(f"{place} is linked from nowhere")
    return found


if __name__ == "__main__":
    wrong = errors(Path(sys.argv[1]))
    print("\n".join(wrong), file=sys.stderr)
    sys.exit(bool(wrong))
