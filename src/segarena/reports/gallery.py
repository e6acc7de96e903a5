"""The gallery: dialogues with their photograph or slices, prompts and predictions.

Only the samples that are shown are loaded, from the dataset that run.json names.
"""

from __future__ import annotations

from collections.abc import Sequence

from segarena.errors import NotTrusted
from segarena.records.trust import HOW_TO_TRUST, change_of, rebuilt
from segarena.reports.parts import Card, Gallery
from segarena.reports.pictures import Pictures
from segarena.reports.reading import Key, Run
from segarena.roles import Dataset

BUDGET_BYTES = 12_000_000
"""The gallery takes no further dialogue once it is this large."""


def gallery(runs: Sequence[Run], keys: Sequence[Key], drawn: Pictures) -> Gallery:
    """Return cards for `keys`, in this order; each shows that dialogue in every run that has it, drawn by `drawn`.

    What cannot be loaded is said in a note and left out: a report never fails for want of its photographs.
    """
    sources = [open_dataset(run) for run in runs]
    notes = list(dict.fromkeys(note for _, note in sources if note))
    cards: list[Card] = []
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
            size += sum(map(len, card.strips))
    return Gallery(lead=drawn.lead(), cards=cards, shown=shown, notes=notes)


def open_dataset(run: Run) -> tuple[Dataset | None, str]:
    """Return the dataset of a run as run.json names it, and a line about what is wrong with it, if anything."""
    described = run.config.dataset
    try:
        dataset: Dataset = rebuilt("dataset", described, trust=run.trust)
        changed = change_of(described) if run.trust else ""
        if not changed and dataset.fingerprint != described.fingerprint:
            changed = f"Dataset {described.name} has changed since the run"
    except NotTrusted as error:
        return None, f"No photographs: {error}. {HOW_TO_TRUST}"
    except Exception as error:  # a dataset is foreign code; without it the report still has its numbers
        return None, f"No photographs: dataset {described.name} cannot be opened ({_one_line(error)})."
    if changed:
        return dataset, f"{changed}; pictures may not be what was judged."
    return dataset, ""


def _card(
    runs: Sequence[Run], datasets: Sequence[Dataset | None], drawn: Pictures, key: Key, anchor: str
) -> tuple[Card | None, str]:
    """Return one card, if there is one, and a line about what went wrong, if anything did."""
    strips: list[str] = []
    problem, first = "", None
    for order, (run, dataset) in enumerate(zip(runs, datasets, strict=True)):
        dialogue = next((d for d in run.finished(key[2]) if d.key == key), None)
        if dialogue is None or dataset is None:
            continue
        try:
            sample = dataset.load(key[0])
            target = next(target for target in sample.targets if target.id == key[1])
            name = f"{anchor}-{order + 1}"
            strips.append(drawn.strip(run, dialogue, sample, target, name, is_named=len(runs) > 1))
        except Exception as error:  # as in open_dataset; and the sample may be of another kind than run.json says
            problem = f"Sample {key[0]} cannot be shown: {_one_line(error)}."
            continue
        first = first or dialogue
    if first is None:
        return None, problem
    repeat = f", repeat {key[3]}" if key[3] else ""
    return Card(anchor, first.label or key[1], f"{key[0]} / {key[1]}{repeat}", key[2], strips), problem


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
