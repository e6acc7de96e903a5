"""The published tables of the DAVIS Interactive Challenge."""

from __future__ import annotations

from pathlib import Path

from segarena.published import add_paper

add_paper(Path(__file__).with_name("davis.toml"))
