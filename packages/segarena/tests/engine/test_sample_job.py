"""What a worker process does to run samples."""

import pickle
import subprocess
import sys

from segarena import RunFolder
from segarena.engine.evaluate import open_folder
from segarena.engine.plan import make_plan
from segarena.engine.sample_job import SampleJob

WORKER = """
import pickle, sys
job = pickle.load(sys.stdin.buffer)
result = job.open()(1)
print(result.rounds, "polars" in sys.modules)
"""


def test_a_process_that_only_runs_dialogues_does_not_import_polars(tmp_path):
    plan = make_plan(
        "clicks", dataset="demo", users=["clicker"], rounds=2, segmenter="watershed", limit=2
    )
    folder = open_folder(plan, plan.cast().dataset, tmp_path / "run")
    job = pickle.dumps(SampleJob(plan=plan, path=folder.path))
    worker = subprocess.run(
        [sys.executable, "-c", WORKER], input=job, capture_output=True, check=True
    )
    rounds, has_polars = worker.stdout.split()
    assert has_polars == b"False"
    again = RunFolder.open(folder.path)
    assert again.pending() == [0]
    assert again.records().height == int(rounds)
