"""The published tables of Semantic Amodal Segmentation."""

from __future__ import annotations

from pathlib import Path

from segarena.published import add_paper
from segarena.systems.scenes.paper_tables.shape_edge_measurements import (
    measure_humans,
    measure_shapes,
)

add_paper(Path(__file__).with_name("amodal.toml"), {"1": measure_shapes, "3": measure_humans})
