"""Sections of other packages: shown to the roles they are for; only their stylesheets and modules are served."""

import re

import pytest

from segarena_server.extensions.site_sections import (
    site_sections,
    static_files,
    strip_comment_lines,
)

STYLES = r'href="(/static/studio/[0-9a-f]+/studio.css)"'


def test_the_way_to_a_room_is_shown_to_those_whom_it_is_for(served):
    assert 'href="/studio"' not in served.client().get("/").text
    assert 'href="/studio"' in served.person("Rooms Visitor", "participant").get("/").text


@pytest.mark.long
def test_a_file_is_kept_for_ever_at_the_address_of_this_version_alone(served):
    page = served.person("Rooms Reader", "participant").get("/studio")
    address = re.search(STYLES, page.text)[1]
    given = served.client().get(address)
    assert given.text == static_files(site_sections()["studio"].package)["studio.css"]
    assert "immutable" in given.headers["cache-control"]
    earlier = served.client().get(re.sub("/[0-9a-f]{8,}/", "/0123456789abcdef/", address))
    assert (earlier.text, earlier.headers["cache-control"]) == (given.text, "no-cache")


@pytest.mark.parametrize(
    "name", ["../room.py", "..%2froom.py", "room.py", "nothing.js", "", "%00.js", "../studio.css"]
)
def test_nothing_else_is_given(served, name):
    assert served.client().get(f"/static/studio/1/{name}").status_code == 404
    assert served.client().get(f"/static/nowhere/1/{name or 'studio.css'}").status_code == 404


def test_what_pages_load_travels_compressed_to_browsers_that_take_it(served):
    page = served.person("Rooms Packer", "participant").get("/studio").text
    address = re.search(STYLES, page)[1]
    plain = served.client().get(address, headers={"accept-encoding": "identity"})
    packed = served.client().get(address, headers={"accept-encoding": "gzip, br"})
    assert plain.text == packed.text
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) < int(plain.headers["content-length"])


def test_comment_lines_of_modules_are_not_sent():
    module = """// What this is.
import { a } from "./a.js"; // why

/**
 * Do it.
 * @param {number} one
 */
export function act(one) {
  /* a step */
  const other = /** @type {string} */ (a(one));
  /* begins here
     and ends */ return `
// not a comment ${other} \\`
/* nor this */`;
}
"""
    sent = """
import { a } from "./a.js"; // why





export function act(one) {

  const other = /** @type {string} */ (a(one));

 return `
// not a comment ${other} \\`
/* nor this */`;
}
"""
    assert strip_comment_lines(module) == sent


def test_modules_arrive_without_comment_lines(served):
    for address in ("/static/studio/1/editor/scene.js", "/static/reports/viewer/viewport.js"):
        text = served.client().get(address).text
        assert "export " in text
        assert not [line for line in text.splitlines() if line.lstrip().startswith(("//", "/**"))]
