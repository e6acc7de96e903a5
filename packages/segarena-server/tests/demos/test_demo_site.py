"""A demo site: only on this machine, in a separate folder, with content of installed packages."""

from datetime import UTC, datetime

import pytest

from segarena.demos import find_demos
from segarena.errors import InvalidInput
from segarena.registry import build
from segarena_server.challenges.run_plan import challenge_info
from segarena_server.demos.demo_site import DemoSite, check_demo_settings
from segarena_server.demos.demo_types import ChallengeDemo
from segarena_server.settings import Settings

NOW = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "settings", [{"url": "https://lab.example"}, {"host": "0.0.0.0"}, {"db": "postgresql://x@y/z"}]
)
def test_nobody_else_reaches_a_demo(settings):
    with pytest.raises(InvalidInput, match="only on this machine"):
        check_demo_settings(Settings(**settings))


def test_the_command_says_so_in_a_line(refused):
    assert "only on this machine" in refused("serve", "--demo", "--url", "https://lab.example")


def test_a_folder_in_use_stays_as_it_is(served):
    served.person("Somebody")
    with pytest.raises(InvalidInput, match="is already in use"):
        DemoSite(served.site, [], NOW)


def test_every_run_of_a_demo_takes_place_while_its_phase_is_open():
    demos = find_demos(ChallengeDemo)
    assert len({demo.describe(NOW).slug for demo in demos}) == len(demos) > 3
    for demo in demos:
        challenge = demo.describe(NOW)
        assert challenge_info(challenge).phases
        for run in demo.runs:
            phase = challenge.phase(run.phase)
            at = datetime.fromtimestamp(NOW.timestamp() - 86400 * run.days_ago, UTC)
            assert phase.is_open(at), run
            build("segmenter", run.segmenter)
