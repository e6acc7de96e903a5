"""Workers on other machines: they return what they cannot write, and are rejected if results would differ."""

from dataclasses import replace

import pytest

from segarena import evaluate
from segarena.errors import DatasetError, WorkersInvalid

SOURCE = """
import numpy as np

class Mine:
    encode = id

    def predict(self, encoded, dialogues):
        return [np.SHAPE((9, 12), bool) for _ in dialogues]
"""


def files_in(folder):
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for table in ("records", "masks")
        for file in (folder / table).iterdir()
    }


@pytest.mark.long
def test_a_run_has_the_same_bytes_wherever_they_are_written(small_run, tmp_path, elsewhere):
    here = small_run()
    there = small_run(out=tmp_path / "there", workers=elsewhere)
    assert files_in(there.path) == files_in(here.path)
    assert there.timings().height == here.timings().height
    assert (
        elsewhere.travelled > 4_000
    ) is not elsewhere.sees_folder  # files of four samples, or what to count
    assert not [file for file in there.path.iterdir() if file.name.startswith(".")]


@pytest.fixture
def other_machine(elsewhere_class, monkeypatch):
    """Return an executor whose machine has another name, and which changes the jobs that it receives."""

    def make(change):
        class Other(elsewhere_class):
            def opened(self, job):
                job = change(job)
                monkeypatch.setattr("socket.gethostname", lambda: "worker")
                return super().opened(job)

        monkeypatch.setattr("socket.gethostname", lambda: "driver")
        return Other()

    return make


def test_a_machine_with_the_same_files_works(small_run, other_machine):
    assert small_run(workers=other_machine(lambda job: job)).is_complete


def test_a_machine_with_other_data_refuses(small_run, other_machine):
    def with_one_less(job):
        return replace(
            job, plan=replace(job.plan, dataset=replace(job.plan.dataset, options={"count": 3}))
        )

    with pytest.raises(
        DatasetError,
        match=r"^worker: dataset .* has different files than on driver, where the run was",
    ):
        small_run(workers=other_machine(with_one_less))


def test_a_machine_with_another_file_of_that_name_refuses(rules, tmp_path, other_machine):
    file = tmp_path / "mine.py"
    file.write_text(SOURCE.replace("SHAPE", "zeros"))

    def edited(job):
        file.write_text(SOURCE.replace("SHAPE", "ones"))
        return job

    with pytest.raises(
        WorkersInvalid,
        match=r"^worker: your file mine\.py changed since this run; give all machines",
    ):
        evaluate(
            rules, segmenter=f"{file}:Mine", out=tmp_path / "run", workers=other_machine(edited)
        )
