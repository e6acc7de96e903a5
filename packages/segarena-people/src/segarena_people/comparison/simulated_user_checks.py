"""Participants of a comparison: names of simulated users, and checks that run before any work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from segarena.errors import InvalidInput
from segarena.plugin_capabilities import is_person, prompt_kinds
from segarena.plugin_spec import Plugin, PluginSpec
from segarena.registry import build, plugins_by_name
from segarena.reports.display_names import short_name
from segarena_people.collection import CollectedPrompt
from segarena_people.comparison.user_replies import ReplyCollector


def named_plugin(user: Plugin) -> tuple[str, PluginSpec]:
    """Return the display name and the spec of a plug-in; without NAME=, the name is the spec without folders.

    >>> named_plugin("mine/hands.py:Left(ink=2)")[0], named_plugin("left=mine/hands.py:Left")[0]
    ('Left(ink=2)', 'left')
    """
    spec = PluginSpec.named(user)
    if spec.own_name not in ("", user):
        return spec.own_name, spec
    return str(PluginSpec(short_name(spec.reference), spec.options)), spec


def check_users(specs: Mapping[str, PluginSpec], given: Sequence[str]) -> None:
    """Raise an error for human users and for users that give none of the `given` prompt kinds; suggest others."""
    given_kinds = dict.fromkeys(given)
    for name, spec in specs.items():
        user = build("user", spec)
        if is_person(user):
            raise InvalidInput(
                f"expected a simulated user, got the human user {name}; see segarena list users"
            )
        kinds = prompt_kinds(user)
        if kinds is not None and not kinds & set(given_kinds):
            kinds_given = set(given_kinds)
            fitting = [one for one in plugins_by_name("user") if _default_kinds(one) & kinds_given]
            raise InvalidInput(
                f"{name} gives {' and '.join(sorted(kinds))}, people gave "
                f"{' and '.join(given_kinds)}; suitable users: {', '.join(fitting) or 'none'}"
            )


def _default_kinds(user: str) -> frozenset[str]:
    """Return a user's prompt kinds; the empty set if they are unknown or the user cannot be built without options."""
    # A broken plug-in in another package must not stop this comparison.
    with suppress(Exception):
        return prompt_kinds(build("user", user)) or frozenset()
    return frozenset()


def picture_notes(
    specs: Mapping[str, PluginSpec],
    given: CollectedPrompt,
    seed: int,
) -> list[str]:
    """Return a note for each user that depends on pictures; used if only black pictures are available."""
    notes: list[str] = []
    for name, spec in specs.items():
        collector = ReplyCollector(build("user", spec), name=name, seed=seed)
        if collector.looks_at_pictures(given):
            notes.append(
                f"{name} depends on the picture, and saw black pictures; pass the real ones with --dataset."
            )
    return notes
