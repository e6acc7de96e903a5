"""Names in reports for runs of the same segmenter."""

from segarena.records.configuration import PluginRecord
from segarena.reports.display_names import distinct_names


def graph(**options):
    return PluginRecord(
        kind="segmenter", name="graph", options={"superpixels": 1500, "beta": 2.0, **options}
    )


def test_one_option_that_differs_is_told_of_everyone():
    assert distinct_names([graph(), graph(beta=8.0)]) == ["graph(beta=2.0)", "graph(beta=8.0)"]


def test_of_several_that_differ_those_of_the_signature_are_left_out():
    told = distinct_names([graph(), graph(beta=8.0), graph(superpixels=100)])
    assert told == ["graph", "graph(beta=8.0)", "graph(superpixels=100)"]


def test_of_a_plug_in_whose_signature_is_not_known_all_are_told():
    def mine(**options):
        return PluginRecord(
            kind="segmenter", name="my_model.py:Mine", options={"a": 1, "b": 2, **options}
        )

    assert distinct_names([mine(), mine(a=3), mine(b=4)]) == [
        "Mine(a=1, b=2)",
        "Mine(a=3, b=2)",
        "Mine(a=1, b=4)",
    ]


def worker(display_name, label="", **options):
    return PluginRecord(
        kind="segmenter",
        name="worker",
        options={"command": "python adapter.py", "name": "", **options},
        display_name=display_name,
        label=label,
    )


def test_a_worker_has_the_name_of_its_model():
    told = distinct_names([worker("ritm"), worker("SegNext"), worker("ritm", label="Mine")])
    assert told == ["ritm", "SegNext", "Mine"]
    assert distinct_names([worker("ritm", name="RITM H18")]) == ["RITM H18"]
    assert distinct_names([worker("")]) == ["worker"]
