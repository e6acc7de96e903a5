"""Description of a study: dataset, display, durations and kinds of prompts."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, TypeAlias
from urllib.parse import urlsplit

import msgspec

from segarena.errors import InvalidInput, PluginError
from segarena.plugin_spec import PluginSpec
from segarena_people.prompts import DeviceKind, PromptKind
from segarena_server.challenges.description import Slug

Mode: TypeAlias = Literal["text", "cut-out", "shifted-cut-out", "silhouette", "highlighted"]
"""Display modes of the target: described in words; cut out on grey; cut out and moved to the
corner; white on black; in the picture with a border.
"""

MODES: tuple[Mode, ...] = ("text", "cut-out", "shifted-cut-out", "silhouette", "highlighted")

_Seconds: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=600)]
_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=10_000)]
_Text: TypeAlias = Annotated[str, msgspec.Meta(max_length=20_000)]

CONSENT = """You will see photographs and point at things in them. It takes a few minutes.

We store where you pointed and when, the kind of device, and the size of the window: no name, no address, nothing that
identifies you. You may stop at any time, and have all your answers deleted.

The data are used for research on how people point at things, and may be published."""


class Study(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A study.

    Attributes:
        slug: short name in addresses.
        title: title that participants see.
        text: introduction that participants read first, in plain paragraphs.
        consent: text to which participants consent.
        dataset: dataset as for `segarena run -d`; its targets are the objects.
        samples: number of samples to use, from the start; None uses all.
        planes: number of slices (volume) or frames (video) per object, evenly spread.
        kinds: kinds of prompts; each participant gives one of them.
        modes: display modes; each participant gets one of them.
        devices: devices that may take part.
        answers: number of answers for each target, kind, mode and device.
        batch: number of different images in a batch.
        batches: maximum number of batches per participant.
        free_s, blocked_s: seconds for which the picture is visible before and after the target.
        shown_s, text_s: seconds for which a target is visible; text_s is for targets in words.
        training: number of easy tasks at the beginning that must be answered correctly.
        attention: number of easy tasks hidden in each batch.
        corrections: segmenters whose masks are corrected in the second round; see
            `segarena_studio.studies.mask_error_regions`.
        valid_share: share of correct answers that a batch needs to count.
        radius_share: tolerance of clicks, as a share of the picture's diagonal.
        longest_px: longest side of displayed pictures; larger ones are downscaled, but positions
            refer to the dataset's picture.
        code: completion code; "" creates one for each participant.
        return_link: https address to which participants return at the end; {code} in it is
            replaced by the code.
        seed: seed of all random choices.
    """

    slug: Slug
    title: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    text: _Text = ""
    consent: _Text = CONSENT
    dataset: str
    samples: Annotated[int, msgspec.Meta(ge=1)] | None = None
    planes: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 1
    kinds: Annotated[tuple[PromptKind, ...], msgspec.Meta(min_length=1, max_length=4)] = ("click",)
    modes: Annotated[tuple[Mode, ...], msgspec.Meta(min_length=1, max_length=5)] = ("cut-out",)
    devices: Annotated[tuple[DeviceKind, ...], msgspec.Meta(min_length=1, max_length=2)] = (
        "pc",
        "mobile",
    )
    answers: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 25
    batch: Annotated[int, msgspec.Meta(ge=1, le=100)] = 10
    batches: Annotated[int, msgspec.Meta(ge=1, le=100)] = 3
    # As in RClicks, section 3: the durations, ten images per batch, and seven correct answers for a
    # batch to count.
    free_s: _Seconds = 1.5
    blocked_s: _Seconds = 1.5
    shown_s: _Seconds = 2.0
    text_s: _Seconds = 2.5
    training: Annotated[int, msgspec.Meta(ge=0, le=10)] = 2
    attention: Annotated[int, msgspec.Meta(ge=0, le=5)] = 1
    corrections: Annotated[tuple[str, ...], msgspec.Meta(max_length=10)] = ()
    valid_share: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.7
    radius_share: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.01
    longest_px: Annotated[int, msgspec.Meta(ge=64, le=8192)] = 2048
    code: Annotated[str, msgspec.Meta(max_length=80)] = ""
    return_link: Annotated[str, msgspec.Meta(max_length=500)] = ""
    seed: _Count = 0

    @property
    def arms(self) -> tuple[Arm, ...]:
        """All combinations of kind and mode, in order."""
        return tuple(Arm(kind, mode) for kind in self.kinds for mode in self.modes)

    def seconds_of(self, mode: Mode) -> PhaseSeconds:
        """Return the durations of the three phases: the picture, the target, and the picture again."""
        return PhaseSeconds(
            self.free_s,
            self.text_s if mode == "text" else self.shown_s,
            self.blocked_s,
        )


class Arm(NamedTuple):
    """Task of one participant in a study: kind of prompt and display mode."""

    kind: PromptKind
    mode: Mode


class PhaseSeconds(NamedTuple):
    """Duration of each phase of a trial."""

    free: float
    shown: float
    blocked: float

    @property
    def until_allowed(self) -> float:
        """Seconds from the start of a trial until a prompt is allowed."""
        return self.free + self.shown + self.blocked


def list_faults(study: Study) -> Iterator[str]:
    """Yield the errors of a study, one line each: "field: reason"."""
    for field in ("kinds", "modes", "devices", "corrections"):
        values = getattr(study, field)
        if len(set(values)) < len(values):
            yield f"{field}: expected each value once, got {', '.join(values)}"
    # The participant's page links there, and other schemes could run a script.
    link = urlsplit(study.return_link) if study.return_link else None
    if link and (link.scheme != "https" or not link.hostname):
        yield f"return_link: expected https://..., got {study.return_link[:80]!r}"
    for field, texts in (("dataset", (study.dataset,)), ("corrections", study.corrections)):
        for text in texts:
            try:
                PluginSpec.parse(text)
            except PluginError as error:
                yield f"{field}: {error}"


def encode_study(study: Study) -> str:
    """Encode a study as JSON."""
    return msgspec.json.encode(study).decode()


def decode_study(text: str) -> Study:
    """Decode a study written by `encode_study`.

    Raises:
        InvalidInput: the text does not describe a study.
    """
    try:
        return msgspec.json.decode(text, type=Study)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(f"a study: {error}") from error


def read_study(file: Path) -> Study:
    """Read a study from a TOML file.

    Raises:
        InvalidInput: the file cannot be read, or the study is invalid.
    """
    try:
        study = msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), Study)
    except OSError as error:
        raise InvalidInput(f"{file}: {error.strerror}") from error
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise InvalidInput(f"{file}: {error}") from error
    check_study(study)
    return study


def check_study(study: Study) -> None:
    """Raise `InvalidInput` with all errors of a study."""
    if faults := list(list_faults(study)):
        raise InvalidInput("; ".join(faults))
