"""What a plug-in can do beyond its role: small protocols, and one look at a plug-in when a run is planned.

A plug-in has an ability by having the attribute; nothing is inherited and nothing is declared twice. The engine looks
once (`abilities_of_segmenter`, `abilities_of_user`, `abilities_of_metric`) and uses what it found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field
from inspect import isclass
from pathlib import Path
from typing import Any, Protocol, get_type_hints, runtime_checkable

from segarena.dialogue import Lift
from segarena.roles import Metric, Turn
from segarena.samples import Sample, Target

IMAGES = frozenset({"image"})


@runtime_checkable
class KnowsPrompts(Protocol):
    """Of a segmenter: the kinds of prompts it understands; of a user: those given. A run checks one by the other."""

    prompt_kinds: AbstractSet[str] | None


@runtime_checkable
class ChecksValues(Protocol):
    """Of a metric that knows what its recorded values must agree on; `segarena check` asks it."""

    columns: Sequence[str]

    def contradicts(self, values: Mapping[str, Any], parts: Mapping[str, Any]) -> Any:
        """Return bool (rounds,), True where values cannot be what the metric gives.

        Args:
            values: columns of numbers in the records, its own among them, floats (rounds,), NaN where there is none.
            parts: for columns of the table of parts the mean over a round's objects and frames, likewise.
        """
        ...


@runtime_checkable
class KnowsSamples(Protocol):
    """Of a segmenter: what it segments, of "image", "volume", "video"; images alone when it does not say."""

    sample_kinds: AbstractSet[str]


@runtime_checkable
class SeesTruth(Protocol):
    """Of a segmenter: True for a control that looks at the truth on purpose; others get samples without targets."""

    sees_truth: bool


@runtime_checkable
class IgnoresImage(Protocol):
    """Of a segmenter: True for a control that looks at no image; boards draw it as the line that others must beat."""

    ignores_image: bool


@runtime_checkable
class PacksEncodings(Protocol):
    """Of a segmenter whose encodings can be kept by `--cache`, without loss.

    `encode` must then depend on nothing but the pixels, not on `sample.id` or targets.
    """

    def pack(self, encoded: Any) -> Mapping[str, Any]:
        """Return the encoding as named arrays."""
        ...

    def unpack(self, arrays: Mapping[str, Any]) -> Any:
        """Return the encoding that was packed."""
        ...


@runtime_checkable
class HasFingerprint(Protocol):
    """Of a segmenter: a text that changes when `encode` would make something else of the same pixels."""

    fingerprint: str | None


@runtime_checkable
class KnowsItsSamples(Protocol):
    """Of a dataset: what it holds, "image", "volume" or "video"; a run of a benchmark about others is refused."""

    sample_kind: str


@runtime_checkable
class KnowsFiles(Protocol):
    """Of a dataset: the files and folders that a sample is read from; a run remembers what is in them."""

    def files_of(self, sample_id: str) -> Sequence[Path]:
        """Return the paths of one sample's files."""
        ...


@runtime_checkable
class HasDevice(Protocol):
    """Of a segmenter: where it works, "cpu" or "cuda:0"."""

    device: Any


@runtime_checkable
class EncodesWithPrompts(Protocol):
    """Of a segmenter: True when its network sees image and prompts together, often on a crop around the object.

    Then `encode` is no pass of the network, and every answer is one: passes, forecasts and reports count these.
    """

    encodes_with_prompts: bool


@runtime_checkable
class KnowsItsIdentity(Protocol):
    """Of a segmenter that works in another process: what decides its answers there, for the identity of a run.

    SHA-256 of files under "weights" and "sources", versions of packages under "environment".
    """

    identity: Mapping[str, Mapping[str, str]]


@runtime_checkable
class WorksElsewhere(Protocol):
    """Of a segmenter that works in another process: the most memory which that has had in use, in bytes."""

    peak_bytes_elsewhere: int


@runtime_checkable
class WantsIntensity(Protocol):
    """Of a segmenter of images: how slices of volumes become pictures, see `segarena.segmenters.volumes.slices`."""

    slice_intensity: str


@runtime_checkable
class TimesPasses(Protocol):
    """Of an encoding: what each encoder pass took so far, for segmenters that encode slices when first needed."""

    pass_seconds: Sequence[float]


@runtime_checkable
class CorrectsObjects(Protocol):
    """Of a user: True when they correct several objects at once; others are not asked about such targets."""

    corrects_objects: bool


@runtime_checkable
class MayBeSilent(Protocol):
    """Of a user: True when they may give no prompts in a round and go on; the last answer then stands."""

    may_be_silent: bool


@runtime_checkable
class MeansLift(Protocol):
    """Of a user: how the prompts are meant to be spread over slices."""

    lift: Lift | None


@runtime_checkable
class CountsRepeats(Protocol):
    """Of a user who stands for the people who clicked there: how often this user talks about a target."""

    def repeats(self, sample: Sample, target: Target) -> int:
        """Return the number of dialogues, in place of the run's own."""
        ...


@runtime_checkable
class IsAsked(Protocol):
    """Of a user who is a person: True; they are asked at a seat, and take their time (`segarena.engine.human_queue`).

    `shows` says how the page there shows things.
    """

    is_asked: bool
    shows: Mapping[str, Any]


