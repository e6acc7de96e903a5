"""All segmenters that assist annotators: those without weights, and those in the server's settings."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

from segarena.errors import InvalidInput
from segarena.plugin_spec import PluginSpec
from segarena_server.site import Site
from segarena_studio.assistance.segmenter_process import AssistantLimits
from segarena_studio.assistance.segmenter_processes import Assistant

WITHOUT_WEIGHTS = ("graph", "grabcut", "watershed")
"""Segmenters that every site offers."""

# Two concurrent first requests must not start two sets of processes.
_MAKING = threading.Lock()


def offered_segmenters(further: Sequence[str]) -> dict[str, PluginSpec]:
    """Return the available segmenters by name.

    Args:
        further: those of the server's settings, `NAME=PLUGIN` or `PLUGIN`. A project chooses among
            names and cannot define them, because a plug-in may start any program.

    Raises:
        PluginInvalid: a specification is invalid.
    """
    specs = [PluginSpec.named(text) for text in (*WITHOUT_WEIGHTS, *further)]
    return {spec.name: spec for spec in specs}


class Assistants:
    """Assistants of a serving process; each starts with its first request.

    Args:
        segmenters: specifications by name.
        bounds: limits of each.
    """

    def __init__(self, segmenters: Mapping[str, PluginSpec], bounds: AssistantLimits) -> None:
        self.segmenters = segmenters
        self._bounds = bounds
        self._lock = threading.Lock()
        self._made: dict[str, Assistant] = {}

    def among(self, chosen: Sequence[str]) -> tuple[str, ...]:
        """Return the names available to a project: those it chose, or all if it chose none."""
        if chosen:
            return tuple(name for name in self.segmenters if name in chosen)
        return tuple(self.segmenters)

    def of(self, name: str) -> Assistant:
        """Return the assistant that runs the segmenter of this name.

        Raises:
            InvalidInput: no segmenter has this name.
        """
        if name not in self.segmenters:
            raise InvalidInput(
                f"segmenter: expected one of {', '.join(self.segmenters)}; got {name!r}"
            )
        with self._lock:
            if name not in self._made:
                self._made[name] = Assistant(self.segmenters[name], self._bounds)
            return self._made[name]

    def stop(self) -> None:
        """End all processes."""
        for assistant in self._made.values():
            assistant.stop()


def assistants_of(site: Site) -> Assistants:
    """Return the assistants of a serving process, which are stopped at its end."""
    with _MAKING:
        if Assistants not in site.things:
            site.things[Assistants] = made = Assistants(
                offered_segmenters(site.settings.segmenters), AssistantLimits()
            )
            site.at_end.append(made.stop)
        return site.things[Assistants]
