"""The worker pool: jobs that die, hang, fail, are impossible or must wait, and processes that cannot start."""

import multiprocessing
import os
import signal
import time
from dataclasses import dataclass

import pytest
from sqlalchemy import false

from segarena.errors import (
    InvalidInput,
    RunConflict,
    StoreUnavailable,
    UnitFailed,
    WorkersInvalid,
    WorkStopped,
)
from segarena.work import persistent_process
from segarena.work.jobs import run_unit
from segarena.work.persistent_process import PersistentProcess
from segarena.work.worker_handle import WorkerHandle
from segarena_server.api.queue_position import job_queue_position
from segarena_server.jobs.job_queue import cancel_job, enqueue_job, find_job
from segarena_server.jobs.row_leases import new_lease
from segarena_server.server_process import open_site
from segarena_server.settings import Settings
from segarena_server.workers import job_runner, pool
from segarena_server.workers.job_runner import JobKind, JobRunner
from segarena_server.workers.worker import TaskExecutor


@dataclass(frozen=True)
class Act:
    """A unit with a given behaviour."""

    what: str

    def __call__(self, context):
        if self.what == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.what == "hang":
            with context.time_limit("hanging"):
                time.sleep(60)
        if self.what.startswith("raise"):
            raise {
                "invalid": InvalidInput,
                "room": StoreUnavailable,
                "busy": RunConflict,
                "fault": UnitFailed,
            }[self.what.split()[1]]("no")
        return self.what.upper()


class Acting(JobKind):
    name = "act"

    def task(self, session, site, job):
        return None if job.told == "nothing" else Act(job.told)

    def write(self, session, site, job, result):
        job.said = result

    def fail(self, session, site, job, error):
        job.said = f"failed: {error}"


class Later(Acting):
    name = "later"

    def is_due(self):
        return false()


KINDS = {kind.name: kind for kind in (Acting(), Later())}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("segarena_server.api.queue_position.job_kinds", lambda: KINDS)
        made = open_site(tmp_path_factory.mktemp("jobs") / "data", Settings())
        yield made
        made.database.close()


class Here:
    """Runs units in this process if that suffices, because a process takes seconds to start."""

    doing, number = "", None

    def __init__(self):
        self._do = TaskExecutor(0.05, 30.0).open()

    def do(self, unit, meanwhile, limit_s=None):
        meanwhile()
        return run_unit(self._do, unit)

    def end(self):
        pass


@pytest.fixture(scope="module")
def runner(site):
    return JobRunner(site, list(KINDS.values()), Here())


@pytest.fixture
def real(site):
    process = PersistentProcess(TaskExecutor(0.3, 30.0), 30.0)
    yield JobRunner(site, list(KINDS.values()), process)
    process.end()


def ask(site, told, kind="act", about=None):
    with site.database.writing() as session:
        return enqueue_job(session, kind, about or told, site.now(), told).about


def job(site, about, kind="act"):
    with site.database.reading() as session:
        found = find_job(session, kind, about)
        return found.state, found.tries, found.failure, found.said


def test_what_came_of_a_job_is_written_with_its_state(site, runner):
    ask(site, "well")
    assert runner.run_next()
    assert job(site, "well") == ("done", 1, "", "WELL")
    assert not runner.run_next()


def test_hands_that_are_idle_look_at_once_when_something_was_done(site, runner, monkeypatch):
    """A job may add others, and idle workers would check only half a second later."""
    called = []
    monkeypatch.setattr(site, "hurry", lambda: called.append(True))
    ask(site, "well again")
    assert runner.run_next()
    assert called
    assert not runner.run_next()
    assert len(called) == 1


def test_a_job_that_has_become_needless_is_done(site, runner):
    ask(site, "nothing")
    assert runner.run_next()
    assert job(site, "nothing") == ("done", 1, "", "")


def test_a_job_that_is_not_due_waits(site, runner):
    ask(site, "well", kind="later")
    assert not runner.run_next()


@pytest.mark.parametrize(
    ("what", "told"), [("hang", "hanging took longer than 0.05 s"), ("raise fault", "no")]
)
def test_what_fails_again_and_again_is_dead_and_its_kind_is_told_why(site, runner, what, told):
    ask(site, what)
    for tries in (1, 2):
        assert runner.run_next()
        assert job(site, what)[:2] == ("waiting", tries)
    assert runner.run_next()
    state, tries, failure, said = job(site, what)
    assert (state, tries) == ("dead", 3)
    assert said == f"failed: {failure}"
    assert told in failure


def test_what_cannot_be_is_dead_at_once(site, runner):
    ask(site, "raise invalid")
    assert runner.run_next()
    assert job(site, "raise invalid") == ("dead", 1, "no", "failed: no")


