"""Finding what made a run's numbers: files that options name, sources of plug-ins, files of samples."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from itertools import chain
from pathlib import Path
from typing import Any

from segarena.abilities import KnowsFiles, KnowsItsIdentity
from segarena.errors import PluginError
from segarena.files.contents import files_below, hashes_of_files
from segarena.files.hashes import sha256_of_all
from segarena.files.sources import imported_beside, imported_names
from segarena.records.configuration import DatasetRecord, PluginRecord, RunConfiguration
from segarena.records.fingerprints import Fingerprints
from segarena.records.identity import FingerprintBy, Identity
from segarena.registry import KINDS, known
from segarena.roles import Dataset
from segarena.specs import PluginSpec


@dataclass(slots=True)
class _Found:
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
    """Return the fingerprints of a run that is about to begin or to go on, and those of each file of its data.

    Args:
        config: which plug-ins, with all their options, and which samples.
        dataset: as built.
        segmenter: as built, if it is; one that works elsewhere knows what decides its answers there.
        by: whether the data's content is read, or their names and sizes (in `dataset.fingerprint`) are enough.
    """
    found = _Found()
    adapter = config.benchmark.adapter
    for used in (
        config.segmenter,
        config.dataset,
        *config.users,
        *config.metrics,
        *([adapter] if adapter else []),
    ):
        _look(used, found)
    weights = dict(zip(found.weights, hashes_of_files(list(found.weights.values())), strict=True))
    sources = dict(zip(found.sources, hashes_of_files(list(found.sources.values())), strict=True))
    there = _elsewhere(segmenter)
    weights = {**weights, **there.get("weights", {})}
    sources = {**sources, **there.get("sources", {})}
    found.packages |= {
        f"{name} (elsewhere)": version for name, version in there.get("environment", {}).items()
    }
    data, files = _content(dataset, config.dataset.samples) if by == "content" else ("", ())
    return Identity(
        weights=weights, sources=sources, packages=found.packages, data=data, data_by=by
    ), files


def _elsewhere(segmenter: Any) -> Mapping[str, Mapping[str, str]]:
    """Return the identity of a segmenter in another process, also of one that another segmenter asks."""
    while segmenter is not None and not isinstance(segmenter, KnowsItsIdentity):
        segmenter = getattr(segmenter, "segmenter", None)
    return {} if segmenter is None else segmenter.identity


def _content(dataset: Dataset, samples: Sequence[str]) -> tuple[str, Fingerprints]:
    """Return a hash of all files of these samples, in order, and that of each; nothing where they are not known."""
    if not isinstance(dataset, KnowsFiles):
        return "", ()
    files = [
        (sample, file)
        for sample in samples
        for path in dataset.files_of(sample)
        for file in files_below(path)
    ]
    hashes = hashes_of_files([file for _, file in files])
    lines = (
        f"{sample}\n{file.name}\n{each}\n"
        for (sample, file), each in zip(files, hashes, strict=True)
    )
    each_file = {file: digest for (_, file), digest in zip(files, hashes, strict=True)}
    return sha256_of_all(lines), [
        ("/".join(file.parts[-2:]), digest) for file, digest in each_file.items()
    ]


def _look(used: PluginRecord, found: _Found) -> None:
    """Note the files and packages behind a plug-in and behind those that its options name."""
    if ".py:" in used.name:
        file = Path(used.name.rpartition(":")[0])
        sources = [one for one in imported_beside(file) if one.is_file()]
        found.sources |= {str(one): one for one in sources}
        _note_packages(chain.from_iterable(map(imported_names, sources)), found)
    else:
        _note_packages(_modules_of(used), found)
    is_dataset = isinstance(used, DatasetRecord)
    for name, text in _texts(used.options):
        nested = _nested(text)
        if nested is not None:
            _look(nested, found)
        elif not is_dataset or Path(text).expanduser().is_file():  # its folders hold the samples
            found.weights |= {str(file): file for file in _files(name, text)}


def _modules_of(used: PluginRecord) -> Iterator[str]:
    """Yield where plug-ins of this name are defined; which kind an option means is not known here."""
    for kind in (used.kind,) if used.kind else KINDS:
        factory = known(kind, used.name)
        if factory is not None:
            yield factory.__module__


def _texts(options: Mapping[str, Any], name: str = "") -> Iterator[tuple[str, str]]:
    """Yield every text among options, at any depth, with the name of the option."""
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


def _nested(text: str) -> PluginRecord | None:
    """Return the plug-in that an option names, if it is one: from a file, with options of its own, or registered."""
    try:
        spec = PluginSpec.parse(text)
    except PluginError:
        return None
    is_known = ".py:" in text or text.endswith(")") or any(known(kind, text) for kind in KINDS)
    return PluginRecord(name=spec.reference, options=spec.options) if is_known else None


def _files(name: str, text: str) -> list[Path]:
    if not text:  # not the working directory
        return []
    path = Path(text).expanduser()
    # Words of options ("first", "binary") may happen to be names of folders.
    is_place = "/" in text or name in ("path", "weights")
    if path.is_file() or (is_place and path.is_dir()):
        return files_below(path)
    return _from_hub(text) if name == "weights" else []


def _from_hub(name: str) -> list[Path]:
    """Return the files of a model on the hub, as they lie in the local cache."""
    hub: Any = sys.modules.get("huggingface_hub")  # whatever loaded the model has imported it
    if hub is None or name.count("/") != 1:
        return []
    config = hub.try_to_load_from_cache(name, "config.json")
    return files_below(Path(config).parent) if isinstance(config, str) else []


def _note_packages(names_of_modules: Iterable[str], found: _Found) -> None:
    """Note the versions of the packages that modules are from, unless that is ours or Python itself."""
    tops = (
        {name.partition(".")[0] for name in names_of_modules}
        - {"segarena"}
        - sys.stdlib_module_names
    )
    for name in chain.from_iterable(_distributions().get(top, ()) for top in sorted(tops)):
        with suppress(PackageNotFoundError):
            found.packages[name] = version(name)


@cache  # reads the list of files of every installed package: a fifth of a second, more than a small run takes
def _distributions() -> Mapping[str, list[str]]:
    return packages_distributions()
