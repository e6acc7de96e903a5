"""Files of published tables: the meaning of figures and headings, and rejected content."""

import pytest

from segarena.errors import InvalidInput
from segarena.published.table_files import condition_label, fill_placeholders, read_tables

PAPER = """
system = "lab"
paper = "A lab, 2020"
[datasets.A]
[datasets.B]
[datasets.Both]
mean_of = ["A", "B"]
[measures.x]
title = "X"
[measures.x-std]
title = "std of X"
[measures.y]
title = "Y"
decimals = 2
[words.step]
0 = "Round 1"
[conditions.few]
user = "few-clicks"
[tables.1]
title = "One"
{more}
figures = \"\"\"
{figures}
\"\"\"
"""


@pytest.fixture
def table(tmp_path):
    """Return the table with these figures, and `more` lines about it."""

    def read(figures, more=""):
        file = tmp_path / "lab.toml"
        file.write_text(PAPER.format(figures=figures, more=more), encoding="utf-8")
        return read_tables(file)["1"]

    return read


def test_a_figure_has_value_step_and_what_was_printed(table):
    one = table("model | A/x\nM | 6.40").figures[0]
    assert (one.model, one.dataset, one.measure, one.printed, one.value) == (
        "M",
        "A",
        "x",
        "6.40",
        6.4,
    )
    assert one.step == pytest.approx(0.01)
    assert one.is_certain


@pytest.mark.parametrize(
    ("printed", "value", "step"),
    [("4.06E-05", 4.06e-5, 1e-7), ("1.57%", 1.57, 0.01), (".718", 0.718, 0.001), ("3", 3, 1)],
)
def test_figures_are_read_as_papers_print_them(table, printed, value, step):
    one = table(f"model | A/x\nM | {printed}").figures[0]
    assert (one.value, one.step) == (pytest.approx(value), pytest.approx(step))


def test_trailing_zeros_that_a_paper_drops_are_no_lack_of_precision(table):
    assert table("model | A/y\nM | 13.6").figures[0].step == pytest.approx(0.01)


@pytest.mark.parametrize(
    ("measured", "agrees"), [(6.4349, True), (6.4350001, False), (6.425, True), (6.4249, False)]
)
def test_within_rounding_is_half_a_step(table, measured, agrees):
    assert table("model | A/x\nM | 6.43").figures[0].agrees(measured) == agrees


def test_a_cell_may_hold_two_figures_and_doubt(table):
    found = table("model | A/x±x-std | B/x\nM | 6.44±0.85 | 3?")
    assert [(one.measure, one.value) for one in found.figures] == [
        ("x", 6.44),
        ("x-std", 0.85),
        ("x", 3.0),
    ]
    assert [one.is_certain for one in found.figures] == [True, True, False]


def test_what_is_no_figure_is_left_out_and_keeps_its_row(table):
    found = table("model | A/x | B/x\nM | NaN | –\nN | 1 |")
    assert [(one.model, one.dataset) for one in found.figures] == [("N", "A")]
    assert found.model_names == ("M", "N")


def test_the_dataset_may_stand_in_the_row(table):
    found = table("dataset | model | /x\nA | M | 1\nB | M | 2")
    assert [(one.dataset, one.value) for one in found.figures] == [("A", 1.0), ("B", 2.0)]
    assert found.datasets == ("A", "B")


def test_key_columns_make_model_and_condition_and_are_translated(table):
    found = table(
        "method | size | how | step | A/x\nM | big | few | 0 | 1",
        'model = "{method} {size}"\ncondition = "{how}"',
    )
    one = found.figures[0]
    assert (one.model, one.condition) == ("M big", "few")
    assert one.words["step"] == "Round 1"
    assert one.words["user"] == "few-clicks"


def test_columns_that_are_exchanged_in_print_are_read_as_they_are_meant(table):
    found = table("model | A/x | A/y\nM | 1 | 2", 'read_as = { x = "y", y = "x" }')
    assert [(one.measure, one.value) for one in found.figures] == [("y", 1.0), ("x", 2.0)]


def test_a_mean_over_datasets_has_parts(table):
    found = table("model | A/x | Both/x\nM | 1 | 2")
    assert found.datasets == ("A", "Both")
    assert found.own_datasets == ("A", "B")


@pytest.mark.parametrize(
    ("figures", "more", "words"),
    [
        ("model | A/x\nM | 1 | 2", "", "expected 2 cells, got 3"),
        ("model | A/x\nM | about 3", "", "expected a figure, got 'about 3'"),
        ("model | A/z\nM | 1", "", "no measure 'z' is declared; known: x, x-std, y"),
        ("model | C/x\nM | 1", "", "no dataset 'C' is declared"),
        ("model | A/x±x-std\nM | 1", "", "expected 2 figures separated by ±, got '1'"),
        ("model | A/x\nM | 1", 'colour = "red"', "colour"),
        (
            "model | A/x\nM | 1",
            'model = "{method}"',
            "there is no column 'method'; the columns are model",
        ),
    ],
)
def test_a_fault_is_named_with_its_table(table, figures, more, words):
    with pytest.raises(InvalidInput, match=r"lab\.toml") as caught:
        table(figures, more)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("mean", "words"),
    [
        ('["Both"]', "Both is a mean over itself"),
        ('["A", "C"]', "Both is a mean over 'C', which is not declared"),
    ],
)
def test_a_mean_over_itself_or_over_nothing_is_refused(tmp_path, mean, words):
    file = tmp_path / "lab.toml"
    text = PAPER.format(figures="model | A/x\nM | 1", more="")
    file.write_text(text.replace('mean_of = ["A", "B"]', f"mean_of = {mean}"), encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"lab\.toml") as caught:
        read_tables(file)
    assert words in str(caught.value)


def test_measures_that_a_table_does_not_name_are_left_out(table):
    found = table("model | A/x | A/y\nM | 1 | 2", 'measures = ["y"]')
    assert [figure.measure for figure in found.figures] == ["y"]
    assert list(found.measures) == ["y"]


def test_a_file_that_is_not_there_or_no_toml_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="expected a file of published tables"):
        read_tables(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("= 3", encoding="utf-8")
    with pytest.raises(InvalidInput, match="expected TOML"):
        read_tables(tmp_path / "bad.toml")


def test_places_are_filled_with_the_words_of_a_row(table):
    one = table("model | step | A/x\nM | 0 | 1").figures[0]
    measure = table("model | A/x\nM | 1").measures["x"]
    assert fill_placeholders("after {step}", one.words) == "after Round 1"
    assert condition_label("few", one.words, measure) == "few"
    with pytest.raises(InvalidInput, match="there is no column"):
        fill_placeholders("{colour}", one.words)