@pytest.mark.long
@pytest.mark.parametrize("what", ["raise room", "raise busy"])
def test_what_passes_by_itself_is_no_try(site, runner, what):
    ask(site, what)
    for _ in range(4):
        with pytest.raises(StoreUnavailable if "room" in what else RunConflict):
            runner.run_next()
        assert job(site, what)[:2] == ("waiting", 0)
    ask_no_more(site, what)


def ask_no_more(site, about):
    with site.database.writing() as session:
        session.delete(find_job(session, "act", about))


@pytest.mark.long
def test_a_process_that_dies_costs_a_try_and_one_that_is_killed_while_it_starts_costs_none(
    site, real
):
    ask(site, "die")
    assert real.run_next()
    assert job(site, "die")[:2] == ("waiting", 1)
    assert "SIGKILL" in job(site, "die")[2]
    ask_no_more(site, "die")
    ask(site, "well", about="started")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(persistent_process, "WorkerHandle", killed_at_start)
        for _ in range(4):
            with pytest.raises(WorkersInvalid, match="could not start"):
                real.run_next()
            assert job(site, "started")[:2] == ("waiting", 0)
    assert real.run_next()
    assert job(site, "started") == ("done", 1, "", "WELL")


def killed_at_start(packed_job, *, imports_main):
    """Start a worker process and kill it before its first unit."""
    worker = WorkerHandle(packed_job, imports_main=imports_main)
    worker.process.kill()
    worker.process.join()
    # It may have been quick enough to say that it is there.
    theirs = worker.pipe
    worker.pipe, unused = multiprocessing.Pipe()
    unused.close()
    theirs.close()
    return worker


def test_a_server_that_ends_leaves_a_long_job_to_others(site, runner):
    leaving = JobRunner(site, list(KINDS.values()), runner.process, lambda: True)
    ask(site, "well", about="left")
    with pytest.raises(WorkStopped, match="the server is shutting down"):
        leaving.run_next()
    assert job(site, "left")[:2] == ("waiting", 0)
    assert runner.run_next()
    assert job(site, "left")[0] == "done"


def test_a_lease_of_this_process_under_which_nobody_works_is_handed_on(site, runner):
    about, lease = ask(site, "well", about="lost"), new_lease()
    with site.database.writing() as session:
        assert runner.lease(session, lease).about == about
    site.held.add(lease)
    looking = pool.WorkerPool(site, KINDS)
    looking._recover(job_runner.Job, pool.LeaseWatch(90.0))
    assert job(site, about)[0] == "leased"
    site.held.discard(lease)
    looking._recover(job_runner.Job, pool.LeaseWatch(90.0))
    assert job(site, about)[:2] == ("waiting", 0)
    assert runner.run_next()


def test_a_lease_that_was_silent_too_long_costs_a_try(site, runner):
    ask(site, "well", about="silent")
    with site.database.writing() as session:
        row = runner.lease(session, "another/machine:1:1:x")
        row.lease = lease = "another/machine:1:1:x"
    watched = pool.LeaseWatch(0.0)
    looking = pool.WorkerPool(site, KINDS)
    looking._is_abandoned = lambda _: False
    looking._recover(job_runner.Job, watched)
    assert job(site, "silent")[:3] == (
        "waiting",
        1,
        "the process that held the lease stopped responding",
    )
    assert lease
    assert runner.run_next()


def test_the_place_in_the_queue_is_told(site, runner):
    first, second = ask(site, "well", about="a"), ask(site, "well", about="b")
    with site.database.reading() as session:
        told = [
            job_queue_position(session, find_job(session, "act", about))
            for about in (first, second)
        ]
    assert [one["place"] for one in told] == [0, 1]
    assert told[0]["phase"] == "waiting"
    assert runner.run_next()
    assert runner.run_next()


def test_the_process_of_a_cancelled_job_is_ended_at_the_next_renewal(site, monkeypatch):
    monkeypatch.setattr("segarena_server.workers.leased_row_runner._RENEW_EVERY_S", 0.0)
    ended = []

    class Watched(Here):
        """A process that renews the lease of its unit before and after the job is cancelled."""

        def do(self, unit, meanwhile, limit_s=None):
            meanwhile()
            with site.database.writing() as session:
                assert cancel_job(session, "act", "slow", 9.0)
            return super().do(unit, meanwhile, limit_s)

        def end(self):
            ended.append(True)

    ask(site, "slow")
    assert JobRunner(site, list(KINDS.values()), Watched()).run_next()
    assert ended == [True]
    assert job(site, "slow") == ("done", 1, "", "")
