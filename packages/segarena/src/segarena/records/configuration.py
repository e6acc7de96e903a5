"""The configuration of a run, stored in run.json: everything needed to repeat it, and its counts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec

from segarena.benchmark_rules import Statistic, TimeBudget
from segarena.errors import InvalidInput, StoreError
from segarena.files.hashes import sha256
from segarena.plugin_spec import PluginSpec
from segarena.records.format_upgrade import RUN_FORMAT, SEALED_FORMATS, upgrade_configuration
from segarena.records.identity import Identity


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginRecord:
    """A plug-in of a run.

    Attributes:
        kind: its role: "segmenter", "user", ...
        name: as registered, or `file.py:Name`.
        options: all of them, including those left at their defaults.
        sha256: SHA-256 of the file, for a plug-in given by its path.
        sees_truth: whether a segmenter gets the targets, as controls do.
        encodes_with_prompts: whether each answer of a segmenter is a network pass, and encoding none.
    """

    kind: str = ""
    name: str
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    sha256: str | None = None
    sees_truth: bool = False
    encodes_with_prompts: bool = False

    @property
    def spec(self) -> PluginSpec:
        """The specification that builds it again."""
        return PluginSpec(self.name, dict(self.options))


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetRecord(PluginRecord):
    """The dataset of a run, with the samples that take part, in order."""

    fingerprint: str
    samples: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UserRecord(PluginRecord):
    """A user of a run; `written` is its name in the records."""

    written: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkRecord:
    """The rules of a run; see `segarena.roles.Benchmark`. Users, metrics and rounds are in `RunConfiguration`."""

    name: str
    protocol: str
    paper: str = ""
    stop_at: tuple[str, float] | None = None
    budget: TimeBudget | None = None
    sample_kind: str = "image"
    adapter: PluginRecord | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    summary: tuple[Statistic, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCounts:
    """Counts of a finished run.

    Attributes:
        targets: targets with a dialogue; all targets of the data if every user chooses its own.
        encodes: encoder passes.
        encodes_from_cache: encodings that were read instead.
        failures: failed dialogues; a sample that could not be used counts once.
        targets_without: for each user, the number of targets without a dialogue; users without such targets are left
            out.
    """

    samples: int
    targets: int
    rounds: int
    encodes: int
    encodes_from_cache: int = 0
    failures: int
    targets_without: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Agreement of repeated answers with the first ones.

    Attributes:
        asked: number of repeated answers.
        differed: number of those that changed or were missing.
        worst_iou: lowest IoU of an answer with its repetition, over all objects; 1 if all are equal, 0 for a missing
            one.
        worst: name of that answer, and why it is missing; empty if all are equal.
    """

    asked: int
    differed: int = 0
    worst_iou: float = 1.0
    worst: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfiguration:
    """The contents of run.json.

    Attributes:
        format: format version of the run folder; see `segarena.records.format_upgrade`.
        version: version of segarena.
        created, finished: moments in ISO 8601; empty until then.
        environment: versions of the packages that compute.
        command: command line that repeats the run.
        directory: working directory of the command, from which relative paths start. Empty in earlier versions.
        identity: fingerprints of weights, sources and data; None in earlier versions.
        counts: None until the run is finished.
        verified: agreement of repeated answers (`segarena.engine.answer_verification`); None if none were.
    """

    format: int = RUN_FORMAT
    version: str
    benchmark: BenchmarkRecord
    segmenter: PluginRecord
    dataset: DatasetRecord
    users: Annotated[tuple[UserRecord, ...], msgspec.Meta(min_length=1)]
    metrics: tuple[PluginRecord, ...]
    rounds: int
    repeats: int = 1
    seed: int = 0
    keep_rounds: tuple[int, ...] = ()
    time_limit_s: float = 60.0
    created: str = ""
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    command: str = ""
    directory: str = ""
    identity: Identity | None = None
    finished: str = ""
    counts: RunCounts | None = None
    verified: Agreement | None = None


def resolve_paths(used: PluginRecord, directory: str) -> PluginRecord:
    """Return a plug-in with the relative paths of its file and options resolved from `directory`.

    Only paths that exist there are resolved, because other options may merely look like paths.
    """

    def resolve(text: str, file: str) -> str:
        return str(Path(directory, text)) if Path(directory, file).exists() else text

    options: dict[str, Any] = {}
    for name, value in used.options.items():
        options[name] = value
        if isinstance(value, str) and value and (name == "path" or "/" in value):
            options[name] = resolve(value, value)
    name = used.name
    if ".py:" in name:
        name = resolve(name, name.rpartition(":")[0])
    return replace(used, name=name, options=options)


