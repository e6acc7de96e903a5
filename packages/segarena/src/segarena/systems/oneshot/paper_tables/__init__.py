"""The published tables of TOSS."""

from __future__ import annotations

from pathlib import Path

from segarena.published import add_paper
from segarena.systems.oneshot.paper_tables.partition_attribute_measurements import (
    measure_attributes,
    measure_partitions,
)

add_paper(
    Path(__file__).with_name("toss.toml"),
    {"attributes": measure_attributes, "partitions": measure_partitions},
)
