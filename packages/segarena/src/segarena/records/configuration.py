"""What run.json says: everything needed to repeat a run, and what it came to."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec

from segarena.errors import InvalidInput, StoreError
from segarena.files.hashes import sha256
from segarena.records.format_upgrade import RUN_FORMAT, SEALED_FORMATS, upgrade_configuration
from segarena.records.identity import Identity
from segarena.rules import Statistic, TimeBudget
from segarena.specs import PluginSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginRecord:
    """A plug-in as a run had it.

    Attributes:
        kind: which role it plays: "segmenter", "user", ...
        name: as registered, or `file.py:Name`.
        options: all of them, those left at their defaults too.
        sha256: of the file, for a plug-in given by its path.
        sees_truth: of a segmenter: it was given the targets, as controls are.
        encodes_with_prompts: of a segmenter: every answer is a pass of its network, and encoding none.
    """

    kind: str = ""
    name: str
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    sha256: str | None = None
    sees_truth: bool = False
    encodes_with_prompts: bool = False

    @property
    def spec(self) -> PluginSpec:
        """What builds it again."""
        return PluginSpec(self.name, dict(self.options))


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetRecord(PluginRecord):
    """The dataset, with the samples that take part, in order."""

    fingerprint: str
    samples: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UserRecord(PluginRecord):
    """A user; `written` is what records call them."""

    written: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkRecord:
    """The rules; see `segarena.roles.Benchmark`, whose users, metrics and rounds stand beside it."""

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
    """What a finished run came to.

    Attributes:
        targets: those with a dialogue; where all users choose theirs, as people did who drew, all that there are.
        encodes: encoder passes.
        encodes_from_cache: encodings that were read instead.
        failures: dialogues that went wrong; a sample that could not be used counts once.
        targets_without: for each user, the targets about which they have no dialogue; those without any are left out.
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
    """What came of answers that were asked again.

    Attributes:
        asked: how many.
        differed: of these, how many came out otherwise, or not at all.
        worst_iou: the lowest between an answer and the one given again, of several objects that of the worst; 1 when
            all are equal, 0 for one that was not given again.
        worst: which one that was, and why none was given; empty when all are equal.
    """

    asked: int
    differed: int = 0
    worst_iou: float = 1.0
    worst: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfiguration:
    """run.json.

    Attributes:
        format: of the run folder; see `segarena.records.format_upgrade`.
        version: of segarena.
        created, finished: ISO 8601; empty until then.
        environment: versions of what computes.
        command: as it can be typed again.
        directory: where it was given; relative paths lead on from there. Empty in folders of earlier versions.
        identity: what made its numbers beyond that; None in folders of versions that did not take it.
        counts: None until the run is finished.
        verified: what came of asking some of its answers again (`segarena.engine.answer_verification`); None: nobody did.
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
    """Return a plug-in of a run whose relative paths, of its file and in its options, lead on from `directory`."""

    def there(text: str, file: str) -> str:
        return str(Path(directory, text)) if Path(directory, file).exists() else text

    options = {
        name: there(value, value)
        if isinstance(value, str) and value and (name == "path" or "/" in value)
        else value
        for name, value in used.options.items()
    }
    is_file = ".py:" in used.name
    return replace(
        used,
        name=there(used.name, used.name.rpartition(":")[0]) if is_file else used.name,
        options=options,
    )


def move_data(used: PluginRecord, data: str) -> PluginRecord:
    """Return a dataset of a run whose files are in another folder now.

    Args:
        used: the dataset.
        data: the folder; or "OPTION=FOLDER", which says of which option it is the value. Otherwise it is that of the
            option `path`, else of the only one that is text with a "/" in it, else of the only one that is text.

    Raises:
        InvalidInput: no option may be a folder, or several may.
    """
    option, _, folder = data.partition("=")
    if option in used.options:
        return replace(used, options={**used.options, option: folder})
    texts = [name for name, value in used.options.items() if isinstance(value, str)]
    with_slash = [name for name in texts if "/" in str(used.options[name])]
    places = ["path"] if "path" in texts else with_slash or texts
    if len(places) != 1:
        if places:
            wanted = f"give OPTION={data}, OPTION being one of {', '.join(places)}"
        else:
            wanted = "leave it out"
        raise InvalidInput(
            f"data: expected a dataset with one folder, got {used.name} with {len(places) or 'none'}; {wanted}"
        )
    return replace(used, options={**used.options, places[0]: data})


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
"""What may differ when a run is continued; of the identity see `segarena.records.identity.identity_changes`."""


class LoadedConfiguration(NamedTuple):
    """A configuration as read, and what its checksum says against it."""

    config: RunConfiguration
    damage: str
    is_sealed: bool


def read_configuration(file: Path) -> LoadedConfiguration:
    """Return what `file` says, in the terms of today whatever version wrote it, and whether it is as it was written.

    Raises:
        StoreError: it cannot be read, is no JSON, is of a later format, or a field is missing or of another type.
    """
    try:
        data = file.read_bytes()
        plain = json.loads(data)
        seal = _SEAL.search(data)
        is_sealed = seal is not None or (
            isinstance(plain, dict) and plain.get("format", 1) in SEALED_FORMATS
        )
        is_whole = seal is not None and sha256(data[: seal.start()]) == seal[1].decode()
        if is_sealed and not is_whole:
            damage = f"{file} is not as it was written: its SHA-256 is not the one in it"
        else:
            damage = ""
        return LoadedConfiguration(parse_configuration(plain), damage, is_sealed)
    except OSError as error:
        raise StoreError(f"{file} cannot be read: {error.strerror}") from error
    except (
        ValueError,
        RecursionError,
    ) as error:  # of UTF-8, of JSON, of lists in lists, or ours about a field
        raise StoreError(f"{file} is damaged or not a run of segarena: {error}") from error


def parse_configuration(plain: Any) -> RunConfiguration:
    """Return the configuration that `plain_configuration` made plain, or an earlier version.

    Raises:
        ValueError: names the field, what was expected there and what was found.
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
    """Return `config` as JSON has it: numbers, texts, lists, objects and null."""
    return json.loads(json.dumps(msgspec.to_builtins(config)))


def configuration_text(config: RunConfiguration) -> str:
    """Return what run.json holds: the configuration, and behind it the SHA-256 of the bytes before."""
    text = json.dumps(plain_configuration(config), indent=2, ensure_ascii=False).removesuffix("\n}")
    return f'{text},\n  "sha256": "{sha256(text)}"\n}}'
