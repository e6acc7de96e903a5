"""Optional capabilities of plug-ins, declared as attributes; no base class is needed.

`CAPABILITIES` lists them. The engine reads most of them with `segmenter_capabilities`,
`user_capabilities` and `metric_capabilities`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from inspect import isclass
from pathlib import Path
from typing import Any, Protocol, get_type_hints, runtime_checkable

from segarena.dialogue import Lift
from segarena.errors import PluginInvalid
from segarena.prompts import Box, Click, Lasso, Limits, MaskPrompt, Scribble
from segarena.roles import Metric, Turn
from segarena.samples import Sample, Support, Target

IMAGES = frozenset({"image"})

PROMPT_KINDS = frozenset(
    prompt.kind for prompt in (Box, Click, Lasso, Limits, MaskPrompt, Scribble, Support)
)
"""Kinds of prompts that users give and segmenters accept."""


@dataclass(frozen=True, slots=True)
class Capability:
    """An optional attribute of plug-ins.

    Attributes:
        owner: the kind of plug-in that may have the attribute.
        attribute: name of the attribute; a method is written with its parameters.
        meaning: effect of the attribute in the engine, and its default.
    """

    owner: str
    attribute: str
    meaning: str


CAPABILITIES = (
    Capability(
        "segmenter, user",
        "prompt_kinds",
        'the kinds of prompts that it accepts or gives, like `{"click", "box"}`; the engine rejects a run in which '
        "user and segmenter do not match. Without it, any kind is possible",
    ),
    Capability(
        "segmenter",
        "sample_kinds",
        'the kinds of samples that it segments: `"image"`, `"volume"`, `"video"`; images by default',
    ),
    Capability(
        "segmenter",
        "sees_truth",
        "True: a control that reads the ground truth on purpose; other segmenters get samples without targets",
    ),
    Capability(
        "segmenter",
        "ignores_image",
        "True: a control that ignores the image; boards draw it as a baseline that other segmenters should exceed",
    ),
    Capability(
        "segmenter",
        "display_name",
        "its name in reports and boards unless `--name` gives another; by default the plug-in's name",
    ),
    Capability(
        "segmenter",
        "encodes_with_prompts",
        "True: the network sees image and prompts together, so that each prediction, and not `encode`, is an encoder "
        "pass",
    ),
    Capability(
        "segmenter",
        "encode_batch(samples)",
        "the encodings of several samples from one pass, in order; called instead of `encode` when the next samples "
        "are loaded ahead, and by `slices` for the slices of a volume. If it fails, the samples are encoded one by one",
    ),
    Capability(
        "segmenter",
        "image_batch",
        "the number of samples that `encode_batch` should receive at once; with 1 (the default), it is never called",
    ),
    Capability(
        "segmenter",
        "pack(encoded)",
        "encodings as named arrays, without loss, so that `--cache` keeps them; `encode` then depends on the pixels "
        "alone, not on the sample's name or targets",
    ),
    Capability("segmenter", "unpack(arrays)", "restores a packed encoding"),
    Capability(
        "segmenter",
        "fingerprint",
        "a string that changes when `encode` would return something else for the same pixels, such as a weights hash",
    ),
    Capability(
        "segmenter", "device", 'device on which it computes: `"cpu"` (the default), `"cuda:0"`'
    ),
    Capability(
        "segmenter",
        "slice_intensity",
        "how slices of volumes become images; see `segarena.segmenters.volumes.slices`",
    ),
    Capability(
        "segmenter",
        "identity",
        "for a segmenter in another process, everything that determines its predictions: SHA-256 of files under "
        "`weights` and `sources`, versions of packages under `environment`",
    ),
    Capability(
        "segmenter",
        "peak_bytes_elsewhere",
        "for a segmenter in another process, its peak memory in bytes",
    ),
    Capability(
        "encoding",
        "pass_seconds",
        "the duration of each encoder pass so far, for segmenters that encode slices or frames on demand",
    ),
    Capability(
        "user",
        "corrects_objects",
        "True: the user corrects several objects at once, with `turn.comparison`. Users without this capability read "
        "`turn.of_one`, and the engine rejects targets with several objects for them",
    ),
    Capability(
        "user",
        "may_be_silent",
        "True: may give no prompts in a round and continue; the previous prediction then counts again",
    ),
    Capability("user", "lift", "how to spread the prompts over slices, a `segarena.Lift`"),
    Capability(
        "user",
        "repeats(sample, target)",
        "the number of dialogues with this user about the target, instead of the run's `repeats`",
    ),
    Capability(
        "user",
        "shared",
        "an object with `prepare(turns)` that several users share; called once per round, for work done in batches",
    ),
    Capability("user", "is_asked", "True: a person, who answers on a page and takes their time"),
    Capability(
        "user", "shows", "for a person, how the page displays samples: a mapping of options"
    ),
    Capability(
        "metric",
        "judges_objects",
        "True: receives several objects at once, as `segarena.multi_object.ObjectsComparison`, instead of one by one",
    ),
    Capability(
        "metric",
        "parts(comparison)",
        "metric values of each object in each frame: an array (objects, frames) for each column of the table of parts",
    ),
    Capability(
        "metric",
        "contradicts(values, parts)",
        "bool (rounds,): True for impossible recorded values; `segarena check` calls it",
    ),
    Capability(
        "dataset",
        "sample_kind",
        'kind of its samples: `"image"`, `"volume"` or `"video"`; the engine rejects a benchmark for another kind',
    ),
    Capability(
        "dataset",
        "files_of(sample_id)",
        "the files and folders that a sample is read from; a run records hashes of their content",
    ),
    Capability(
        "dataset",
        "assumptions(sample_ids)",
        "assumptions about these samples that their files do not state, one line each; a run records and shows them",
    ),
)


class EncodingPacker(Protocol):
    """A segmenter whose encodings `--cache` can store."""

    def pack(self, encoded: Any) -> Mapping[str, Any]:
        """Return the encoding as named arrays."""
        ...

    def unpack(self, arrays: Mapping[str, Any]) -> Any:
        """Restore an encoding from the arrays that `pack` returned."""
        ...


@runtime_checkable
class FileListing(Protocol):
    """A dataset that lists the files of its samples."""

    def files_of(self, sample_id: str) -> Sequence[Path]:
        """Return the paths of the files and folders that a sample is read from."""
        ...


class SharedWork(Protocol):
    """An object that several users share to process their common work in one batch."""

    def prepare(self, turns: Sequence[Turn]) -> None:
        """Prepare the turns of the users that share this object; called once per round, before any `User.next`."""
        ...


@runtime_checkable
class ValueChecker(Protocol):
    """A metric that can detect impossible values in its records."""

    columns: Sequence[str]

    def contradicts(self, values: Mapping[str, Any], parts: Mapping[str, Any]) -> Any:
        """Return bool (rounds,), True where the values are impossible.

        Args:
            values: numeric columns of the records, including those of the metric: floats
                (rounds,), NaN if missing.
            parts: columns of the table of parts, in the same format, averaged over the objects and
                frames of each round.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmenterCapabilities:
    """Capabilities of a segmenter; `prompt_kinds` is None if undeclared."""

    prompt_kinds: frozenset[str] | None
    sample_kinds: frozenset[str]
    sees_truth: bool
    encodes_with_prompts: bool
    encode_batch: Callable[[Sequence[Sample]], Sequence[Any]] | None
    image_batch: int
    packing: EncodingPacker | None
    fingerprint: str | None
    device: str
    slice_intensity: str | None

    def understands(self, kind: str) -> bool:
        """Return whether the segmenter accepts prompts of this kind; True if it declares no kinds."""
        return self.prompt_kinds is None or kind in self.prompt_kinds


