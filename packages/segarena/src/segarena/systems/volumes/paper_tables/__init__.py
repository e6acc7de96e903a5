"""The published tables of RadioActive."""

from __future__ import annotations

from pathlib import Path

from segarena.published import add_paper

add_paper(Path(__file__).with_name("radioactive.toml"))
