"""Cache for the expensive steps of a comparison, so that an interrupted comparison can resume."""

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
    """Return a hash of a collection's table; a changed mask under an unchanged name is not detected."""
    return fingerprint(msgspec.json.encode(collection.rows))


def plugin_identity(kind: str, plugin: PluginSpec) -> dict[str, Any]:
    """Return a plug-in's cache key, which includes the hashes of the files named in its options."""
    files: dict[str, str] = {}
    for name, value in plugin.options.items():
        # A file with changed content under the same name must not hit the cache.
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
    """Run a job for each unit that is not cached, and return all results.

    Args:
        job: job that returns plain values.
        units: units by name.
        identity: cache key of the work; each key has its own cache file.
        seed: seed of the work; part of the key, as is segarena's version.
        kept: cache folder; None disables the cache.
        workers: number of processes, or an executor.
        stage: stage name for progress reports.
        on_progress: called after each unit.

    Raises:
        UnitFailed: the first error that a unit raised.
        StoreError: the folder is not writable.
    """
    # Include the version, because another version may produce other results.
    whole = {**identity, "seed": seed, "version": __version__}
    if kept is None:
        path = None
    else:
        path = kept / f"{fingerprint(msgspec.json.encode(whole))}.jsonl"
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
    # The file name already identifies the work; its identity would make the first line very long.
    with Ledger(path, {"stage": stage, "seed": seed, "version": __version__}) as ledger:
        failed = do_pending(
            job,
            units,
            ledger,
            make_executor(workers),
            stage=stage,
            on_progress=on_progress,
        )
        for name, error in failed.items():
            raise UnitFailed(f"{name}: {error}") from error
        return {name: ledger.done[name] for name in units}
