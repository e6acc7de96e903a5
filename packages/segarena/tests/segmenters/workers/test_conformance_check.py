"""Adapters with one fault each, which the conformance check finds without false alarms."""

import shlex
import sys
from pathlib import Path

import pytest

from segarena.segmenters.workers import conformance_check, protocol_checks
from segarena.segmenters.workers.conformance_check import check_worker
from segarena.segmenters.workers.worker import Worker

HERE = Path(__file__).parent


def checked(file, *arguments, **options):
    command = shlex.join([sys.executable, str(HERE / file), *arguments])
    found = check_worker(lambda: Worker(command, **options), limit_s=2.0)
    return {each.check: each.details for each in found if not each.has_passed}, found


@pytest.mark.long
def test_an_honest_worker_does_everything_right():
    wrong, found = checked("honest.py")
    assert wrong == {}
    assert len(found) > 40
    assert "Honest on cpu" in found[0].details
    assert "ms" in found[-1].details


# What is planted, and of what is found one thing: what was tried and what came.
FAULTS = {
    "TooMany": ("answers click prompts in two rounds (image)", "expected 1 answers, got 2"),
    "TooFew": ("answers box prompts in two rounds (image)", "expected 1 answers, got 0"),
    "OtherShape": ("answers on 3 × 200 (image)", "expected a mask of shape (3, 200), got (3, 5)"),
    "NoMask": ("answers click prompts in two rounds (image)", "arrays cannot be sent"),
    "Probabilities": ("answers click prompts in two rounds (image)", "threshold it first"),
    "Raises": ("answers click prompts in two rounds (image)", "KeyError: 'decoder.weight'"),
    "Counting": (
        "gives the same answers when the prompts are repeated later (image)",
        "pixels differ after another sample",
    ),
    "OfBatch": (
        "gives the same answers to three dialogues together as one by one (image)",
        "pixels differ together",
    ),
    "OfProcess": (
        "gives the same answers in another process, from the dialogue alone",
        "pixels differ by another process",
    ),
    "DiesOfTiny": ("answers on 1 × 1 (image)", "was killed by SIGKILL"),
    "PacksLess": (
        "gives the same answers from an encoding that was packed and unpacked",
        "from the packed encoding",
    ),
    "NoBoxes": ("answers box prompts in two rounds (image)", "NotImplementedError: boxes"),
    "NoWeights": (
        "reports the files that determine its answers",
        "weights: expected files, got nowhere.pth, which does not exist or is not a file",
    ),
    "LeavesInDisgust": ("continues after a prompt outside the sample", "ended with exit code 3"),
    "IntoThePipe": ("answers click prompts in two rounds (image)", "broke the protocol"),
    "Forgets --after 0": (
        "gives the same answers to three dialogues together as one by one (image)",
        "unknown handle",
    ),
    "Hoards": ("frees an encoding that is no longer needed", "after one of"),
    "Deaf": ("ends after the end in the middle of a frame", "it keeps running without a host"),
}


@pytest.mark.parametrize(("mood", "found"), FAULTS.items(), ids=list(FAULTS))
def test_a_planted_fault_is_found(mood, found, monkeypatch):
    monkeypatch.setattr(protocol_checks, "END_LIMIT_S", 0.5)
    monkeypatch.setattr(conformance_check, "MAX_STARTS", 3)
    if mood != "Deaf":  # starting a worker takes longer than all that it is asked
        monkeypatch.setattr(protocol_checks, "FRAMES", {})
    wrong, _ = checked("moody.py", *mood.split())
    what, told = found
    assert told in wrong[what]


def test_what_does_not_start_is_the_one_thing_found():
    wrong, found = checked("honest.py", "--raduis", "3")
    assert len(found) == 1
    assert (
        "unknown option --raduis; it takes radius, weights"
        in wrong["starts and sends its greeting"]
    )