class Shared(Protocol):
    """What several users share, so that work common to many is done in one batch."""

    def prepare(self, turns: Sequence[Turn]) -> None:
        """Work for the turns of all of them; called once per round, before anyone is asked."""
        ...


@runtime_checkable
class SharesWork(Protocol):
    """Of a user: an object that several users share."""

    shared: Shared | None


@runtime_checkable
class JudgesObjects(Protocol):
    """Of a metric: True when it is given several objects at once, as `segarena.multi_object.ObjectsComparison`."""

    judges_objects: bool


@runtime_checkable
class GivesParts(Protocol):
    """Of a metric: values of each object and frame, kept in a table of their own."""

    def parts(self, comparison: Any) -> Mapping[str, Any]:
        """Return an array (objects, frames) for each column."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmenterAbilities:
    """What a segmenter can do; `prompt_kinds` is None for one that does not say."""

    prompt_kinds: frozenset[str] | None
    sample_kinds: frozenset[str]
    sees_truth: bool
    encodes_with_prompts: bool
    packing: PacksEncodings | None
    fingerprint: str | None
    device: str
    slice_intensity: str | None

    def understands(self, kind: str) -> bool:
        """Tell whether it takes prompts of this kind, or does not say."""
        return self.prompt_kinds is None or kind in self.prompt_kinds


@dataclass(frozen=True, slots=True, kw_only=True)
class UserAbilities:
    """What a user can do; `prompt_kinds` is None for one who does not say."""

    prompt_kinds: frozenset[str] | None
    corrects_objects: bool
    may_be_silent: bool
    lift: Lift | None
    repeats: Callable[[Sample, Target], int] | None
    shared: Shared | None
    is_asked: bool = False
    shows: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricAbilities:
    """A metric, and what it can do."""

    metric: Metric
    judges_objects: bool
    parts: Callable[[Any], Mapping[str, Any]] | None


def class_made_by(factory: Callable[..., Any]) -> Any:
    """Return the class of what a factory builds, without building it; None where it does not say."""
    if isclass(factory):
        return factory
    with suppress(Exception):  # hints may name what is not installed, in code of others
        return get_type_hints(factory).get("return")
    return None


def abilities_of_segmenter(segmenter: object) -> SegmenterAbilities:
    """Look at a segmenter, or at the class of one as far as that says."""
    return SegmenterAbilities(
        prompt_kinds=prompt_kinds(segmenter),
        sample_kinds=frozenset(segmenter.sample_kinds)
        if isinstance(segmenter, KnowsSamples)
        else IMAGES,
        sees_truth=isinstance(segmenter, SeesTruth) and segmenter.sees_truth is True,
        encodes_with_prompts=isinstance(segmenter, EncodesWithPrompts)
        and segmenter.encodes_with_prompts is True,
        packing=_packing(segmenter),
        fingerprint=segmenter.fingerprint if isinstance(segmenter, HasFingerprint) else None,
        device=str(segmenter.device) if isinstance(segmenter, HasDevice) else "cpu",
        slice_intensity=segmenter.slice_intensity
        if isinstance(segmenter, WantsIntensity)
        else None,
    )


def _packing(segmenter: object) -> PacksEncodings | None:
    """Return the segmenter if it packs; one object may lack what its class has."""
    if (
        isinstance(segmenter, PacksEncodings)
        and callable(segmenter.pack)
        and callable(segmenter.unpack)
    ):
        return segmenter
    return None


def abilities_of_user(user: object) -> UserAbilities:
    """Look at a user."""
    return UserAbilities(
        prompt_kinds=prompt_kinds(user),
        corrects_objects=isinstance(user, CorrectsObjects) and user.corrects_objects,
        may_be_silent=isinstance(user, MayBeSilent) and user.may_be_silent,
        lift=user.lift if isinstance(user, MeansLift) else None,
        repeats=user.repeats if isinstance(user, CountsRepeats) else None,
        shared=user.shared if isinstance(user, SharesWork) else None,
        is_asked=is_person(user),
        shows=dict(user.shows) if isinstance(user, IsAsked) else {},
    )


def ignores_image(segmenter: object) -> bool:
    """Tell whether a segmenter, or the class of one, is a control that looks at no image."""
    return isinstance(segmenter, IgnoresImage) and segmenter.ignores_image is True


def is_person(user: object) -> bool:
    """Tell whether a user, or the class of one, is a person who is asked."""
    return isinstance(user, IsAsked) and user.is_asked is True


def abilities_of_metric(metric: Metric) -> MetricAbilities:
    """Look at a metric."""
    return MetricAbilities(
        metric=metric,
        judges_objects=isinstance(metric, JudgesObjects) and metric.judges_objects,
        parts=metric.parts if isinstance(metric, GivesParts) else None,
    )


def prompt_kinds(plugin: object) -> frozenset[str] | None:
    """Return the kinds of prompts of a segmenter or user; None when it does not say."""
    said = plugin.prompt_kinds if isinstance(plugin, KnowsPrompts) else None
    return None if said is None else frozenset(said)
