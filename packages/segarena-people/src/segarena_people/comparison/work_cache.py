"""Cache of a comparison's long-running work: an interrupted comparison continues where it stopped."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from segarena.errors import UnitFailed
from segarena.files.hashes import fingerprint, sha256_of_file
from segarena.plugin_spec import PluginSpec
from segarena.registry import describe
from segarena.version import __version__
from segarena.work.executors import make_executor
from segarena.work.jobs import Job, Workers
from segarena.work.ledger import Ledger
from segarena.work.progress import OnProgress
from segarena.work.resumable_work import do_pending
from segarena_people.collection import Collection


def collection_hash(collection: Collection) -> str:
    """Return a hash of a collection's table; masks that change under the same names go unnoticed."""
    return fingerprint(msgspec.json.encode(collection.rows))


def plugin_identity(kind: str, plugin: PluginSpec) -> dict[str, Any]:
    """Return the cache identity of a plug-in; files that its options name count with their contents."""
    files: dict[str, str] = {}
    for name, value in plugin.options.items():
        if isinstance(value, str) and Path(value).is_file():
            files[name] = sha256_of_file(Path(value))
    return {**describe(kind, plugin), "files": files}


def run_cached(
    job: Job[Any, Any],
    units: Mapping[str, Any],
    identity: Mapping[str, Any],
    *,
    seed: int,
    kept: Path | None,
    workers: Workers,
    stage: str,
    on_progress: OnProgress,
) -> dict[str, Any]:
    """Run a job on each unit that is not cached, and return all results.

    Args:
        job: job that returns plain values.
        units: units by name.
        identity: identity of the work; each one has a cache file of its own.
        seed: part of the identity, like the version.
        kept: cache folder; None caches nothing.
        workers: number of processes, or an executor.
        stage: name of the stage in progress reports.
        on_progress: called after each unit.

    Raises:
        UnitFailed: the error of the first unit that failed.
        StoreError: the folder cannot be written to.
    """
    whole = {**identity, "seed": seed, "version": __version__}
    if kept is None:
        path = None
    else:
        path = kept / f"{fingerprint(msgspec.json.encode(whole))}.jsonl"
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
    # The file name identifies the units; listing them would make a long first line.
    with Ledger(path, {"stage": stage, "seed": seed, "version": __version__}) as ledger:
        failed = do_pending(
            job, units, ledger, make_executor(workers), stage=stage, on_progress=on_progress
        )
        for name, error in failed.items():
            raise UnitFailed(f"{name}: {error}") from error
        return {name: ledger.done[name] for name in units}
