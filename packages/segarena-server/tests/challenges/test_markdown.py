"""Markdown of organisers: formatting, sections, and no scripts."""

from html.parser import HTMLParser

import pytest

from segarena_server.challenges.markdown import MarkdownImage, first_paragraph, render_markdown

CAT = MarkdownImage("/challenges/cats/images/cat.png?0123", 640, 480)
ATTACKS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)><script>alert(1)</script></svg>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<style>@import 'https://evil.example/x.css'</style>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    "<div><p><b <script>alert(1)</script>>x</b></p></div>",
    "<a href='javascript:alert(1)'>x</a>",
    "<form action='https://evil.example'><button>x</button></form>",
    "<!--><img src=x onerror=alert(1)>-->",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java\tscript:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](javascript&colon;alert(1))",
    "[x](%6aavascript:alert(1))",
    "[x](<javascript:alert(1)>)",
    "[x](vbscript:msgbox(1))",
    "[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
    "[x](file:///etc/passwd)",
    "[x][1]\n\n[1]: javascript:alert(1)",
    "<javascript:alert(1)>",
    '[x](https://a.example "onmouseover=alert(1)")',
    '[x](https://a.example/"onmouseover="alert(1))',
    "![x](javascript:alert(1))",
    "![x](https://evil.example/pixel.png)",
    "![x](//evil.example/pixel.png)",
    "![x](/account/copy)",
    "![x](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+)",
    "![x](data:image/png;base64,AAAA)",
    "![x][1]\n\n[1]: https://evil.example/pixel.svg",
    '![" onerror="alert(1)](cat.png)',
    '![x](cat.png "\\" onerror=\\"alert(1)")',
    "[![x](cat.png)](javascript:alert(1))",
    "![[x](javascript:alert(1))](https://evil.example/x.png)",
    "> - [x](javascript:alert(1))\n>   - <img src=x onerror=alert(1)>",
    "| [x](javascript:alert(1)) | <script>alert(1)</script> |\n|---|---|\n| ![x](https://evil.example/x) | x |",
    "# <script>alert(1)</script>\n\n<script>alert(1)</script>",
    "```<script>alert(1)</script>\n</code></pre><script>alert(1)</script>\n```",
    '```"><img src=x onerror=alert(1)>\nx\n```',
    "<div class='scroll' tabindex='0' onfocus='alert(1)'>",
    "<table><pre>\x00<script>alert(1)</script>",
]


class Elements(HTMLParser):
    """The elements of an HTML text with their attributes."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


def whole(rendered):
    return rendered.introduction + "".join(section.html for section in rendered.sections)


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_runs_and_nothing_is_loaded_from_elsewhere(attack):
    for text in (attack, f"- > {attack}", f"# One\n\n{attack}\n\n# Two\n\n**{attack}**"):
        for tag, attributes in Elements(whole(render_markdown(text, {"cat.png": CAT}))).found:
            assert tag not in (
                "script",
                "style",
                "svg",
                "math",
                "iframe",
                "form",
                "button",
                "object",
            )
            assert not any(name.startswith("on") for name in attributes)
            assert not {"style", "srcset", "id"} & set(attributes)
            assert attributes.get("src", CAT.address) == CAT.address
            scheme, colon, _ = attributes.get("href", "").partition(":")
            is_relative = not colon or "/" in scheme or "%" in scheme
            assert is_relative or scheme.lower() in ("http", "https", "mailto"), attributes


def test_formatting_stays():
    text = "**b** *i* `c` ~~s~~ [l](https://a.example)\n\n- one\n\n3. three\n\n> q\n\n```py\nx < 1\n```"
    html = render_markdown(text).introduction
    for part in (
        "<strong>b</strong> <em>i</em> <code>c</code> <s>s</s>",
        '<a href="https://a.example" rel="noopener noreferrer">l</a>',
        "<li>one</li>",
        '<ol start="3">',
        "<blockquote>",
        '<pre tabindex="0"><code>x &lt; 1',
    ):
        assert part in html


def test_tables_scroll_and_align_without_inline_styles():
    html = render_markdown("| a | b |\n|---|--:|\n| 1 | 2 |").introduction
    assert '<div class="scroll" tabindex="0"><table>' in html
    assert '<td class="num">2</td>' in html
    assert "style" not in html


def test_headings_of_level_one_begin_sections_and_others_go_one_level_down():
    rendered = render_markdown(
        "Before.\n\n# The *data*\n\nA.\n\n## More\n\nSetext\n===\n\nB.\n\n> # Quoted"
    )
    assert rendered.introduction.strip() == "<p>Before.</p>"
    assert [(one.id, one.title) for one in rendered.sections] == [
        ("section-1", "The data"),
        ("section-2", "Setext"),
    ]
    assert "<h3>More</h3>" in rendered.sections[0].html
    assert "<h2>Quoted</h2>" in rendered.sections[1].html


def test_a_section_without_a_name_gets_a_number():
    assert render_markdown("#\n\nx").sections[0].title == "Part 1"


def test_text_without_sections_is_the_introduction():
    rendered = render_markdown("One.\n\nTwo.")
    assert rendered.introduction == "<p>One.</p>\n<p>Two.</p>\n"
    assert rendered.sections == ()
    assert render_markdown("").introduction == ""


def test_images_are_uploaded_ones_with_their_sizes_and_others_are_named():
    rendered = render_markdown(
        "![A cat](cat.png) ![A dog](dog.png) ![](https://a.example/x.png)", {"cat.png": CAT}
    )
    assert Elements(rendered.introduction).found == [
        ("p", {}),
        ("img", {"src": CAT.address, "alt": "A cat", "width": "640", "height": "480"}),
    ]
    assert "[image: A dog] [image]" in rendered.introduction
    assert rendered.missing_images == ("dog.png", "https://a.example/x.png")


def test_deep_nesting_ends():
    # The parser stops at 20 levels.
    assert 1 < whole(render_markdown(">" * 10_000 + "x")).count("<blockquote>") <= 20
    assert whole(render_markdown("[" * 5_000 + "x" + "](y)" * 5_000))


def test_the_first_paragraph_is_plain():
    assert (
        first_paragraph("# Title\n\nFind **all** [cats](https://a.example)\nhere.\n\nMore.")
        == "Find all cats here."
    )
    assert first_paragraph("\n\n") == ""
