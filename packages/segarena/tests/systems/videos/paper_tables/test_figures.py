"""Published figures of DAVIS Interactive, compared with other known facts about it."""

from segarena.published import find_table


def test_each_part_that_mivos_adds_is_better_in_both_values():
    figures = find_table("davis:val").figures
    for measure in ("auc", "at-60s"):
        values = [figure.value for figure in figures if figure.measure == measure][:5]
        assert values == sorted(values)
        assert len(set(values)) == 5


def test_what_others_measured_of_mivos_is_near_what_its_authors_state():
    theirs = {f.measure: f.value for f in find_table("davis:val").figures if f.model == "MiVOS"}
    others = {
        f.measure: f.value
        for f in find_table("davis:clicks").figures
        if (f.model, f.condition) == ("MiVOS", "scribbles")
    }
    assert all(abs(theirs[name] - others[name]) <= 1 for name in theirs)


def test_the_leaderboard_is_sorted():
    values = [
        figure.value for figure in find_table("davis:2019").figures if figure.measure == "auc"
    ]
    assert values == sorted(values, reverse=True)
