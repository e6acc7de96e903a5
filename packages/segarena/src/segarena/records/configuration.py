"""Configuration of a run, stored in run.json: everything needed to repeat the run, and its counts."""

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
from segarena.records.run_identity_record import Identity


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginRecord:
    """A plug-in of a run.

    Attributes:
        kind: role of the plug-in: "segmenter", "user", ...
        name: registered name, or `file.py:Name`.
        options: all options, including those left at their defaults.
        sha256: SHA-256 of the file, for a plug-in given by its path.
        sees_truth: whether a segmenter receives the targets, like controls do.
        encodes_with_prompts: whether each prediction of a segmenter is a network pass, while `encode` is not.
        label: name of a segmenter in reports and boards, as given with `--name`; "" for its own name.
        display_name: name that a segmenter gives itself, such as the model of a worker; "" for none.
        isolation: how the ground truth was hidden from a segmenter: "sandbox" (a process that cannot read the dataset's
            files), "process" (a separate process that could read them), or "" (it ran in the process that has the
            ground truth).
    """

    kind: str = ""
    name: str
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    sha256: str | None = None
    sees_truth: bool = False
    encodes_with_prompts: bool = False
    label: str = ""
    display_name: str = ""
    isolation: str = ""

    @property
    def spec(self) -> PluginSpec:
        """Specification that builds the plug-in again."""
        return PluginSpec(self.name, dict(self.options))


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetRecord(PluginRecord):
    """The dataset of a run, with the ids of its samples in order.

    Attributes:
        fingerprint: hash of the data and of the rules that derive targets from them.
        samples: ids of the samples, in order.
        assumptions: what the dataset assumed where its files do not say, one line each.
    """

    fingerprint: str
    samples: tuple[str, ...]
    assumptions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UserRecord(PluginRecord):
    """A user of a run; `written` is the name of the user in the records."""

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
        targets: targets with a dialogue; if every user chooses its targets, also those that none chose.
        encodes: encoder passes.
        encodes_from_cache: encodings that were read from the cache instead.
        failures: failed dialogues; a sample that a plug-in made unusable counts once.
        unloaded: samples that the dataset could not load, which are no failures of the segmenter. Runs of earlier
            versions count them among `failures`.
        targets_without: number of targets without a dialogue, by user; users without such targets are
            omitted.
    """

    samples: int
    targets: int
    rounds: int
    encodes: int
    encodes_from_cache: int = 0
    failures: int
    unloaded: int = 0
    targets_without: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Agreement of repeated answers with the original ones.

    Attributes:
        asked: number of repeated answers.
        differed: number of repeated answers that changed or were missing.
        worst_iou: lowest IoU of an answer with its repetition, over all objects; 1 if all are equal, 0 if one is
            missing.
        worst: name of the answer with the lowest IoU, and why it is missing; empty if all are equal.
    """

    asked: int
    differed: int = 0
    worst_iou: float = 1.0
    worst: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfiguration:
    """Contents of run.json.

    Attributes:
        format: format version of the run folder; see `segarena.records.format_upgrade`.
        version: version of segarena.
        note: remark about the run, as given with `--note`.
        tags: words by which people sort their runs, as given with `--tag`.
        created, finished: times in ISO 8601; empty until then.
        environment: type of the machine, and versions of Python and of the packages used for computation.
        command: command line that repeats the run.
        directory: working directory of the command, to which relative paths refer; empty in earlier versions.
        identity: fingerprints of weights, sources and data; None in earlier versions.
        counts: None until the run is finished.
        verified: agreement of repeated answers (`segarena.engine.answer_verification`); None if no answers
            were repeated.
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
    note: str = ""
    tags: tuple[str, ...] = ()
    created: str = ""
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    command: str = ""
    directory: str = ""
    identity: Identity | None = None
    finished: str = ""
    counts: RunCounts | None = None
    verified: Agreement | None = None


def resolve_paths(used: PluginRecord, directory: str) -> PluginRecord:
    """Resolve relative paths of a plug-in, in its file and options, from `directory`.

    Only existing paths are resolved, because other options may merely look like paths.
    """

    def resolve(text: str, file: str) -> str:
        if not Path(directory, file).exists():
            return text
        return str(Path(directory, text))

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
    """Return the record of a run's dataset with the new location of its files.

    Args:
        used: the dataset.
        data: the new folder, or "OPTION=FOLDER". Without an option, the folder replaces the option `path`, else
            the only text option with a "/", else the only text option.

    Raises:
        InvalidInput: no option can be the folder, or several can.
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


