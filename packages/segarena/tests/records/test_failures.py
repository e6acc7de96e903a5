"""Failures by cause: one cause for messages that differ only in samples and numbers."""

from segarena.records.failures import Failure, group_by_cause


def failure(sample, message, target="t1", user="centre"):
    return Failure(sample, target, user, message)


def test_messages_that_differ_in_names_and_numbers_are_one_cause():
    every = [
        failure("cat", "predict: cat/t1 needs 12.5 GB at 0x7f3a"),
        failure("dog-2", "predict: dog-2/t1 needs 7 GB at 0x11"),
        failure("cat", "predict: cats are hard"),
    ]
    causes = group_by_cause(every)
    assert [(cause.count, cause.first) for cause in causes] == [(2, every[0]), (1, every[2])]
    assert (
        str(causes[0])
        == "2 × predict: cat/t1 needs 12.5 GB at 0x7f3a (first: cat / t1, user centre)"
    )


def test_causes_that_are_counted_already_add_up():
    some = group_by_cause([failure("a", "slow"), failure("b", "odd")])
    assert [
        cause.count for cause in group_by_cause([*some, failure("c", "odd"), failure("d", "odd")])
    ] == [3, 1]


def test_a_sample_that_failed_as_a_whole_has_no_target():
    assert failure("cat", "loading: gone", target="", user="").where == "cat"
