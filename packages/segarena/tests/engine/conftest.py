"""Workers on another machine, simulated on this one."""

import pickle
from dataclasses import replace

import pytest

from segarena.files.folder_probe import FolderProbe
from segarena.work.jobs import run_unit


class Elsewhere:
    """Simulate workers on another machine, which have only the pickled job and files under the same path.

    Args:
        sees_folder: whether the disk of the results is the same.
    """

    workers = 1
    is_here = False
    is_near = False

    def __init__(self, *, sees_folder=True):
        self.sees_folder = sees_folder
        self.travelled = 0

    def map(self, job, units, *, limit_s=None):
        do = self.opened(pickle.loads(pickle.dumps(job)))
        for unit in units:
            outcome = run_unit(do, unit)
            self.travelled += len(pickle.dumps(outcome))
            yield outcome

    def opened(self, job):
        if self.sees_folder:
            return job.open()
        if hasattr(job, "path"):
            job = replace(job, path=job.path / "not-here")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(FolderProbe, "is_visible", False)
            return job.open()


@pytest.fixture(params=[True, False], ids=["one disk", "disks of their own"])
def elsewhere(request):
    """An executor that simulates workers on another machine, with or without access to the disk of the results."""
    return Elsewhere(sees_folder=request.param)


@pytest.fixture
def elsewhere_class():
    return Elsewhere
