"""All segmenters that help people here: those without weights, and those that whoever started the server named."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

from segarena.errors import InvalidInput
from segarena.plugin_spec import PluginSpec
from segarena_server.site import Site
from segarena_studio.assistance.assistant import Assistant
from segarena_studio.assistance.segmenter_process import AssistantLimits

WITHOUT_WEIGHTS = ("graph", "grabcut", "watershed")
"""Offered everywhere."""

_MAKING = threading.Lock()


def offered_segmenters(further: Sequence[str]) -> dict[str, PluginSpec]:
    """Return the segmenters that may be asked, by the names that people choose among.

    Args:
        further: as the server's settings name them, `NAME=PLUGIN` or `PLUGIN`. A project chooses among names and never
            says what they stand for: a plug-in may start any program.

    Raises:
        PluginInvalid: one is not written as a plug-in is.
    """
    specs = [PluginSpec.named(text) for text in (*WITHOUT_WEIGHTS, *further)]
    return {spec.name: spec for spec in specs}


class Assistants:
    """The assistants of a serving process; each begins when it is first asked.

    Args:
        segmenters: who may be asked, by name.
        bounds: what each may take.
    """

    def __init__(self, segmenters: Mapping[str, PluginSpec], bounds: AssistantLimits) -> None:
        self.segmenters = segmenters
        self._bounds = bounds
        self._lock = threading.Lock()
        self._made: dict[str, Assistant] = {}

    def among(self, chosen: Sequence[str]) -> tuple[str, ...]:
        """Return what is offered to a project that chose these; to one that chose nothing, everything."""
        if chosen:
            return tuple(name for name in self.segmenters if name in chosen)
        return tuple(self.segmenters)

    def of(self, name: str) -> Assistant:
        """Return the assistant of this name.

        Raises:
            InvalidInput: there is none.
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
    """Return the assistants of a serving process; their processes end when it serves no more."""
    with _MAKING:
        if Assistants not in site.things:
            site.things[Assistants] = made = Assistants(
                offered_segmenters(site.settings.segmenters), AssistantLimits()
            )
            site.at_end.append(made.stop)
        return site.things[Assistants]
