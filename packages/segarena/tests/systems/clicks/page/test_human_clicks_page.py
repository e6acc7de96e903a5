"""First clicks of people compared with maps: depth predicts clicks in the middle better than the uniform map."""

from viewer_contents import viewer_contents

import segarena
from segarena.records.parquet_tables import table_frame
from segarena.records.row_types import PersonRound
from segarena.reports.pages import page_of
from segarena.reports.people_section import HumanRounds
from segarena.reports.recorded_run import read_runs
from segarena.systems.clicks.page.human_clicks_page import HumanClicksPage, click_model_parts


def test_first_clicks_in_the_middle_are_told_by_depth(tmp_path):
    told = {"segmenter": "image-blind", "dataset": "demo", "limit": 2, "rounds": 1}
    folder = segarena.evaluate("clicks", users=["human=centre"], out=tmp_path / "run", **told)
    (run,) = read_runs([folder.path])
    seconds = {"person": "aa", "user_s": 1.0, "away_s": 0.0, "pointer": "mouse", "note": ""}
    key = ["sample", "target", "user", "repeat", "round"]
    rows = [PersonRound(**row, **seconds) for row in folder.records().select(key).to_dicts()]
    asked = HumanRounds(run, table_frame("people", rows), ("human",))
    sheet, note, pictures = click_model_parts(asked, segarena.registry.build("dataset", "demo"))

    found = {row[0]: row for row in sheet.rows}
    targets = folder.config.counts.targets
    assert {row[1] for row in sheet.rows} == {targets}
    assert found["depth"][2].mean > found["uniform"][2].mean > 0
    assert found["depth"][3].mean > found["uniform"][3].mean
    assert "Left out" not in note.text
    assert pictures.count_note == f"6 of {targets} targets are shown"
    (viewer,) = pictures.cards[0].viewers
    (content,) = viewer_contents(viewer)
    panes = content["dialogues"]
    assert [pane["label"] for pane in panes] == ["people", "depth", "saliency-crop"]
    for pane in panes:
        assert [prompt["kind"] for prompt in pane["prompts"][0]] == ["dot"]
        assert pane["heat"].startswith("data:image/png")
    assert [pane["captions"][0].split()[0] for pane in panes] == ["1", "NSS", "NSS"]
    run.computed["people"] = asked
    assert isinstance(page_of([run]), HumanClicksPage)
    assert not isinstance(page_of(read_runs([folder.path])), HumanClicksPage)
