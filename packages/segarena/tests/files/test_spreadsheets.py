"""Text of others in tables that spreadsheets open."""

import pytest

from segarena.files.spreadsheets import escape_formula


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_what_would_be_a_formula_is_text(text):
    assert escape_formula(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "dog", "a=b", "Straße", "'=1"])
def test_all_else_stays(text):
    assert escape_formula(text) == text
