"""Fingerprints of everything that decides a run's numbers: weights, plug-in sources, packages and data."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from typing import Any

from segarena.capabilities import FileListing, worker_identity
from segarena.errors import PluginError
from segarena.files.hash_cache import files_below, hash_files
from segarena.files.hashes import sha256_of_parts
from segarena.files.python_imports import imported_names, source_files
from segarena.plugin_spec import PluginSpec
from segarena.records.configuration import DatasetRecord, PluginRecord, RunConfiguration
from segarena.records.fingerprints import Fingerprints
from segarena.records.identity import FingerprintBy, Identity
from segarena.registry import KINDS, lookup
from segarena.roles import Dataset


@dataclass(slots=True)
class _Provenance:
    """Files and package versions behind the plug-ins of a run, by name."""

    weights: dict[str, Path] = field(default_factory=dict[str, Path])
    sources: dict[str, Path] = field(default_factory=dict[str, Path])
    packages: dict[str, str] = field(default_factory=dict[str, str])


def identity_of(
    config: RunConfiguration,
    dataset: Dataset,
    *,
    segmenter: Any = None,
    by: FingerprintBy = "content",
) -> tuple[Identity, Fingerprints]:
    """Return the fingerprints of a run at its start, and the fingerprint of each data file.

    Args:
        config: the plug-ins with all their options, and the samples.
        dataset: as built.
        segmenter: as built, if it is; one that works elsewhere knows the fingerprints there.
        by: "content" reads the data; "names" relies on names and sizes (in `dataset.fingerprint`).
    """
    found = _Provenance()
    used = [config.segmenter, config.dataset, *config.users, *config.metrics]
    if config.benchmark.adapter is not None:
        used.append(config.benchmark.adapter)
    for plugin in used:
        _add_plugin(plugin, found)
    remote = _remote_identity(segmenter)
    weights = {**_hashes(found.weights), **remote.get("weights", {})}
    sources = {**_hashes(found.sources), **remote.get("sources", {})}
    for name, release in remote.get("environment", {}).items():
        found.packages[f"{name} (elsewhere)"] = release
    data = ""
    files: Fingerprints = ()
    if by == "content":
        data, files = _data_hashes(dataset, config.dataset.samples)
    identity = Identity(
        weights=weights, sources=sources, packages=found.packages, data=data, data_by=by
    )
    return identity, files


def _hashes(files: Mapping[str, Path]) -> dict[str, str]:
    return dict(zip(files, hash_files(list(files.values())), strict=True))


def _remote_identity(segmenter: Any) -> Mapping[str, Mapping[str, str]]:
    """Return the identity of a segmenter in another process, also of one that another segmenter wraps."""
    # Adapters and lifts hold the segmenter that they call in `segmenter`.
    while segmenter is not None and worker_identity(segmenter) is None:
        segmenter = getattr(segmenter, "segmenter", None)
    return worker_identity(segmenter) or {}


def _data_hashes(dataset: Dataset, samples: Sequence[str]) -> tuple[str, Fingerprints]:
    """Hash all files of these samples, jointly and one by one; empty if unknown."""
    if not isinstance(dataset, FileListing):
        return "", ()
    owned: list[tuple[str, Path]] = []
    for sample in samples:
        for path in dataset.files_of(sample):
            owned.extend((sample, file) for file in files_below(path))
    hashes = hash_files([file for _, file in owned])
    lines: list[str] = []
    # Samples may share a file, which is then listed once.
    by_file: dict[Path, str] = {}
    for (sample, file), digest in zip(owned, hashes, strict=True):
        lines.append(f"{sample}\n{file.name}\n{digest}\n")
        by_file[file] = digest
    fingerprints = [("/".join(file.parts[-2:]), digest) for file, digest in by_file.items()]
    return sha256_of_parts(lines), fingerprints


def _add_plugin(used: PluginRecord, found: _Provenance) -> None:
    """Add the files and packages behind a plug-in and behind the plug-ins that its options name."""
    if ".py:" in used.name:
        file = Path(used.name.rpartition(":")[0])
        sources = [one for one in source_files(file) if one.is_file()]
        found.sources |= {str(one): one for one in sources}
        for source in sources:
            _add_packages(imported_names(source), found)
    else:
        _add_packages(_modules_of(used), found)
    is_dataset = isinstance(used, DatasetRecord)
    for name, text in _texts(used.options):
        nested = _nested_plugin(text)
        if nested is not None:
            _add_plugin(nested, found)
        # The folders of a dataset hold the samples, which have hashes of their own.
        elif not is_dataset or Path(text).expanduser().is_file():
            found.weights |= {str(file): file for file in _files(name, text)}


def _modules_of(used: PluginRecord) -> Iterator[str]:
    """Yield the modules of all plug-ins of this name; the kind is unknown for one named in an option."""
    kinds = (used.kind,) if used.kind else KINDS
    for kind in kinds:
        factory = lookup(kind, used.name)
        if factory is not None:
            yield factory.__module__


def _texts(options: Mapping[str, Any], name: str = "") -> Iterator[tuple[str, str]]:
    """Yield (option, text) for every text among options, at any depth."""
    for key, value in options.items():
        if isinstance(value, dict):
            inner = value.values()
        else:
            inner = value if isinstance(value, (list, tuple)) else [value]
        for one in inner:
            if isinstance(one, dict):
                yield from _texts(one, name or key)
            elif isinstance(one, str):
                yield name or key, one


def _nested_plugin(text: str) -> PluginRecord | None:
    """Return the plug-in that an option names, if any: from a file, with options, or registered."""
    try:
        spec = PluginSpec.parse(text)
    except PluginError:
        return None
    is_known = ".py:" in text or text.endswith(")") or any(lookup(kind, text) for kind in KINDS)
    return PluginRecord(name=spec.reference, options=spec.options) if is_known else None


def _files(name: str, text: str) -> list[Path]:
    # An empty text would mean the working directory.
    if not text:
        return []
    path = Path(text).expanduser()
    # Words of options ("first", "binary") may happen to be names of folders.
    may_be_folder = "/" in text or name in ("path", "weights")
    if path.is_file() or (may_be_folder and path.is_dir()):
        return files_below(path)
    return _from_hub(text) if name == "weights" else []


def _from_hub(name: str) -> list[Path]:
    """Return the files of a model on the hub from the local cache; none if it is not loaded."""
    # The code that loaded the model has imported the hub; importing it here would be slow.
    hub: Any = sys.modules.get("huggingface_hub")
    if hub is None or name.count("/") != 1:
        return []
    config = hub.try_to_load_from_cache(name, "config.json")
    return files_below(Path(config).parent) if isinstance(config, str) else []


def _add_packages(module_names: Iterable[str], found: _Provenance) -> None:
    """Add the versions of the packages of modules, except segarena and the standard library."""
    packages = {name.partition(".")[0] for name in module_names}
    packages -= {"segarena", *sys.stdlib_module_names}
    for package in sorted(packages):
        for distribution in _distributions().get(package, ()):
            with suppress(PackageNotFoundError):
                found.packages[distribution] = version(distribution)


# Cached, because listing the files of every installed package takes a fifth of a second.
@cache
def _distributions() -> Mapping[str, list[str]]:
    return packages_distributions()
