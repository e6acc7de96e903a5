"""Exports of studies can be compared with other people's prompts."""

import numpy as np
import pytest
from study_fixtures import ParticipantClient, answer, link_of, study_of

from segarena_people.collection import Collection
from segarena_people.import_format import ImportInputs, find_format
from segarena_people.prompt_import import import_prompts
from segarena_people.target_masks import TargetMasks
from segarena_studio.studies.study_export import export_study


@pytest.mark.long
def test_the_archive_of_a_study_becomes_a_collection(served, tmp_path):
    dataset = "sample-squares(count=1)"
    made = study_of(
        served.site, slug="for-others", training=0, attention=0, dataset=dataset, batch=1, batches=1
    )
    link = link_of(made)
    # The target is rows 4 to 15, columns 6 to 19; the third person is off.
    for place in ((15.5, 10.5), (7.5, 5.5), (31.5, 31.5)):
        taker = ParticipantClient(served.client(), link)
        taker.give(taker.post("batch").json(), answer(place))
    export_study(served.site, "for-others", tmp_path / "study.zip")
    beside = ImportInputs(targets=TargetMasks(dataset))
    told = import_prompts(
        find_format("study"), tmp_path / "study.zip", tmp_path / "out", beside=beside
    )
    assert (told.prompts, told.people, told.left_out) == (2, 2, ())
    given = Collection.open(tmp_path / "out")
    target = np.zeros((32, 32), bool)
    target[4:16, 6:20] = True
    assert all(np.array_equal(one.goal, target) for one in given)
    # People's names are drawn anew by each server, and rows are in the order of names.
    assert sorted(one.prompt.position for one in given) == [(5, 7), (10, 15)]
