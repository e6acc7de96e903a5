"""Segmenters for the second round of a study: they answer clicks on images and do not use the ground truth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from segarena.errors import InvalidInput
from segarena.options import options_of
from segarena.plugin_capabilities import built_class, segmenter_capabilities
from segarena.plugin_spec import PluginSpec
from segarena.registry import lookup, plugins_by_name


def list_click_segmenters() -> list[str]:
    """Return the names of suitable segmenters without required options."""
    suitable: list[str] = []
    for name, factory in plugins_by_name("segmenter").items():
        has_required = any(option.is_required for option in options_of(factory))
        if not has_required and not _fault_of(factory):
            suitable.append(name)
    return sorted(suitable)


def check_answers_clicks(spec: PluginSpec) -> None:
    """Raise `InvalidInput` for an unsuitable segmenter; one in a separate file is only checked when it is built."""
    factory = lookup("segmenter", spec.reference)
    if factory is not None and (fault := _fault_of(factory)):
        raise InvalidInput(
            f"segmenter: expected one that answers clicks on pictures, got {spec.reference}, which {fault}; "
            "choose another one"
        )


def _fault_of(factory: Callable[..., Any]) -> str:
    """Return why a segmenter is unsuitable, judged by its class alone; "" if it is suitable."""
    found = segmenter_capabilities(built_class(factory))
    if "image" not in found.sample_kinds:
        kinds = [f"{kind}s" for kind in sorted(found.sample_kinds)]
        return f"takes {', '.join(kinds)}"
    if not found.understands("click"):
        return "takes no clicks"
    return "sees the ground truth" if found.sees_truth else ""
