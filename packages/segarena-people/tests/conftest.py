"""Fixtures for tests of people's prompts."""

import polars as pl
import pytest


@pytest.fixture(autouse=True)
def tables_are_our_own(request, monkeypatch):
    """Read tables here and not in another process first, which takes longer than most tests: nobody else wrote them."""

    def read(file, *, error):
        return pl.read_parquet(file, glob=False)

    if request.path.stem != "test_prompt_table":
        monkeypatch.setattr("segarena_people.prompt_table.read_parquet", read)
