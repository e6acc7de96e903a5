"""Progress of studies as shown to leaders."""

import json

import pytest
from study_fixtures import ParticipantClient, answer, link_of, study_of

from segarena_studio.studies.orm_models import StudyItem, StudyTrial
from segarena_studio.studies.progress import list_marks
from segarena_studio.studies.study_export import study_named


@pytest.mark.parametrize("count", [2, 300, 301, 5000])
def test_of_a_long_line_a_page_has_both_ends_and_few_points(served, count):
    made = study_of(
        served.site, slug=f"line-{count}", dataset="sample-squares(count=1)", kinds=("scribble",), training=0,
        attention=0, batch=1, batches=1,
    )  # fmt: skip
    taker = ParticipantClient(served.client(), link_of(made))
    trial = taker.post("batch").json()["trial"]
    taker.post(f"trials/{trial}/begin")
    places = [(20 * number / count, 5) for number in range(count)]
    given = taker.client.post(f"{taker.base}/trials/{trial}", content=json.dumps(answer(*places)))
    assert given.status_code == 200, given.text
    with served.site.database.reading() as session:
        row, item = study_named(session, made.slug), session.get_one(StudyTrial, trial).item
        assert not session.get_one(StudyItem, (row.id, item)).is_easy
        (mark,) = list_marks(session, row, item, 10)
    assert (mark.points[0], mark.points[-1]) == (places[0], places[-1])
    assert min(count, 150) <= len(mark.points) <= 301
