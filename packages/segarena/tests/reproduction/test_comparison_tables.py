"""Comparison of a reproduction with a published table: which figures are still missing."""

from dataclasses import replace

import msgspec

from segarena.published import find_table
from segarena.published.table_types import Measurement
from segarena.reproduction.comparison_tables import unmeasured_figures


def test_requested_figures_without_a_measurement_are_listed():
    table = find_table("radioactive:3")
    missing = unmeasured_figures(table, {}, ["SAM2"], ["D1"])
    assert missing
    assert {(model, dataset) for model, dataset, _, _ in missing} == {("SAM2", "D1")}
    found = dict.fromkeys(missing[1:], Measurement(mean=0.5))
    assert unmeasured_figures(table, found, ["SAM2"], ["D1"]) == missing[:1]


def test_measures_that_segarena_cannot_measure_are_not_missing():
    table = find_table("radioactive:3")
    measures = {
        name: msgspec.structs.replace(one, why_not="it was their machine")
        for name, one in table.measures.items()
    }
    assert unmeasured_figures(replace(table, measures=measures), {}, ["SAM2"], ["D1"]) == []
