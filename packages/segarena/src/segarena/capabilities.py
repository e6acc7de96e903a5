"""Optional capabilities of plug-ins, declared as attributes; no base class is needed.

`CAPABILITIES` lists all of them. The engine reads them once, when a run is planned, with `segmenter_capabilities`,
`user_capabilities` and `metric_capabilities`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from inspect import isclass
from pathlib import Path
from typing import Any, Protocol, get_type_hints, runtime_checkable

from segarena.dialogue import Lift
from segarena.roles import Metric, Turn
from segarena.samples import Sample, Target

IMAGES = frozenset({"image"})


@dataclass(frozen=True, slots=True)
class Capability:
    """An optional attribute of plug-ins.

    Attributes:
        owner: the kinds of plug-ins that may have it.
        attribute: name of the attribute; for a method, with its parameters.
        meaning: its effect in the engine, and its default.
    """

    owner: str
    attribute: str
    meaning: str


CAPABILITIES = (
    Capability(
        "segmenter, user",
        "prompt_kinds",
        'the kinds of prompts understood or given, like `{"click", "box"}`; a run in which they do not fit is refused. '
        "Without it any kind may come",
    ),
    Capability(
        "segmenter",
        "sample_kinds",
        'what it segments, of `"image"`, `"volume"`, `"video"`; images by default',
    ),
    Capability(
        "segmenter",
        "sees_truth",
        "True: a control that reads the ground truth on purpose; others get samples without targets",
    ),
    Capability(
        "segmenter",
        "ignores_image",
        "True: a control that ignores the image; boards draw it as the line that others should beat",
    ),
    Capability(
        "segmenter",
        "encodes_with_prompts",
        "True: the network sees image and prompts together, so that each prediction is an encoder pass and `encode` "
        "is none",
    ),
    Capability(
        "segmenter",
        "pack(encoded)",
        "encodings as named arrays, without loss, so that `--cache` keeps them; `encode` then depends on the pixels "
        "alone, not on the sample's name or targets",
    ),
    Capability("segmenter", "unpack(arrays)", "the encoding that was packed"),
    Capability(
        "segmenter",
        "fingerprint",
        "a text that changes when `encode` would return something else for the same pixels, such as a hash of weights",
    ),
    Capability("segmenter", "device", 'where it computes: `"cpu"` (the default), `"cuda:0"`'),
    Capability(
        "segmenter",
        "slice_intensity",
        "how slices of volumes become images; see `segarena.segmenters.volumes.slices`",
    ),
    Capability(
        "segmenter",
        "identity",
        "of a segmenter in another process: what decides its answers there. SHA-256 of files under `weights` and "
        "`sources`, versions of packages under `environment`",
    ),
    Capability(
        "segmenter",
        "peak_bytes_elsewhere",
        "of a segmenter in another process: the most memory that it has used, in bytes",
    ),
    Capability(
        "encoding",
        "pass_seconds",
        "the duration of each encoder pass so far, for segmenters that encode slices or frames on demand",
    ),
    Capability(
        "user",
        "corrects_objects",
        "True: corrects several objects at once (`turn.comparison`; `turn.of_one` for users of one object). Targets "
        "with several objects are refused otherwise",
    ),
    Capability(
        "user",
        "may_be_silent",
        "True: may give no prompts in a round and go on; the previous prediction then counts again",
    ),
    Capability("user", "lift", "how to spread the prompts over slices, a `segarena.Lift`"),
    Capability(
        "user",
        "repeats(sample, target)",
        "the number of dialogues with this user about the target, in place of the run's own",
    ),
    Capability(
        "user",
        "shared",
        "an object with `prepare(turns)` that several users share; called once per round, for work done in batches",
    ),
    Capability("user", "is_asked", "True: a person, who answers on a page and takes their time"),
    Capability("user", "shows", "of a person: how the page displays samples, a mapping of options"),
    Capability(
        "metric",
        "judges_objects",
        "True: receives several objects at once, as `segarena.objects.ObjectsComparison`, instead of one by one",
    ),
    Capability(
        "metric",
        "parts(comparison)",
        "values of each object and frame: an array (objects, frames) for each column of the table of parts",
    ),
    Capability(
        "metric",
        "contradicts(values, parts)",
        "bool (rounds,): True where recorded values are impossible; `segarena check` calls it",
    ),
    Capability(
        "dataset",
        "sample_kind",
        'what it holds: `"image"`, `"volume"` or `"video"`; a benchmark about others is refused',
    ),
    Capability(
        "dataset",
        "files_of(sample_id)",
        "the files and folders that a sample is read from; a run records hashes of their content",
    ),
)


class EncodingPacker(Protocol):
    """A segmenter whose encodings `--cache` keeps."""

    def pack(self, encoded: Any) -> Mapping[str, Any]:
        """Return the encoding as named arrays."""
        ...

    def unpack(self, arrays: Mapping[str, Any]) -> Any:
        """Return the encoding that was packed."""
        ...


@runtime_checkable
class FileListing(Protocol):
    """A dataset that lists the files of its samples."""

    def files_of(self, sample_id: str) -> Sequence[Path]:
        """Return the paths of one sample's files."""
        ...


class SharedWork(Protocol):
    """An object that several users share, so that work common to many is done in one batch."""

    def prepare(self, turns: Sequence[Turn]) -> None:
        """Prepare the turns of all users; called once per round, before the first `User.next`."""
        ...


