"""Who is asked: what tables call simulated users, and which of them cannot be asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress

from segarena.abilities import is_person, prompt_kinds
from segarena.errors import InvalidInput
from segarena.registry import build, names
from segarena.reports.display_names import short_name
from segarena.specs import Plugin, PluginSpec
from segarena_people.collection import CollectedPrompt
from segarena_people.comparison.user_replies import ReplyCollector


def named_plugin(user: Plugin) -> tuple[str, PluginSpec]:
    """Return what tables call a user, and the plug-in: the name given to it, or how it is written, without folders.

    >>> named("mine/hands.py:Left(ink=2)")[0], named("left=mine/hands.py:Left")[0]
    ('Left(ink=2)', 'left')
    """
    spec = PluginSpec.named(user)
    if spec.own_name not in ("", user):
        return spec.own_name, spec
    return str(PluginSpec(short_name(spec.reference), spec.options)), spec


def check_users(specs: Mapping[str, PluginSpec], given: Sequence[str]) -> None:
    """Refuse users who give nothing of what people gave, naming those who do."""
    there = Counter(given)
    for name, spec in specs.items():
        user = build("user", spec)
        if is_person(user):
            raise InvalidInput(f"{name} is a person; name simulated users, see segarena list users")
        said = prompt_kinds(user)
        if said is not None and not said & set(there):
            fitting = [one for one in names("user") if _gives(one) & set(there)]
            raise InvalidInput(
                f"{name} gives {' and '.join(sorted(said))}, people gave {' and '.join(there)}; "
                f"users for that: {', '.join(fitting) or 'none'}"
            )


def _gives(user: str) -> frozenset[str]:
    """Return what a user gives who can be built without options; nothing of others."""
    with suppress(Exception):  # another package's fault is no matter of this comparison
        return prompt_kinds(build("user", user)) or frozenset()
    return frozenset()


def picture_notes(specs: Mapping[str, PluginSpec], given: CollectedPrompt, seed: int) -> list[str]:
    """Return a note for each user who looks at pictures, which nobody has."""
    askers = {
        name: ReplyCollector(build("user", spec), name=name, seed=seed)
        for name, spec in specs.items()
    }
    looking = [name for name, asker in askers.items() if asker.looks_at_pictures(given)]
    return [
        f"{name} looks at pictures, and saw black ones; --dataset gives it the real ones."
        for name in looking
    ]