@dataclass(frozen=True, slots=True, kw_only=True)
class UserCapabilities:
    """Capabilities of a user; `prompt_kinds` is None if undeclared."""

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
    """Return the class of the objects that a factory builds; None if undeclared."""
    if isclass(factory):
        return factory
    with suppress(Exception):  # type hints may refer to packages that are not installed
        return get_type_hints(factory).get("return")
    return None


def segmenter_capabilities(segmenter: object) -> SegmenterCapabilities:
    """Return the capabilities of a segmenter; for a class, only those that are class attributes."""
    return SegmenterCapabilities(
        prompt_kinds=prompt_kinds(segmenter),
        sample_kinds=_sample_kinds(segmenter),
        sees_truth=_is_true(segmenter, "sees_truth"),
        encodes_with_prompts=_is_true(segmenter, "encodes_with_prompts"),
        encode_batch=getattr(segmenter, "encode_batch", None),
        image_batch=int(getattr(segmenter, "image_batch", None) or 1),
        packing=_packer(segmenter),
        fingerprint=getattr(segmenter, "fingerprint", None),
        device=str(getattr(segmenter, "device", "cpu")),
        slice_intensity=getattr(segmenter, "slice_intensity", None),
    )


def _sample_kinds(segmenter: object) -> frozenset[str]:
    declared = getattr(segmenter, "sample_kinds", IMAGES)
    if isclass(segmenter) and isinstance(declared, property):
        declared = IMAGES  # known only of an instance
    return frozenset(_names(segmenter, "sample_kinds", declared, '{"image"}'))


