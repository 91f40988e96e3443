"""A page as a browser would read it, and what holds for every page there is (spec 01, Pages)."""

from html.parser import HTMLParser

from foyer.exchange.ports import Answer
from foyer.pages.assets import ASSETS

POLICY = {
    "default-src 'none'",
    "style-src 'self'",
    "img-src 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
}


class Document(HTMLParser):
    """What a browser would make of a page: its elements with their attributes, and its text."""

    VOID = frozenset(("meta", "link", "img", "br", "input"))

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(answer.content.decode("utf-8"))
        self.close()
        assert not self.open, "every element is closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    @property
    def links(self) -> list[str | None]:
        return [attributes["href"] for tag, attributes in self.elements if tag == "a"]


def values(answer: Answer, name: bytes) -> list[bytes]:
    return [value for key, value in answer.fields if key == name]


def assert_is_page(answer: Answer, *, forms: int = 0) -> Document:
    """Spec 01, Pages: for every page there is. `forms` is how many it has, all to this origin."""
    assert values(answer, b"content-type") == [b"text/html; charset=utf-8"]
    assert values(answer, b"x-content-type-options") == [b"nosniff"]
    assert values(answer, b"cache-control") == [b"no-store"]
    assert values(answer, b"referrer-policy") == [b"no-referrer"]
    (policy,) = values(answer, b"content-security-policy")
    assert set(policy.decode().split("; ")) == POLICY
    document = Document(answer)
    tags = [tag for tag, _ in document.elements]
    assert answer.content.startswith(b"<!doctype html>")
    assert ("html", {"lang": "en"}) in document.elements
    assert all(tags.count(tag) == 1 for tag in ("title", "main", "header", "h1"))
    assert not {"script", "style", "iframe", "base"} & set(tags)
    assert tags.count("form") == forms
    for tag, attributes in document.elements:
        assert not [name for name in attributes if name == "style" or name.startswith("on")]
        assert tag != "img" or "alt" in attributes
        assert tag != "form" or (attributes["action"] or "").startswith("/_foyer/")
        for name in ("src", "href"):
            source = attributes.get(name)
            if tag != "a" and source is not None:
                assert source.encode() in ASSETS
    return document
