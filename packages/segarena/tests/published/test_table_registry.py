"""Published tables by name, from packages and from files."""

import re

import pytest
from repository import ROOT

from segarena.errors import UnknownPlugin
from segarena.published import find_table, table_names
from segarena.published.table_registry import broken_tables

ONE = """
system = "lab"
paper = "A lab, 2020"
[measures.x]
title = "X"
[datasets.A]
[tables.1]
title = "One"
figures = \"\"\"
model | A/x
M     | 1
\"\"\"
"""


def test_every_paper_has_its_tables_and_each_can_be_read():
    assert broken_tables() == ()
    by_system = {}
    for name in table_names():
        system, _, number = name.partition(":")
        by_system.setdefault(system, []).append(number)
        assert find_table(name).name == name
    assert {"4", "5", "6", "9", "10", "11", "12"} <= set(by_system["rclicks"])
    assert set("23456789") <= set(by_system["radioactive"])
    assert {"2a", "2b", "3", "4"} <= set(by_system["toss"])
    assert {"1", "3"} <= set(by_system["amodal"])
    assert {"2019", "val"} <= set(by_system["davis"])


@pytest.mark.parametrize("name", [name for name in table_names() if not find_table(name).absent])
def test_every_figure_is_about_something_that_is_declared(name):
    table = find_table(name)
    assert table.figures
    for figure in table.figures:
        assert figure.measure in table.measures
        assert figure.dataset in table.data
        assert figure.model


@pytest.mark.parametrize("name", table_names())
def test_every_measure_says_where_it_is_or_why_it_is_nowhere(name):
    table = find_table(name)
    for measure in table.measures.values():
        assert measure.sheet or measure.why_not or table.measuring


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("rclicks:99", "rclicks has rclicks:4"),
        ("rclick:9", "did you mean 'rclicks:9'"),
        ("nothing", "segarena list tables"),
    ],
)
def test_an_unknown_table_is_refused_with_near_names(name, words):
    with pytest.raises(UnknownPlugin, match="there is no table") as caught:
        find_table(name)
    assert words in str(caught.value)


def test_a_file_of_ones_own_is_a_table_too(tmp_path):
    file = tmp_path / "lab.toml"
    file.write_text(ONE, encoding="utf-8")
    assert find_table(str(file)).name == "lab:1"
    assert find_table(f"{file}:1").figures[0].value == 1
    with pytest.raises(UnknownPlugin, match=r"has no table '2'; write .*lab\.toml:1"):
        find_table(f"{file}:2")
    file.write_text(
        ONE + ONE[ONE.index("[tables.1]") :].replace("tables.1", "tables.2"), encoding="utf-8"
    )
    with pytest.raises(UnknownPlugin, match="has several tables"):
        find_table(str(file))


def test_the_table_in_the_docs_can_be_read(tmp_path):
    page = (ROOT / "docs" / "tables.md").read_text("utf-8")
    (block,) = re.findall(r"```toml\n(system = .*?)```", page, re.DOTALL)
    file = tmp_path / "lab.toml"
    file.write_text(block, encoding="utf-8")
    table = find_table(str(file))
    assert [(figure.measure, figure.value) for figure in table.figures] == [
        ("noc", 8.98),
        ("auc", 0.789),
    ]


@pytest.mark.parametrize("content", [b"\xff\xfe not UTF-8", b"x = " + b"[" * 5000])
def test_a_damaged_file_of_another_package_takes_no_other_table_away(tmp_path, content):
    from segarena.published import table_registry

    before = set(table_names())
    file = tmp_path / "lab.toml"
    file.write_bytes(content)
    table_registry.add_paper(file)
    try:
        assert set(table_names()) == before
        (problem,) = broken_tables()
        assert problem.startswith(f"{file}: expected TOML with published tables; ")
    finally:
        del table_registry._papers[file]
        table_registry._tables.cache_clear()
