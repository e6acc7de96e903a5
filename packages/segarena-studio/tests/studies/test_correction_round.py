"""Correction rounds: a segmenter answers people's clicks."""

import numpy as np
import pytest
from sqlalchemy import select
from study_fixtures import ParticipantClient, answer, link_of, study_of

from segarena.arrays.rle import decode_rle
from segarena.errors import InvalidInput
from segarena_studio.studies.correction_round import add_corrections
from segarena_studio.studies.orm_models import StudyItem, StudyRow
from segarena_studio.studies.progress import find_neighbours

MODEL = '''
import numpy as np

class ClickSquareSegmenter:
    """Marks the square of 10 pixels whose corner is the click."""

    def encode(self, sample):
        return sample.shape

    def predict(self, encoded, dialogues):
        for dialogue in dialogues:
            mask = np.zeros(encoded, bool)
            row, column = dialogue.clicks[0].position
            mask[row : row + 10, column : column + 10] = True
            yield mask
'''


@pytest.mark.long
def test_the_best_answer_to_a_click_of_the_first_round_is_corrected(served, tmp_path):
    site = served.site
    made = study_of(
        site,
        slug="twice",
        training=0,
        attention=0,
        dataset="sample-squares(count=1)",
        batch=1,
        batches=1,
    )
    (tmp_path / "model.py").write_text(MODEL)
    model = f"around={tmp_path / 'model.py'}:ClickSquareSegmenter"
    with pytest.raises(InvalidInput, match="no counted click in the first round"):
        add_corrections(site, "twice", model)
    link = link_of(made)
    # The target is rows 4 to 15, columns 6 to 19. The second click is answered best, the third is off.
    for place in ((15.5, 10.5), (7.5, 5.5), (31.5, 31.5)):
        taker = ParticipantClient(served.client(), link)
        taker.give(taker.post("batch").json(), answer(place))
        assert taker.next()["state"] == "done"
    assert add_corrections(site, "twice", model) == 1
    target, best = (np.zeros((32, 32), bool) for _ in range(2))
    target[4:16, 6:20] = True
    best[5:15, 7:17] = True
    with site.database.reading() as session:
        row = session.scalars(select(StudyRow).where(StudyRow.slug == "twice")).one()
        item = session.scalars(
            select(StudyItem).where(StudyItem.study_id == row.id, StudyItem.model != "")
        ).one()
        assert (item.goal, item.model) == ("missing", "around")
        assert (decode_rle(item.previous, (32, 32)) == best).all()
        assert (decode_rle(item.mask, (32, 32)) == target & ~best).all()
        assert find_neighbours(session, row, 0) == (None, item.number)
        assert find_neighbours(session, row, item.number) == (0, None)
    with pytest.raises(InvalidInput, match="has corrections of around already"):
        add_corrections(site, "twice", model)
