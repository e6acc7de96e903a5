"""Long work of a comparison, remembered in files where there is a folder for them: the next call goes on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from segarena.errors import UnitFailed
from segarena.files.hashes import fingerprint, sha256_of_file
from segarena.registry import describe
from segarena.specs import PluginSpec
from segarena.version import __version__
from segarena.work.executors import make_executor
from segarena.work.jobs import Job, Workers
from segarena.work.ledger import Ledger
from segarena.work.progress import OnProgress
from segarena.work.resumable_work import do_pending
from segarena_people.collection import Collection


def collection_hash(collection: Collection) -> str:
    """Return a hash of the table of a collection; masks that change below the same names are not noticed."""
    return fingerprint(msgspec.json.encode(collection.rows))


def plugin_identity(kind: str, plugin: PluginSpec) -> dict[str, Any]:
    """Return what a plug-in is remembered by; one that reads a file of other contents is another one."""
    named = {name: Path(value) for name, value in plugin.options.items() if isinstance(value, str)}
    files = {name: sha256_of_file(path) for name, path in named.items() if path.is_file()}
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
    """Return what a job made of each unit; those that are done already are not done again.

    Args:
        job: returns plain values.
        units: by name.
        identity: what the work is; another one has a file of its own.
        seed: part of that, as the version is.
        kept: folder of the files; None remembers nothing.
        workers: processes, or an executor.
        stage: what progress is called.
        on_progress: told of each unit.

    Raises:
        UnitFailed: what the first unit that failed said.
        StoreError: the folder cannot be written to.
    """
    whole = {**identity, "seed": seed, "version": __version__}
    if kept is None:
        path = None
    else:
        path = kept / f"{fingerprint(msgspec.json.encode(whole))}.jsonl"
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
    # The units themselves would make a long first line; the name of the file says which they are.
    with Ledger(path, {"stage": stage, "seed": seed, "version": __version__}) as ledger:
        failed = do_pending(
            job, units, ledger, make_executor(workers), stage=stage, on_progress=on_progress
        )
        for name, error in failed.items():
            raise UnitFailed(f"{name}: {error}") from error
        return {name: ledger.done[name] for name in units}
