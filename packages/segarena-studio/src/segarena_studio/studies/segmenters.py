"""Segmenters that can answer the clicks of a study: those of pictures, without the truth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from segarena.abilities import abilities_of_segmenter, class_made_by
from segarena.errors import InvalidInput
from segarena.options import options_of
from segarena.plugin_spec import PluginSpec
from segarena.registry import known, names


def list_click_segmenters() -> list[str]:
    """Return the names of those that need nothing but their name."""
    every = names("segmenter").items()
    return sorted(
        name
        for name, factory in every
        if not _fault_of(factory) and not any(option.is_required for option in options_of(factory))
    )


def check_answers_clicks(spec: PluginSpec) -> None:
    """Raise `InvalidInput` for a segmenter that says that it does not; one in a file of its own is seen when built."""
    factory = known("segmenter", spec.reference)
    if factory is not None and (fault := _fault_of(factory)):
        raise InvalidInput(
            f"segmenter: expected one that answers clicks on pictures, got {spec.reference}, which {fault}; "
            "take another one"
        )


def _fault_of(factory: Callable[..., Any]) -> str:
    """Return why a segmenter cannot, as far as its class says; "" where nothing keeps it from it."""
    found = abilities_of_segmenter(class_made_by(factory))
    if "image" not in found.sample_kinds:
        return f"takes {', '.join(f'{kind}s' for kind in sorted(found.sample_kinds))}"
    if not found.understands("click"):
        return "takes no clicks"
    return "sees the truth" if found.sees_truth else ""
