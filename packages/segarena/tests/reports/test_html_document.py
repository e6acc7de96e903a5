import base64
import hashlib
import re

import pytest
from jinja2 import UndefinedError

from segarena.reports.html_document import document, macros, templates

SCENES = "segarena.systems.scenes.page"


def statistics(title):
    return document(SCENES, "statistics.html", title=title, sheets=[], charts={})


def test_what_a_template_prints_is_escaped():
    page = statistics("<script>alert(1)</script>")
    assert "<script>alert" not in page
    assert "<h1>&lt;script&gt;alert(1)&lt;/script&gt;</h1>" in page


def test_a_value_that_is_missing_is_an_error_and_no_empty_place():
    with pytest.raises(UndefinedError, match="sheets"):
        document(SCENES, "statistics.html", title="x", charts={})


def test_only_the_script_of_a_page_may_run_on_it():
    assert "script-src" not in statistics("x")
    page = document(
        SCENES, "review.html", scripts=("review.js",), title="x", name="x", counted="", general=[], left_out=0,
        annotations=[],
    )  # fmt: skip
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page


def test_packages_have_templates_of_their_own_and_the_shared_ones():
    names = templates(SCENES).list_templates()
    assert {"review.html", "document.html"} <= set(names)
    assert "review.html" not in templates("segarena.reports").list_templates()


def test_macros_are_functions_that_return_escaped_html():
    html = macros("segarena.reports", "photographs.html").lead("<b>")
    assert "its &lt;b&gt;s" in html
