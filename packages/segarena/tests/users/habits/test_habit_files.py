from __future__ import annotations

import tomllib

import msgspec
import pytest

from segarena.errors import InvalidInput
from segarena.users.habits.habit_files import format_habits, read_habits


class Inner(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    rows: tuple[tuple[float, ...], ...]
    note: str = ""


class Outer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    source: str
    named: dict[str, Inner]
    each: tuple[Inner, ...]
    number: float = 0.0


WHOLE = Outer(
    source='a "quoted" source, 7 % ± 1',
    named={"first": Inner(rows=((0.1, -2.0), (1e-9, 3.0))), "second": Inner(rows=())},
    each=(Inner(rows=((1.0,),), note="one"), Inner(rows=((2.0,),))),
    number=0.25,
)


def test_what_is_written_is_read_again(tmp_path):
    path = tmp_path / "habits.toml"
    path.write_text(format_habits(WHOLE), encoding="utf-8")
    assert read_habits(path, Outer) == WHOLE


def test_a_list_of_tables_is_written_as_toml_has_them():
    found = tomllib.loads(format_habits(WHOLE))
    assert [one["note"] for one in found["each"]] == ["one", ""]
    assert found["named"]["first"]["rows"] == [[0.1, -2.0], [1e-9, 3.0]]


@pytest.mark.parametrize("text", ["source = 3", "nonsense", "source = 'x'\nother = 1"])
def test_a_file_of_something_else_is_refused(tmp_path, text):
    path = tmp_path / "habits.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput, match="segarena people fit"):
        read_habits(path, Outer)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="nothing"):
        read_habits(tmp_path / "nothing.toml", Outer)
