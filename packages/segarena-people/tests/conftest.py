"""Fixtures for tests of people's prompts."""

import polars as pl
import pytest


@pytest.fixture(autouse=True)
def tables_are_our_own(request, monkeypatch):
    """Read tables in this process, without the slow check in another one, because the tests wrote them."""

    def read(file, *, error):
        return pl.read_parquet(file, glob=False)

    if request.path.stem != "test_prompt_table":
        monkeypatch.setattr("segarena_people.prompt_table.read_parquet", read)
