"""Page of the components: it exists on a studio of one machine, and is usable with assistive technology."""

import pytest
from at_work import Served

from segarena_studio.pages.components import list_tokens
from segarena_studio.standalone import open_standalone


@pytest.fixture(scope="module")
def link(tmp_path_factory):
    """The link of a studio on this machine."""
    site, key = open_standalone(tmp_path_factory.mktemp("studio"), 0, workers=0)
    served = Served(site)
    yield f"{served.address}/studio/open?key={key}", served.address
    served.stop()


def test_tokens_are_those_of_the_light_theme():
    tokens = list_tokens()
    assert tokens["paper"] == "#fdfdfb"
    assert tokens["o23"] == "#481e0c"
    assert tokens["text-m"].endswith("rem")


@pytest.mark.long
@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (390, "dark")])
def test_components_have_no_barriers_and_fit_the_window(
    open_warm_page, barriers, page_widths, link, width, scheme
):
    page = open_warm_page(link[0], width=width, scheme=scheme)
    page.goto(f"{link[1]}/studio/components")
    assert page.locator(".state-chip").first.inner_text() == "clean"
    # A state has no border that would make it look like a button; a button has one.
    border = "(one) => getComputedStyle(one).borderTopWidth"
    assert page.locator(".state-chip").first.evaluate(border) == "0px"
    assert page.locator("#buttons button.danger").first.evaluate(border) == "1px"
    assert barriers(page) == {}
    assert max(page_widths(page).values()) <= width
