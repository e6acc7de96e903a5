"""Conversion of a study to form fields and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from segarena_studio.studies.description import Study, list_faults

CHOICE_FIELDS = ("kinds", "modes", "devices")
"""Fields with check boxes: the form has `kinds.click` and so on."""
LIST_FIELDS = ("corrections",)
"""Fields with one entry per line."""


class FormResult(NamedTuple):
    """Result of a form: a study, or errors by field."""

    study: Study | None
    faults: dict[str, str]


def read_form(form: Mapping[str, str]) -> FormResult:
    """Return the study that a form describes, or errors by field.

    Empty fields get their defaults, except for required fields and choices.
    """
    values: dict[str, Any] = {}
    faults: dict[str, str] = {}
    for field in msgspec.structs.fields(Study):
        name = field.name
        # Browsers send the lines of a text area with CRLF; paragraphs are split at blank lines.
        text = form.get(field.name, "").replace("\r\n", "\n").strip()
        if name in CHOICE_FIELDS:
            # Browsers send only ticked boxes.
            prefix = f"{name}."
            values[name] = [key.removeprefix(prefix) for key in form if key.startswith(prefix)]
        elif text:
            read = _READ.get(name, str)
            try:
                values[name] = read(text)
            except ValueError:
                kind = "a whole number" if read is int else "a number"
                faults[name] = f"expected {kind}, got {text[:40]!r}"
    for name in ("slug", "title", "dataset"):
        if name not in values:
            faults[name] = "this field is required"
    if faults:
        return FormResult(None, faults)
    try:
        study = msgspec.convert(values, Study)
    except msgspec.ValidationError as error:
        return FormResult(None, _fault_of(str(error)))
    wrong = dict(fault.split(": ", 1) for fault in list_faults(study))
    return FormResult(None, wrong) if wrong else FormResult(study, {})


def form_texts(study: Study) -> dict[str, str]:
    """Return the form fields of a study; the inverse of `read_form`."""
    texts: dict[str, str] = {}
    for name, value in msgspec.structs.asdict(study).items():
        if name in CHOICE_FIELDS:
            texts |= {f"{name}.{one}": "on" for one in value}
        elif name in LIST_FIELDS:
            texts[name] = "\n".join(value)
        elif value is not None:
            texts[name] = f"{value:g}" if isinstance(value, float) else str(value)
    return texts


def _fault_of(error: str) -> dict[str, str]:
    """Return a msgspec error by field; the message ends with the field, as in "- at `$.slug`"."""
    reason, _, path = error.partition(" - at `$.")
    # `kinds[0]` belongs to the field `kinds`.
    field = path.partition("[")[0].rstrip("`")
    # Messages of msgspec begin with a capital; here they follow the name of the field.
    reason = reason[:1].lower() + reason[1:]
    return {field or "title": reason}


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


_READ: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(
        (
            "samples",
            "planes",
            "answers",
            "batch",
            "batches",
            "training",
            "attention",
            "longest_px",
            "seed",
        ),
        int,
    ),
    **dict.fromkeys(
        ("free_s", "blocked_s", "shown_s", "text_s", "valid_share", "radius_share"), float
    ),
    **dict.fromkeys(LIST_FIELDS, _lines),
}
