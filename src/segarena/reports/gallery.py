"""The gallery: dialogues with their photograph or slices, prompts and predictions.

Only the samples that are shown are loaded, from the dataset that run.json names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from segarena.registry import build
from segarena.reports.pictures import Pictures
from segarena.reports.reading import DialogueRecord, Key, Run
from segarena.roles import Dataset

BUDGET_BYTES = 12_000_000
"""The gallery takes no further dialogue once it is this large."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gallery:
    """A finished gallery.

    Attributes:
        html: the cards.
        shown: for each dialogue shown, the id of its card.
        notes: what could not be shown, and why; one line each.
    """

    html: str
    shown: Mapping[Key, str]
    notes: Sequence[str]


def gallery(runs: Sequence[Run], keys: Sequence[Key], drawn: Pictures) -> Gallery:
    """Return cards for `keys`, in this order; each shows that dialogue in every run that has it, drawn by `drawn`.

    What cannot be loaded is said in a note and left out: a report never fails for want of its photographs.
    """
    sources = [open_dataset(run) for run in runs]
    notes = list(dict.fromkeys(note for _, note in sources if note))
    cards: list[str] = []
    shown: dict[Key, str] = {}
    size = 0
    for key in keys:
        if size >= BUDGET_BYTES:
            notes.append(f"Only {len(shown)} dialogues are shown, to keep this file small.")
            break
        anchor = f"dialogue-{len(shown) + 1}"
        card, problem = _card(runs, [dataset for dataset, _ in sources], drawn, key, anchor)
        if problem:
            notes.append(problem)
        if card:
            shown[key] = anchor
            cards.append(card)
            size += len(card)
    return Gallery(html="".join(cards), shown=shown, notes=notes)


def open_dataset(run: Run) -> tuple[Dataset | None, str]:
    """Return the dataset of a run as run.json names it, and a line about what is wrong with it, if anything."""
    described = run.config.dataset
    try:
        dataset: Dataset = build("dataset", described.spec)
        changed = dataset.fingerprint != described.fingerprint
    except Exception as error:  # a dataset is foreign code; without it the report still has its numbers
        return None, f"No photographs: dataset {described.name} cannot be opened ({_one_line(error)})."
    if changed:
        return dataset, f"Dataset {described.name} has changed since the run; pictures may not be what was judged."
    return dataset, ""


def _card(
    runs: Sequence[Run], datasets: Sequence[Dataset | None], drawn: Pictures, key: Key, anchor: str
) -> tuple[str, str]:
    """Return one card and a line about what went wrong; either may be empty."""
    strips: list[str] = []
    problem, first = "", None
    for order, (run, dataset) in enumerate(zip(runs, datasets, strict=True)):
        dialogue = next((d for d in run.finished(key[2]) if d.key == key), None)
        if dialogue is None or dataset is None:
            continue
        try:
            sample = dataset.load(key[0])
            target = next(target for target in sample.targets if target.id == key[1])
        except Exception as error:  # as in open_dataset
            problem = f"Sample {key[0]} cannot be shown: {_one_line(error)}."
            continue
        first = first or dialogue
        name = f"{anchor}-{order + 1}"
        strips.append(drawn.strip(run, dialogue, sample, target, name, is_named=len(runs) > 1))
    if first is None:
        return "", problem
    return _article(first, anchor, "".join(strips)), problem


def _article(dialogue: DialogueRecord, anchor: str, strips: str) -> str:
    sample, target, user, repeat = dialogue.key
    name = dialogue.label or target
    where = f"{sample} / {target}" + (f", repeat {repeat}" if repeat else "")
    words = escape(f"{name} {where}".lower())
    return (
        f'<article class="card" id="{anchor}" data-user="{escape(user)}" data-words="{words}">'
        f'<header><h3>{escape(name)}</h3><p class="where">{escape(where)}</p>'
        f'<p class="who">{escape(user)}</p></header>{strips}</article>'
    )


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