@runtime_checkable
class ValueChecker(Protocol):
    """A metric that can detect impossible values among its recorded ones."""

    columns: Sequence[str]

    def contradicts(self, values: Mapping[str, Any], parts: Mapping[str, Any]) -> Any:
        """Return bool (rounds,), True where the values are impossible.

        Args:
            values: numeric columns of the records, including its own: floats (rounds,), NaN if
                missing.
            parts: columns of the table of parts, in the same form, averaged over the objects and
                frames of each round.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmenterCapabilities:
    """The capabilities of a segmenter; `prompt_kinds` is None if undeclared."""

    prompt_kinds: frozenset[str] | None
    sample_kinds: frozenset[str]
    sees_truth: bool
    encodes_with_prompts: bool
    packing: EncodingPacker | None
    fingerprint: str | None
    device: str
    slice_intensity: str | None

    def understands(self, kind: str) -> bool:
        """Return whether it accepts prompts of this kind; True if it declares no kinds."""
        return self.prompt_kinds is None or kind in self.prompt_kinds


@dataclass(frozen=True, slots=True, kw_only=True)
class UserCapabilities:
    """The capabilities of a user; `prompt_kinds` is None if undeclared."""

    prompt_kinds: frozenset[str] | None
    corrects_objects: bool
    may_be_silent: bool
    lift: Lift | None
    repeats: Callable[[Sample, Target], int] | None
    shared: SharedWork | None
    is_asked: bool = False
    shows: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricCapabilities:
    """A metric and its capabilities."""

    metric: Metric
    judges_objects: bool
    parts: Callable[[Any], Mapping[str, Any]] | None


def built_class(factory: Callable[..., Any]) -> Any:
    """Return the declared class of the objects that a factory builds; None if undeclared."""
    if isclass(factory):
        return factory
    with suppress(Exception):  # type hints may refer to packages that are not installed
        return get_type_hints(factory).get("return")
    return None


def segmenter_capabilities(segmenter: object) -> SegmenterCapabilities:
    """Return the capabilities of a segmenter, or of a class of segmenters as far as the class declares them."""
    return SegmenterCapabilities(
        prompt_kinds=prompt_kinds(segmenter),
        sample_kinds=frozenset(getattr(segmenter, "sample_kinds", IMAGES)),
        sees_truth=_is_true(segmenter, "sees_truth"),
        encodes_with_prompts=_is_true(segmenter, "encodes_with_prompts"),
        packing=_packer(segmenter),
        fingerprint=getattr(segmenter, "fingerprint", None),
        device=str(getattr(segmenter, "device", "cpu")),
        slice_intensity=getattr(segmenter, "slice_intensity", None),
    )


def user_capabilities(user: object) -> UserCapabilities:
    """Return the capabilities of a user, or of a class of users as far as the class declares them."""
    return UserCapabilities(
        prompt_kinds=prompt_kinds(user),
        corrects_objects=bool(getattr(user, "corrects_objects", False)),
        may_be_silent=bool(getattr(user, "may_be_silent", False)),
        lift=getattr(user, "lift", None),
        repeats=getattr(user, "repeats", None),
        shared=getattr(user, "shared", None),
        is_asked=is_person(user),
        shows=dict(getattr(user, "shows", {})) if is_person(user) else {},
    )


def metric_capabilities(metric: Metric) -> MetricCapabilities:
    """Return the capabilities of a metric."""
    return MetricCapabilities(
        metric=metric,
        judges_objects=bool(getattr(metric, "judges_objects", False)),
        parts=getattr(metric, "parts", None),
    )


def prompt_kinds(plugin: object) -> frozenset[str] | None:
    """Return the kinds of prompts of a segmenter or user; None if undeclared."""
    declared = getattr(plugin, "prompt_kinds", None)
    return None if declared is None else frozenset(declared)


def ignores_image(segmenter: object) -> bool:
    """Tell whether a segmenter, or a class of segmenters, is a control that ignores the image."""
    return _is_true(segmenter, "ignores_image")


def is_person(user: object) -> bool:
    """Tell whether a user, or a class of users, is a person."""
    return _is_true(user, "is_asked")


def sample_kind(dataset: object) -> str | None:
    """Return the kind of samples in a dataset, or in a class of datasets; None if undeclared."""
    return getattr(dataset, "sample_kind", None)


def pass_seconds(encoding: object) -> Sequence[float] | None:
    """Return the durations of an encoding's passes so far; None if it was made in one pass."""
    return getattr(encoding, "pass_seconds", None)


def worker_identity(segmenter: object) -> Mapping[str, Mapping[str, str]] | None:
    """Return the identity of a segmenter in another process; None for one in this process."""
    return getattr(segmenter, "identity", None)


def peak_bytes_elsewhere(segmenter: object) -> int:
    """Return the most memory that a segmenter's other process has used, in bytes; 0 without such a process."""
    return getattr(segmenter, "peak_bytes_elsewhere", 0)


def _is_true(plugin: object, attribute: str) -> bool:
    # On a class the attribute may be a property, which does not give the value of an instance.
    return getattr(plugin, attribute, False) is True


def _packer(segmenter: object) -> EncodingPacker | None:
    """Return the segmenter if it can pack encodings; an instance may lack methods of its class."""
    methods = (getattr(segmenter, "pack", None), getattr(segmenter, "unpack", None))
    if not all(map(callable, methods)):
        return None
    packer: Any = segmenter
    return packer
