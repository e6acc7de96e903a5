"""Worker processes that are forked from one that has imported everything: imports take each of them over a second.

That processes are spawned, and import for themselves, is tested with those of `tests/work`, and with each server that a
test starts as a command.
"""

import multiprocessing
import os
from contextlib import contextmanager

import pytest

from segarena.registry import plugin_kinds, plugins_by_name
from segarena.work import worker_handle, worker_process


@contextmanager
def workers_are_forked():
    """Within this block, worker processes of this one are forked."""
    plugins = {
        factory.__module__ for kind in plugin_kinds() for factory in plugins_by_name(kind).values()
    }
    ours = sorted(name for name in plugins if name.startswith("segarena."))
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        [*ours, "segarena_server.jobs.job_runner", "segarena_server.challenges.evaluator"]
    )
    first = context.Process(target=int)  # no test waits for the imports
    first.start()
    first.join()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker_handle, "multiprocessing", _Forking(context))
        yield


class _Forking:
    """What `segarena.work.worker_handle` needs of `multiprocessing`."""

    def __init__(self, context):
        self._context = context

    def get_context(self, _):
        return self

    def __getattr__(self, name):
        return getattr(self._context, name)

    def Process(self, *, target, args, daemon):
        assert target is worker_process.run_worker
        return self._context.Process(
            target=live, args=(dict(os.environ), os.getpid(), *args), daemon=daemon
        )


def live(environment, parent_id, *args):
    """Live as a process that was spawned would, with the environment of now and not of when the first was forked."""
    os.environ.clear()
    os.environ.update(environment)
    forking = os.getppid()
    worker_process.die_with = lambda said: die_with(forking if said == parent_id else said)
    worker_process.run_worker(*args)


die_with = worker_process.die_with
