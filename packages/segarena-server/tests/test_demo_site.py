"""A site to click through: on this machine alone, in a folder of its own, from what packages bring."""

from datetime import UTC, datetime

import pytest

from segarena.errors import InvalidInput
from segarena.registry import build
from segarena_server.challenges.run_plan import challenge_info
from segarena_server.challenges.showcases import showcases
from segarena_server.demo_site import DemoSite, check_demo_settings
from segarena_server.settings import Settings

NOW = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "told", [{"url": "https://lab.example"}, {"host": "0.0.0.0"}, {"db": "postgresql://x@y/z"}]
)
def test_nobody_else_reaches_a_demonstration(told):
    with pytest.raises(InvalidInput, match="only on this machine"):
        check_demo_settings(Settings(**told))


def test_the_command_says_so_in_a_line(refused):
    assert "only on this machine" in refused("serve", "--demo", "--url", "https://lab.example")


def test_a_folder_in_use_stays_as_it_is(served):
    served.person("Somebody")
    with pytest.raises(InvalidInput, match="is in use"):
        DemoSite(served.site, [])


def test_what_packages_show_can_be_held_at_the_time_it_is_held():
    found = showcases(NOW)
    assert len({one.challenge.slug for one in found}) == len(found) > 3
    for one in found:
        assert challenge_info(one.challenge).phases
        for held in one.tries:
            phase = one.challenge.phase(held.phase)
            at = datetime.fromtimestamp(NOW.timestamp() - 86400 * held.days_ago, UTC)
            assert phase.is_open(at), held
            build("segmenter", held.segmenter)
