"""The gallery: dialogues with their photograph or slices, prompts and predictions.

Only the samples that are shown are loaded, from the dataset that run.json names.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from segarena.errors import NotTrusted
from segarena.records.configuration import located, moved
from segarena.records.trust import HOW_TO_TRUST, change_of, rebuilt
from segarena.reports.parts import Card, Gallery
from segarena.reports.pictures import Pictures, Shown
from segarena.reports.reading import Key, Run
from segarena.reports.series import area_statistic
from segarena.reports.tables import thresholds_of
from segarena.reports.viewer import viewer_html
from segarena.roles import Dataset

BUDGET_BYTES = 12_000_000
"""The gallery takes no further dialogue once it is this large."""

MOVED = "If its files moved, say where they are: segarena report --data FOLDER."


def gallery(
    runs: Sequence[Run],
    keys: Sequence[Key],
    drawn: Pictures,
    *,
    every: Sequence[Key],
    budget_bytes: float = BUDGET_BYTES,
) -> Gallery:
    """Return cards for `keys`, in this order; each shows that dialogue in every run that has it, drawn by `drawn`.

    What cannot be loaded is said in a note and left out: a report never fails for want of its photographs. Of `every`
    target the page tells how many it shows; it takes no further card once it has `budget_bytes`.
    """
    sources = [open_dataset(run) for run in runs]
    notes = list(dict.fromkeys(note for _, note in sources if note))
    cards: list[Card] = []
    shown: dict[Key, str] = {}
    size = 0
    for key in keys:
        if size >= budget_bytes:
            notes.append(f"Only {len(shown)} dialogues are shown, to keep this file small.")
            break
        anchor = f"dialogue-{len(shown) + 1}"
        card, problem = card_of(runs, [dataset for dataset, _ in sources], drawn, key, anchor)
        if problem:
            notes.append(problem)
        if card:
            shown[key] = anchor
            cards.append(card)
            size += sum(map(len, card.viewers))
    others = {place: " / ".join(key[:2]) for place, key in enumerate(every) if key not in shown}
    return Gallery(lead=drawn.lead(), cards=cards, targets=len(every), others=others, shown=shown, notes=notes)


def open_dataset(run: Run) -> tuple[Dataset | None, str]:
    """Return the dataset of a run as run.json names it, and a line about what is wrong with it, if anything."""
    described = located(run.config.dataset, run.config.directory)
    if run.data_folder is not None:
        described = moved(described, run.data_folder)
    try:
        dataset: Dataset = rebuilt("dataset", described, trust=run.trust)
        changed = change_of(described) if run.trust else ""
        if not changed and dataset.fingerprint != run.config.dataset.fingerprint:
            changed = f"Dataset {described.name} has changed since the run"
    except NotTrusted as error:
        return None, f"No photographs: {error}. {HOW_TO_TRUST}"
    except Exception as error:  # a dataset is foreign code; without it the report still has its numbers
        return None, f"No photographs: dataset {described.name} cannot be opened ({_one_line(error)}). {MOVED}"
    if changed:
        return dataset, f"{changed}; pictures may not be what was judged."
    return dataset, ""


def card_of(
    runs: Sequence[Run], datasets: Sequence[Dataset | None], drawn: Pictures, key: Key, anchor: str
) -> tuple[Card | None, str]:
    """Return one card, if there is one, and a line about what went wrong, if anything did."""
    found: dict[str, list[Shown]] = {}
    sources = {run.data: dataset for run, dataset in zip(runs, datasets, strict=True) if dataset is not None}
    for run in runs:
        dialogue = next((d for d in run.finished(key[2]) if d.key == key), None)
        if dialogue is not None and run.data in sources:
            found.setdefault(run.data, []).append((run, dialogue))
    viewers: list[str] = []
    problem = ""
    for number, (data, shown) in enumerate(found.items(), 1):
        try:
            sample = sources[data].load(key[0])
            target = next(target for target in sample.targets if target.id == key[1])
            viewers.append(viewer_html(f"{anchor}-{number}", drawn.stacks(shown, sample, target), drawn.word))
        except Exception as error:  # as in open_dataset; and the sample may be of another kind than run.json says
            problem = f"Sample {key[0]} cannot be shown: {_one_line(error)}."
    if not viewers:
        return None, problem
    every = list(chain.from_iterable(found.values()))
    repeat = f", repeat {key[3]}" if key[3] else ""
    return Card(
        anchor=anchor,
        name=every[0][1].label or key[1],
        where=f"{key[0]} / {key[1]}{repeat}",
        user=key[2],
        result=_result(every),
        runs=[run.label for run, _ in every],
        viewers=viewers,
    ), problem


def _result(shown: Sequence[Shown]) -> str:
    """Return "all", "some" or "none" of the runs solved it: reached the highest threshold; "" without thresholds."""
    metric = area_statistic(shown[0][0]).metric
    thresholds = thresholds_of(shown[0][0], metric)
    if not thresholds:
        return ""
    solved = [max(dialogue.values[metric], default=0.0) >= thresholds[-1] for _, dialogue in shown]
    return "all" if all(solved) else "some" if any(solved) else "none"


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
