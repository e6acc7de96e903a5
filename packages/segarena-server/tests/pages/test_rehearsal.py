"""A rehearsal on a page: it shows the results, and creates no run."""

import re
import time

import pytest
from sqlalchemy import func, select

from segarena_server.challenges.challenge_management import existing_challenge, make_challenge
from segarena_server.challenges.challenge_repository import description_of
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.challenges.prompt_attacks import measure_prompt_attacks
from segarena_server.challenges.rehearsal import Rehearsal
from segarena_server.db.orm_models import Run


@pytest.fixture(scope="module")
def organiser(working):
    phases = (
        Phase(name="practice", kind="practice", rounds=1),
        Phase(name="final", rounds=2, decimals=3),
    )
    make_challenge(
        working.site,
        ChallengeDescription(
            practice_may_reveal_test=True,
            slug="photos",
            title="Photos",
            benchmark="clicks",
            dataset="sample-squares(count=2)",
            phases=phases,
        ),
    )
    return working.person("Olga", "organiser", ["photos"])


PATH = "/organise/challenges/photos/rehearsal"


def rehearse(client, **form):
    key = re.search(r'name="key" value="([0-9a-f]{64})"', client.get(PATH).text)[1]
    answer = client.post(PATH, data={**form, "key": key})
    if answer.status_code != 303:
        return answer
    for _ in range(1200):
        page = client.get(PATH)
        if "refresh" not in page.headers:
            return page
        time.sleep(0.05)
    raise AssertionError(page.text)


@pytest.mark.long
def test_a_segmenter_takes_part_and_what_a_participant_would_see_is_shown(
    working, organiser, tmp_path
):
    assert "<h2>Results</h2>" not in organiser.get(PATH).text
    page = rehearse(organiser, phase="final", segmenter="watershed")
    described = description_of(existing_challenge(working.site, "photos"))
    expected = Rehearsal(described, "final", "watershed")
    names = expected.evaluator.samples("final")[:2]
    _, places = expected.rehearse(names, tmp_path / "run")
    for place in places:
        row = re.search(rf"<tr><td[^>]*>{re.escape(place.sample)}.*?</tr>", page.text, re.DOTALL)[0]
        numbers = re.findall(r'class="num">([^<]*)<', row)
        blind = sum(leak.peak for leak in place.leaks.values()) / len(place.leaks)
        assert numbers[0] == str(place.turns)
        assert numbers[-1] == f"{blind:.2f}"
    attacks = measure_prompt_attacks(described, "final", expected.evaluator.samples("final")[:5])
    for attack in attacks:
        row = re.search(
            rf"<td>{attack.attacker}</td><td class=\"num\">{attack.accounts}</td>.*?</tr>",
            page.text,
        )[0]
        for value in (attack.leaks.mean, attack.leaks.p95, attack.leaks.highest):
            assert f"{value:.3f}" in row
    assert "<h2>Results</h2>" in page.text
    assert "NoC@90" in page.text
    assert "A dialogue has at most 2 rounds" in page.text
    with working.site.database.reading() as session:
        assert session.scalar(select(func.count()).select_from(Run)) == 0


@pytest.mark.parametrize(
    ("segmenter", "told"),
    [
        ("no-such-one", "installed"),
        ("evil.py:Evil", "installed"),
        ("worker('touch x')", "programs"),
        ("sam(weights='/etc/passwd')", "files"),
        ("", "expected"),
    ],
)
def test_segmenters_that_a_page_may_not_name_are_refused(organiser, segmenter, told):
    page = rehearse(organiser, phase="final", segmenter=segmenter)
    assert page.status_code == 422
    assert told in re.search(r'role="alert">([^<]*)<', page.text)[1]


def test_a_segmenter_that_does_not_fit_is_told_in_a_line(organiser):
    page = rehearse(organiser, phase="practice", segmenter="graph(nothing=1)")
    assert re.search(r'role="alert">[^<]*nothing', page.text)


def test_a_phase_that_is_none_is_refused(organiser):
    assert rehearse(organiser, phase="last", segmenter="graph").status_code == 404
