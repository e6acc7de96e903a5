"""Fingerprints of everything that determines a run's results: weights, plug-in sources, packages and data."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from typing import Any

from segarena.errors import PluginError
from segarena.files.hash_cache import files_below, hash_files
from segarena.files.hashes import sha256_of_parts
from segarena.files.python_imports import imported_names, source_files
from segarena.plugin_capabilities import FileListing, worker_identity
from segarena.plugin_spec import PluginSpec
from segarena.records.configuration import DatasetRecord, PluginRecord, RunConfiguration
from segarena.records.run_identity_record import FingerprintBy, Fingerprints, Identity
from segarena.registry import KINDS, lookup
from segarena.roles import Dataset


@dataclass(slots=True)
class _Provenance:
    """Files and package versions that the plug-ins of a run use, by name."""

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
    """Return the fingerprints of a run at its start, and the hash of each data file.

    Args:
        config: the plug-ins with all their options, and the samples.
        dataset: the dataset object.
        segmenter: the segmenter object, if it is built; one in another process reports its own fingerprints.
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
        weights=weights,
        sources=sources,
        packages=found.packages,
        data=data,
        data_by=by,
    )
    return identity, files


def _hashes(files: Mapping[str, Path]) -> dict[str, str]:
    return dict(zip(files, hash_files(list(files.values())), strict=True))


def _remote_identity(segmenter: Any) -> Mapping[str, Mapping[str, str]]:
    """Return the identity of a segmenter in another process, including one that another segmenter wraps."""
    # Wrappers store the wrapped segmenter in `segmenter`.
    while segmenter is not None:
        identity = worker_identity(segmenter)
        if identity is not None:
            return identity
        segmenter = getattr(segmenter, "segmenter", None)
    return {}


def _data_hashes(dataset: Dataset, samples: Sequence[str]) -> tuple[str, Fingerprints]:
    """Hash all files of these samples, jointly and one by one; both are empty if the dataset lists no files."""
    if not isinstance(dataset, FileListing):
        return "", ()
    owned: list[tuple[str, Path]] = []
    for sample in samples:
        for path in dataset.files_of(sample):
            for file in files_below(path):
                owned.append((sample, file))
    hashes = hash_files([file for _, file in owned])
    lines: list[str] = []
    # Samples may share a file, which is then hashed once.
    by_file: dict[Path, str] = {}
    for (sample, file), digest in zip(owned, hashes, strict=True):
        lines.append(f"{sample}\n{file.name}\n{digest}\n")
        by_file[file] = digest
    fingerprints: list[tuple[str, str]] = []
    for file, digest in by_file.items():
        # Keep only part of the path, so that a dataset may move.
        short_name = "/".join(file.parts[-2:])
        fingerprints.append((short_name, digest))
    return sha256_of_parts(lines), fingerprints


def _add_plugin(used: PluginRecord, found: _Provenance) -> None:
    """Add the files and packages that a plug-in uses, and those of the plug-ins that its options name."""
    if ".py:" in used.name:
        path, _, _ = used.name.rpartition(":")
        for source in source_files(Path(path)):
            if source.is_file():
                found.sources[str(source)] = source
                _add_packages(imported_names(source), found)
    else:
        _add_packages(_modules_of(used), found)
    is_dataset = isinstance(used, DatasetRecord)
    for name, text in _texts(used.options):
        nested = _nested_plugin(text)
        if nested is not None:
            _add_plugin(nested, found)
        # Skip dataset folders: they contain the samples, which are hashed separately.
        elif not is_dataset or Path(text).expanduser().is_file():
            for file in _files(name, text):
                found.weights[str(file)] = file


def _modules_of(used: PluginRecord) -> Iterator[str]:
    """Yield the module of a plug-in, or the modules of all plug-ins with its name if its kind is unknown."""
    kinds = (used.kind,) if used.kind else KINDS
    for kind in kinds:
        factory = lookup(kind, used.name)
        if factory is not None:
            yield factory.__module__


def _texts(options: Mapping[str, Any], name: str = "") -> Iterator[tuple[str, str]]:
    """Yield (option, text) for every text in the options, at any depth."""
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
    """Return the plug-in that an option names: from a file, with options, or registered; None if there is none."""
    try:
        spec = PluginSpec.parse(text)
    except PluginError:
        return None
    is_plugin = ".py:" in text or text.endswith(")")
    if not is_plugin and not any(lookup(kind, text) for kind in KINDS):
        return None
    return PluginRecord(name=spec.reference, options=spec.options)


def _files(name: str, text: str) -> list[Path]:
    # An empty text would mean the working directory.
    if not text:
        return []
    path = Path(text).expanduser()
    # Option values such as "first" or "binary" may coincide with names of folders.
    may_be_folder = "/" in text or name in ("path", "weights")
    if path.is_file() or (may_be_folder and path.is_dir()):
        return files_below(path)
    if name == "weights":
        return _from_hub(text)
    return []


def _from_hub(name: str) -> list[Path]:
    """Return the locally cached files of a model on the Hugging Face hub, or [] if there are none."""
    # Loading the model has already imported the hub library; importing it here otherwise would be
    # slow.
    hub: Any = sys.modules.get("huggingface_hub")
    if hub is None or name.count("/") != 1:
        return []
    config = hub.try_to_load_from_cache(name, "config.json")
    # For a file that the model does not have, the hub returns None or a special object.
    if not isinstance(config, str):
        return []
    return files_below(Path(config).parent)


def _add_packages(module_names: Iterable[str], found: _Provenance) -> None:
    """Add the versions of the packages that provide these modules, except segarena and the standard library."""
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
