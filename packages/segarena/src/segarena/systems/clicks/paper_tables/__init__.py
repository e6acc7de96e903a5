"""The published tables of RClicks."""

from __future__ import annotations

from pathlib import Path

from segarena.published import add_paper
from segarena.systems.clicks.paper_tables.click_model_measurement import measure_click_models

add_paper(Path(__file__).with_name("rclicks.toml"), {"6": measure_click_models})