def move_data(used: PluginRecord, data: str) -> PluginRecord:
    """Return a dataset of a run with its files in another folder.

    Args:
        used: the dataset.
        data: the folder, or "OPTION=FOLDER". Without an option, the folder replaces the option `path`, else the only
            text option with a "/", else the only text option.

    Raises:
        InvalidInput: no option may be a folder, or several may.
    """
    option, _, folder = data.partition("=")
    if option in used.options:
        return replace(used, options={**used.options, option: folder})
    texts = [name for name, value in used.options.items() if isinstance(value, str)]
    with_slash = [name for name in texts if "/" in str(used.options[name])]
    candidates = ["path"] if "path" in texts else with_slash or texts
    if len(candidates) != 1:
        if candidates:
            wanted = f"give OPTION={data}, OPTION being one of {', '.join(candidates)}"
        else:
            wanted = "leave it out"
        raise InvalidInput(
            f"data: expected a dataset with one folder, got {used.name} with {len(candidates) or 'none'}; {wanted}"
        )
    return replace(used, options={**used.options, candidates[0]: data})


# Searched in the bytes, because the checksum covers the exact text of the file.
_SEAL = re.compile(rb',\s*"sha256": "([0-9a-f]{64})"\s*\}\s*\Z')

CIRCUMSTANCES = (
    "format",
    "created",
    "finished",
    "environment",
    "command",
    "directory",
    "counts",
    "verified",
    "time_limit_s",
    "identity",
)
"""Fields that may differ when a run is continued; for `identity` see `segarena.records.identity.identity_changes`."""


class LoadedConfiguration(NamedTuple):
    """A configuration as read, with a message about a checksum mismatch; "" for none."""

    config: RunConfiguration
    damage: str
    is_sealed: bool


def read_configuration(file: Path) -> LoadedConfiguration:
    """Read a run.json of any version, upgrade it to the current format, and verify its checksum.

    Raises:
        StoreError: it cannot be read, is not JSON, is of a later format, or a field is missing or of another type.
    """
    try:
        data = file.read_bytes()
        plain = json.loads(data)
        config = parse_configuration(plain)
    except OSError as error:
        raise StoreError(f"{file} cannot be read: {error.strerror}") from error
    # A ValueError comes from UTF-8, JSON or a field; a RecursionError from deeply nested lists.
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{file} is damaged or not a run of segarena: {error}") from error
    seal = _SEAL.search(data)
    if seal is None:
        # A format with checksums whose checksum is missing is damaged.
        is_sealed = plain.get("format", 1) in SEALED_FORMATS
        is_intact = False
    else:
        is_sealed = True
        is_intact = sha256(data[: seal.start()]) == seal[1].decode()
    damage = ""
    if is_sealed and not is_intact:
        damage = f"{file} is not as it was written: its SHA-256 is not the one in it"
    return LoadedConfiguration(config, damage, is_sealed)


def parse_configuration(plain: Any) -> RunConfiguration:
    """Return the configuration in the plain values of a run.json of any version.

    Raises:
        ValueError: names the field, the expected and the found value.
    """
    if not isinstance(plain, dict):
        raise ValueError(f"expected an object, got {type(plain).__name__}")  # noqa: TRY004 - the reader adds the file
    try:
        return msgspec.convert(upgrade_configuration(plain), RunConfiguration)
    except msgspec.ValidationError as error:
        problem, _, where = str(error).partition(" - at `$.")
        raise ValueError(
            f"{where.rstrip('`') or 'the whole'}: {problem[0].lower()}{problem[1:]}"
        ) from error


def plain_configuration(config: RunConfiguration) -> dict[str, Any]:
    """Return `config` in JSON types: numbers, texts, lists, objects and null."""
    return json.loads(json.dumps(msgspec.to_builtins(config)))


def configuration_text(config: RunConfiguration) -> str:
    """Return the text of run.json: the configuration, followed by the SHA-256 of the bytes before it."""
    # Without the closing bracket, which follows the checksum.
    text = json.dumps(plain_configuration(config), indent=2, ensure_ascii=False).removesuffix("\n}")
    return f'{text},\n  "sha256": "{sha256(text)}"\n}}'