# Search in the bytes, because the checksum covers the exact text of the file.
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
    "note",
    "tags",
    "identity",
)
"""Fields that may differ if a run is continued; for `identity` see `identity_changes` in `run_identity_record`."""


class LoadedConfiguration(NamedTuple):
    """A configuration that was read, a message about a checksum mismatch ("" for none), and whether it has a checksum.

    A missing checksum in a format that has checksums counts as a mismatch.
    """

    config: RunConfiguration
    damage: str
    is_sealed: bool


def read_configuration(file: Path) -> LoadedConfiguration:
    """Read a run.json of any version, upgrade it to the current format, and verify its checksum.

    Raises:
        StoreError: the file cannot be read, is not JSON, has a later format, or lacks a field or has one of a wrong
            type.
    """
    try:
        data = file.read_bytes()
        plain = json.loads(data)
        config = parse_configuration(plain)
    except OSError as error:
        raise StoreError(f"{file} cannot be read: {error.strerror}") from error
    # UTF-8, JSON and fields raise ValueError; deeply nested lists raise RecursionError.
    except (ValueError, RecursionError) as error:
        raise StoreError(
            f"{file} is damaged or not a run of segarena: {error}; choose another folder, or "
            "restore the file"
        ) from error
    seal = _SEAL.search(data)
    if seal is None:
        # A missing checksum in a format that has checksums means damage.
        is_sealed = plain.get("format", 1) in SEALED_FORMATS
        is_intact = False
    else:
        is_sealed = True
        is_intact = sha256(data[: seal.start()]) == seal[1].decode()
    damage = ""
    if is_sealed and not is_intact:
        damage = (
            f"{file} has changed since it was written: its SHA-256 does not match the stored one"
        )
    return LoadedConfiguration(config, damage, is_sealed)


def parse_configuration(plain: Any) -> RunConfiguration:
    """Build the configuration from the plain values of a run.json of any version.

    Raises:
        ValueError: a field is missing or invalid, or a later version wrote the file; the message says which and why.
    """
    if not isinstance(plain, dict):
        raise ValueError(f"expected an object, got {type(plain).__name__}")  # noqa: TRY004 - the reader adds the file
    try:
        return msgspec.convert(upgrade_configuration(plain), RunConfiguration)
    except msgspec.ValidationError as error:
        # The message of msgspec is "Expected `int`, got `str` - at `$.rounds`".
        problem, _, path = str(error).partition(" - at `$.")
        field_name = path.rstrip("`") or "the whole"
        message = problem[0].lower() + problem[1:]
        raise ValueError(f"{field_name}: {message}") from error


def plain_configuration(config: RunConfiguration) -> dict[str, Any]:
    """Convert `config` to JSON types: numbers, strings, lists, objects and null."""
    return json.loads(json.dumps(msgspec.to_builtins(config)))


def configuration_text(config: RunConfiguration) -> str:
    """Return the text of run.json: the configuration, followed by the SHA-256 of the bytes before it."""
    whole = json.dumps(plain_configuration(config), indent=2, ensure_ascii=False)
    # Omit the closing bracket, which follows the checksum.
    text = whole.removesuffix("\n}")
    return f'{text},\n  "sha256": "{sha256(text)}"\n}}'
