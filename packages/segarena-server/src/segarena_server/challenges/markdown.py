"""Rendering of organisers' Markdown as HTML: formatting, tables, links and uploaded images, but no scripts.

Two defences apply, each sufficient: the parser escapes HTML in the text, and a sanitizer keeps only
the elements and attributes listed here. The pages' Content-Security-Policy is a third.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token

_TAGS = {
    *("p", "br", "hr", "blockquote", "pre", "code", "em", "strong", "s", "a", "img"),
    *("ul", "ol", "li", "h2", "h3", "h4", "h5", "h6", "div"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}
_ATTRIBUTES = {
    "a": {"href", "title"},
    "img": {"src", "alt", "title", "width", "height"},
    "ol": {"start"},
    "pre": {"tabindex"},
    "div": {"tabindex"},
}
_CLASSES = {"td": {"num"}, "th": {"num"}, "div": {"scroll"}}
_URL_SCHEMES = {"http", "https", "mailto"}
_SCROLLING_TABLE = '<div class="scroll" tabindex="0"><table>'


@dataclass(frozen=True, slots=True)
class MarkdownImage:
    """An uploaded image that a text may show.

    Attributes:
        address: URL from which pages load it.
        width: width in pixels.
        height: height in pixels.
    """

    address: str
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class MarkdownSection:
    """The part of a text below a heading of level 1.

    Attributes:
        id: id of its HTML element, unique in the text.
        title: the heading without formatting.
        html: the content below the heading, sanitized.
    """

    id: str
    title: str
    html: str


@dataclass(frozen=True, slots=True)
class RenderedMarkdown:
    """A text as sanitized HTML.

    Attributes:
        introduction: the content before the first heading of level 1.
        sections: one section for each heading of level 1; pages show several as tabs.
        missing_images: sources of images that were not uploaded, in order; the text shows their
            descriptions instead.
    """

    introduction: str
    sections: tuple[MarkdownSection, ...]
    missing_images: tuple[str, ...]


def render_markdown(
    text: str, images: Mapping[str, MarkdownImage] | None = None
) -> RenderedMarkdown:
    """Render a text as sanitized HTML, with its headings one level lower, below the title of the page.

    Args:
        text: CommonMark with tables and strikethrough; HTML in it is shown as text.
        images: images that the text may show, by name; all others are replaced by their descriptions.
    """
    tokens = _parser().parse(text)
    missing = _resolve_images(tokens, images or {})
    _move_headings_down(tokens, 1)
    addresses = {image.address for image in (images or {}).values()}
    starts = [
        number
        for number, token in enumerate(tokens)
        if token.type == "heading_open" and token.markup in ("#", "=") and token.level == 0
    ]
    sections: list[MarkdownSection] = []
    for number, start in enumerate(starts, 1):
        end = starts[number] if number < len(starts) else len(tokens)
        # A heading consists of three tokens: opening, text and closing.
        title = _plain_text(tokens[start + 1]) or f"Part {number}"
        content = _html(tokens[start + 3 : end], addresses)
        sections.append(MarkdownSection(f"section-{number}", title, content))
    introduction = tokens[: starts[0]] if starts else tokens
    return RenderedMarkdown(_html(introduction, addresses), tuple(sections), tuple(missing))


def render_prose(
    text: str,
    images: Mapping[str, MarkdownImage] | None = None,
    *,
    below: int = 1,
) -> str:
    """Render a text as one piece of sanitized HTML, with its headings `below` levels lower."""
    tokens = _parser().parse(text)
    _resolve_images(tokens, images or {})
    _move_headings_down(tokens, below)
    return _html(tokens, {image.address for image in (images or {}).values()})


def first_paragraph(text: str) -> str:
    """Return the first paragraph of a text without formatting, or "" if it has none."""
    tokens = _parser().parse(text)
    for number, token in enumerate(tokens):
        if token.type == "paragraph_open":
            paragraph = _plain_text(tokens[number + 1])
            if paragraph:
                return paragraph
    return ""


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def _resolve_images(tokens: Sequence[Token], images: Mapping[str, MarkdownImage]) -> list[str]:
    """Replace the names of images by their URLs, and unknown images by text; return the names of unknown images."""
    missing: list[str] = []
    for token in tokens:
        for child in token.children or ():
            if child.type != "image":
                continue
            source = str(child.attrs.get("src", ""))
            image = images.get(source)
            if image is None:
                missing.append(source)
                _replace_by_text(child)
            else:
                child.attrs["src"] = image.address
                # With the size, browsers can lay out the page before the image has loaded.
                child.attrs["width"] = image.width
                child.attrs["height"] = image.height
    return missing


def _replace_by_text(image: Token) -> None:
    words = _plain_text(image)
    image.type = "text"
    image.tag = ""
    image.content = f"[image: {words}]" if words else "[image]"
    image.children = None
    image.attrs = {}


def _move_headings_down(tokens: Sequence[Token], levels: int) -> None:
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1:]) + levels, 6)}"
        # The content security policy forbids inline styles; a class has the same effect.
        if token.type in ("th_open", "td_open") and "right" in str(token.attrs.pop("style", "")):
            token.attrs["class"] = "num"


def _html(tokens: Sequence[Token], addresses: set[str]) -> str:
    """Render sanitized HTML; only images with these URLs remain."""
    parser = _parser()
    raw = parser.renderer.render(tokens, parser.options, {})
    # Wide tables and code blocks scroll on their own, also with the keyboard.
    raw = raw.replace("<table>", _SCROLLING_TABLE).replace("</table>", "</table></div>")
    raw = raw.replace("<pre>", '<pre tabindex="0">')

    def keep(
        tag: str,
        attribute: str,
        value: str,
    ) -> str | None:
        if tag == "img" and attribute == "src" and value not in addresses:
            return None
        return value

    return nh3.clean(
        raw,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        allowed_classes=_CLASSES,
        attribute_filter=keep,
        url_schemes=_URL_SCHEMES,
        link_rel="noopener noreferrer",
    )


def _plain_text(token: Token) -> str:
    """Return the text of an inline token or an image, without formatting."""
    parts: list[str] = []
    for child in token.children or ():
        if child.type in ("softbreak", "hardbreak"):
            parts.append(" ")
        elif child.type == "image":
            parts.append(_plain_text(child))
        else:
            parts.append(child.content)
    return "".join(parts).strip()