def user_capabilities(user: object) -> UserCapabilities:
    """Return the capabilities of a user; for a class, only those that are class attributes."""
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
    """Return the prompt kinds of a segmenter or user; None if undeclared."""
    declared = getattr(plugin, "prompt_kinds", None)
    # The property of a class is known only of an instance.
    if declared is None or (isclass(plugin) and isinstance(declared, property)):
        return None
    kinds = frozenset(_names(plugin, "prompt_kinds", declared, '{"click"}'))
    unknown = kinds - PROMPT_KINDS
    if unknown:
        raise PluginInvalid(
            f"{_class_name(plugin)}: expected prompt_kinds among {', '.join(sorted(PROMPT_KINDS))}, "
            f"got {', '.join(sorted(unknown))}"
        )
    return kinds


def metric_columns(metric: Metric) -> tuple[str, ...]:
    """Return the columns of a metric.

    Raises:
        PluginInvalid: the metric has none, or declares something other than names.
    """
    columns = _names(metric, "columns", metric.columns, '("iou",)')
    if not columns:
        raise PluginInvalid(
            f'{_class_name(metric)}: expected at least one name in columns, such as ("iou",)'
        )
    return columns


def _names(
    plugin: object,
    attribute: str,
    declared: Any,
    example: str,
) -> tuple[str, ...]:
    """Return declared names; raise `PluginInvalid` for anything else, such as a text where a tuple lacks its comma."""
    wrong: object = None
    if isinstance(declared, str) or not isinstance(declared, Iterable):
        wrong = declared
    else:
        names: tuple[Any, ...] = tuple(declared)
        if all(isinstance(name, str) for name in names):
            return names
        wrong = next(name for name in names if not isinstance(name, str))
    raise PluginInvalid(
        f"{_class_name(plugin)}: expected names as {attribute}, such as {example}, got {type(wrong).__name__}"
    )


def _class_name(plugin: object) -> str:
    return plugin.__name__ if isclass(plugin) else type(plugin).__name__


def ignores_image(segmenter: object) -> bool:
    """Return whether a segmenter, or a class of segmenters, is a control that ignores the image."""
    return _is_true(segmenter, "ignores_image")


def is_person(user: object) -> bool:
    """Return whether a user, or a class of users, stands for a person."""
    return _is_true(user, "is_asked")


def sample_kind(dataset: object) -> str | None:
    """Return the kind of samples in a dataset, or in a class of datasets; None if undeclared."""
    return getattr(dataset, "sample_kind", None)


def dataset_assumptions(dataset: object, sample_ids: Sequence[str]) -> tuple[str, ...]:
    """Return the assumptions that a dataset makes about ambiguous files; () if undeclared."""
    assumptions = getattr(dataset, "assumptions", None)
    if assumptions is None:
        return ()
    return tuple(map(str, assumptions(sample_ids)))


def pass_seconds(encoding: object) -> Sequence[float] | None:
    """Return the durations in seconds of an encoding's passes so far; None if the encoding does not record them."""
    return getattr(encoding, "pass_seconds", None)


def worker_identity(segmenter: object) -> Mapping[str, Mapping[str, str]] | None:
    """Return the identity of a segmenter in another process; None for a segmenter in this process."""
    return getattr(segmenter, "identity", None)


def display_name(segmenter: object) -> str:
    """Return the display name of a segmenter, or of the segmenter that it wraps; "" if there is none."""
    # Wrappers store the wrapped segmenter in `segmenter`.
    while segmenter is not None:
        name = getattr(segmenter, "display_name", "")
        if isinstance(name, str) and name.strip():
            return " ".join(name.split())
        segmenter = getattr(segmenter, "segmenter", None)
    return ""


def peak_bytes_elsewhere(segmenter: object) -> int:
    """Return the peak memory in bytes of the other process that runs a segmenter; 0 if there is none."""
    return getattr(segmenter, "peak_bytes_elsewhere", 0)


def _is_true(plugin: object, attribute: str) -> bool:
    # On a class the attribute may be a property, which has no value without an instance.
    return getattr(plugin, attribute, False) is True


def _packer(segmenter: object) -> EncodingPacker | None:
    """Return the segmenter if it can pack and unpack encodings, else None; an instance may disable these methods."""
    methods = (getattr(segmenter, "pack", None), getattr(segmenter, "unpack", None))
    if not all(map(callable, methods)):
        return None
    packer: Any = segmenter
    return packer
