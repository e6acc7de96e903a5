"""Changes with which a run may continue in its folder: fixed plug-ins after failures, more samples, rounds or users.

Any other difference means another run, and raises an error.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import polars as pl

from segarena.errors import RunConflict
from segarena.records.configuration import (
    CIRCUMSTANCES,
    RunConfiguration,
    UserRecord,
    plain_configuration,
)
from segarena.records.fingerprints import describe_changes, read_fingerprints
from segarena.records.run_identity_record import (
    Fingerprints,
    Identity,
    changed_sources,
    changed_weights,
    has_data_changed,
    has_object_changed,
    identity_changes,
)
from segarena.work.ledger import first_difference

START_ANEW = "use --overwrite to replace the run, or another --out to keep both"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunChange:
    """The allowed differences between a run in a folder and the configuration that continues it.

    Attributes:
        sources: names of changed source files of plug-ins.
        weights: names of changed weights and of other changed files in options.
        edited: error message about these changes for a run that may not continue with them; "" without changes.
        more_samples: number of samples to append to the run.
        more_rounds: number of rounds by which its dialogues may continue.
        more_users: names of users whose dialogues may be added.
    """

    sources: tuple[str, ...] = ()
    weights: tuple[str, ...] = ()
    edited: str = ""
    more_samples: int = 0
    more_rounds: int = 0
    more_users: tuple[str, ...] = ()

    @property
    def grows(self) -> bool:
        """Whether the change adds samples, rounds or users."""
        return bool(self.more_samples or self.more_rounds or self.more_users)

    @property
    def in_words(self) -> str:
        """The added samples, rounds and users as text: "3 more samples and 15 more rounds"."""
        counts = {
            "sample": self.more_samples,
            "round": self.more_rounds,
            "user": len(self.more_users),
        }
        parts: list[str] = []
        for thing, count in counts.items():
            if count:
                parts.append(f"{count} more {thing}{'s' if count > 1 else ''}")
        return " and ".join(parts)


def compare_configurations(
    folder: Path,
    existing: RunConfiguration,
    asked: RunConfiguration,
    data: Fingerprints,
) -> RunChange:
    """Return the difference between the requested configuration `asked` and that of the run `existing` in `folder`.

    Raises:
        RunConflict: the configurations belong to different runs; the message names the first difference. Edited
            files of plug-ins are not an error here, but part of the result.
    """
    before = existing.identity
    more_users = _added_users(existing, asked)
    now = asked.identity
    if more_users:
        # The files of an added user are new. Whether one of the others changed is compared below.
        now = _known_files(before, now)
        asked = replace(asked, users=_known_users(existing, asked))
    edited, sources, weights = _edited_files(before, now)
    # If a plug-in differs, its files differ too, and the message should name the plug-in.
    if _references(existing) != _references(asked):
        edited = []
        sources = []
        weights = []
    old = plain_configuration(existing)
    new = plain_configuration(asked)
    for plain in (old, new):
        # Earlier versions did not record these fields; their runs can be continued.
        del plain["segmenter"]["sees_truth"]
        del plain["segmenter"]["encodes_with_prompts"]
        # The names of a run may change.
        del plain["segmenter"]["label"]
        del plain["segmenter"]["display_name"]
        # These lines follow from data and options, which are compared anyway.
        del plain["dataset"]["assumptions"]
    if sources:
        _align_edited_plugins(old, new)
    more_samples = _align_samples(old, new)
    more_rounds = _align_rounds(old, new)
    # More samples change the hash of all data; the files of the old samples are compared one by one
    # below.
    is_other_data = has_data_changed(before, now) and not more_samples
    # The changed files are named below instead.
    if is_other_data:
        del old["dataset"]["fingerprint"]
        del new["dataset"]["fingerprint"]
    for key, value in without_later_options(old, new).items():
        if key not in CIRCUMSTANCES and old[key] != value:
            where, has, wants = first_difference(key, old[key], value)
            raise RunConflict(
                f"{folder} holds a run with {where} = {has}, but the requested run has {wants}; "
                "choose another --out, or repeat the options of that run; --overwrite replaces it"
            )
    if is_other_data or (more_samples and not _holds_data(folder, before, data)):
        which = (
            describe_changes(read_fingerprints(folder), data)
            or "the individual files were not recorded"
        )
        raise RunConflict(
            f"{folder}: the dataset's files changed since this run ({which}); {START_ANEW}"
        )
    return RunChange(
        sources=tuple(sources),
        weights=tuple(weights),
        edited="; ".join(edited),
        more_samples=more_samples,
        more_rounds=more_rounds,
        more_users=more_users,
    )


def with_mended_plugins(existing: RunConfiguration, asked: RunConfiguration) -> RunConfiguration:
    """Return the configuration of a run that continues with the current files of its plug-ins."""
    before = existing.identity or Identity()
    now = asked.identity or Identity()
    identity = replace(
        before,
        weights=now.weights,
        sources=now.sources,
        segmenter_object=now.segmenter_object,
        # Samples that finished before the fix used these sources, so they stay on record.
        earlier_sources=(*before.earlier_sources, before.sources),
    )
    mended_users = {user.written: user for user in asked.users}
    return replace(
        existing,
        benchmark=asked.benchmark,
        segmenter=asked.segmenter,
        dataset=replace(asked.dataset, samples=existing.dataset.samples),
        users=tuple(mended_users.get(user.written, user) for user in existing.users),
        metrics=asked.metrics,
        identity=identity,
        finished="",
        counts=None,
        verified=None,
    )


def with_growth(existing: RunConfiguration, asked: RunConfiguration) -> RunConfiguration:
    """Return the configuration of a run that continues with more samples, rounds or users."""
    identity = existing.identity
    now = asked.identity
    if identity is not None and now is not None:
        identity = replace(
            identity,
            data=now.data,
            # Add the files of new users; entries that the run already has take precedence.
            weights={**now.weights, **identity.weights},
            sources={**now.sources, **identity.sources},
            packages={**now.packages, **identity.packages},
        )
    return replace(
        existing,
        users=asked.users,
        dataset=asked.dataset,
        rounds=asked.rounds,
        command=asked.command,
        directory=asked.directory,
        identity=identity,
        finished="",
        counts=None,
        verified=None,
    )


def samples_to_continue(records: pl.DataFrame, rounds: int) -> set[str]:
    """Return the samples with a dialogue that used all of its `rounds` rounds."""
    answered = records.filter(pl.col("failure").is_null())
    last = answered.filter(pl.col("round") >= rounds)
    return set(last["sample"].to_list())


def without_later_options(old: Any, new: Any) -> Any:
    """Return `new` without unset options that plug-ins gained after the old run began."""
    if isinstance(old, dict) and isinstance(new, dict):
        old_values = cast("dict[str, Any]", old)
        kept: dict[str, Any] = {}
        for key, value in cast("dict[str, Any]", new).items():
            if key in old_values or value is not None:
                kept[key] = without_later_options(old_values.get(key), value)
        return kept
    if isinstance(old, list) and isinstance(new, list):
        old_items = cast("list[Any]", old)
        new_items = cast("list[Any]", new)
        if len(old_items) == len(new_items):
            return list(map(without_later_options, old_items, new_items))
    return new


def _edited_files(
    before: Identity | None, now: Identity | None
) -> tuple[list[str], list[str], list[str]]:
    """Return messages about changed files and a changed object, and the names of changed sources and weights."""
    if before is None or now is None:
        return [], [], []
    weights = changed_weights(before, now)
    if has_object_changed(before, now):
        weights.append("the segmenter object")
    return identity_changes(before, now), changed_sources(before, now), weights


def _added_users(existing: RunConfiguration, asked: RunConfiguration) -> tuple[str, ...]:
    """Return the names of the users that `asked` adds to the run; () if `asked` lacks a user of the run."""
    known = {user.written for user in existing.users}
    names = [user.written for user in asked.users]
    if not known <= set(names):
        return ()
    return tuple(name for name in names if name not in known)


def _known_users(existing: RunConfiguration, asked: RunConfiguration) -> tuple[UserRecord, ...]:
    """Return the requested users that the run already has, in the order of the run."""
    by_name = {user.written: user for user in asked.users}
    return tuple(by_name[user.written] for user in existing.users)


def _known_files(before: Identity | None, now: Identity | None) -> Identity | None:
    """Return the current identity, restricted to the files that the run already has."""
    if before is None or now is None:
        return now
    weights = {name: digest for name, digest in now.weights.items() if name in before.weights}
    sources = {name: digest for name, digest in now.sources.items() if name in before.sources}
    return replace(now, weights=weights, sources=sources)


def _align_edited_plugins(old: dict[str, Any], new: dict[str, Any]) -> None:
    """Give edited plug-ins in `new` their old SHA-256, and remove options that they did not have before.

    Fixing a plug-in may add or remove an option.
    """
    pairs = [(old[role], new[role]) for role in ("segmenter", "dataset")]
    pairs.extend(zip(old["users"], new["users"], strict=False))
    pairs.extend(zip(old["metrics"], new["metrics"], strict=False))
    for before, now in pairs:
        if before["name"] != now["name"] or before["sha256"] == now["sha256"]:
            continue
        now["sha256"] = before["sha256"]
        common = before["options"].keys() & now["options"].keys()
        for plain in (before, now):
            options = plain["options"]
            plain["options"] = {name: options[name] for name in options if name in common}


def _align_samples(old: dict[str, Any], new: dict[str, Any]) -> int:
    """If `new` only appends samples to those of `old`, remove the appended ones; return their number, or 0."""
    before = old["dataset"]["samples"]
    now = new["dataset"]["samples"]
    more = len(now) - len(before)
    if more <= 0 or now[: len(before)] != before:
        return 0
    new["dataset"]["samples"] = before
    return more


def _align_rounds(old: dict[str, Any], new: dict[str, Any]) -> int:
    """If `new` has more rounds than `old`, remove the additional ones; return their number, or 0."""
    more = new["rounds"] - old["rounds"]
    if more <= 0:
        return 0
    new["rounds"] = old["rounds"]
    return more


def _holds_data(
    folder: Path,
    before: Identity | None,
    data: Fingerprints,
) -> bool:
    """Return whether `data` has all data files of the run, unchanged; True if the run has no hash of its data."""
    if before is None or not before.data:
        return True
    recorded = Counter(read_fingerprints(folder))
    # Without a record of the individual files, changes cannot be detected.
    return bool(recorded) and recorded <= Counter(tuple(data))


def _references(config: RunConfiguration) -> list[str]:
    plugins = (config.segmenter, config.dataset, *config.users, *config.metrics)
    return [used.name for used in plugins]
