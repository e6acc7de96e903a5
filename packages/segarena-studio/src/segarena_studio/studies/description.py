"""A study as its leader describes it: what is shown to whom, how, for how long, and what they are to give."""

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
"""How the target is shown: in words; the object in its place on grey; the same moved to the corner; its shape in white
on black; the whole picture with a border around it."""

MODES: tuple[Mode, ...] = ("text", "cut-out", "shifted-cut-out", "silhouette", "highlighted")

_Seconds: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=600)]
_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=10_000)]
_Text: TypeAlias = Annotated[str, msgspec.Meta(max_length=20_000)]

CONSENT = """You will see photographs, and point at things in them. It takes a few minutes.

What is kept: where you pointed and when, the kind of device, the size of the window. No name, no address, nothing that
tells who you are. You may stop at any time, and have all that you gave deleted.

What is collected is used for research on how people point at things, and may be published."""


class Study(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A study.

    Attributes:
        slug: in addresses.
        title, text: for people; the text in plain paragraphs, before they begin.
        consent: what they agree to.
        dataset: as written for `segarena run -d`; its targets are the objects.
        samples: how many of its samples, from the first on; None: all.
        planes: how many slices of each object of a volume, or frames of a video, evenly spread.
        kinds: what people give; each person one of these.
        modes: how targets are shown; each person one of these.
        devices: which devices may take part.
        answers: how many for each target, kind, mode and device.
        batch: how many different images.
        batches: of one person at most.
        free_s, blocked_s: how long the picture is to be seen before the target is, and after it.
        shown_s, text_s: how long the target is; in words.
        training: easy tasks at the beginning, which must be right.
        attention: easy tasks hidden in each batch.
        corrections: segmenters whose masks are to be corrected in the second round; see `segarena_studio.studies.
            corrections`.
        valid_share: how much of a batch must be right for it to count.
        radius_share: how far a click may be off, as a share of the picture's diagonal.
        longest_px: larger pictures are sent smaller; positions stay those of the dataset's picture.
        code: that people get at the end; "" makes one for each.
        return_link: where they go at the end, https; {code} in it becomes the code.
        seed: of all that is drawn.
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
        """Everything that a person may be asked for, in order."""
        return tuple(Arm(kind, mode) for kind in self.kinds for mode in self.modes)

    def seconds_of(self, mode: Mode) -> PhaseSeconds:
        """Return how long the picture, the target and the picture again are to be seen."""
        return PhaseSeconds(
            self.free_s, self.text_s if mode == "text" else self.shown_s, self.blocked_s
        )


class Arm(NamedTuple):
    """What one person is asked for in a study."""

    kind: PromptKind
    mode: Mode


class PhaseSeconds(NamedTuple):
    """How long each part of a trial is."""

    free: float
    shown: float
    blocked: float

    @property
    def until_allowed(self) -> float:
        """When a prompt is allowed."""
        return self.free + self.shown + self.blocked


def list_faults(study: Study) -> Iterator[str]:
    """Yield what is wrong with a study, a line each: "field: why"."""
    for field in ("kinds", "modes", "devices", "corrections"):
        values = getattr(study, field)
        if len(set(values)) < len(values):
            yield f"{field}: expected each once, got {', '.join(values)}"
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
    """Return a study as JSON."""
    return msgspec.json.encode(study).decode()


def decode_study(text: str) -> Study:
    """Return the study that `study_text` wrote.

    Raises:
        InvalidInput: it is none.
    """
    try:
        return msgspec.json.decode(text, type=Study)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InvalidInput(f"a study: {error}") from error


def read_study(file: Path) -> Study:
    """Return the study in a file in TOML.

    Raises:
        InvalidInput: it cannot be read, or says what no study can be.
    """
    try:
        study = msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), Study)
    except OSError as error:
        raise InvalidInput(f"{file}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise InvalidInput(f"{file}: {error}") from error
    check_study(study)
    return study


def check_study(study: Study) -> None:
    """Raise `InvalidInput` with all that is wrong with a study."""
    if faults := list(list_faults(study)):
        raise InvalidInput("; ".join(faults))
