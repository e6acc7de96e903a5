"""The gallery: dialogues with pictures, prompts and predictions.

It loads only the samples that are shown, from the dataset in run.json.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import msgspec

from segarena.errors import UntrustedPlugin
from segarena.records.configuration import RunConfiguration, move_data, resolve_paths
from segarena.records.plugin_trust import HOW_TO_TRUST, rebuild_plugin, source_change
from segarena.reports.chart_series import area_statistic, labelled_colours, run_column_names
from segarena.reports.charts import colour_class
from segarena.reports.hardest_targets import failed_dialogue_keys
from segarena.reports.page_parts import Card, Gallery, target_text
from segarena.reports.pages import Page
from segarena.reports.pictures import DialoguePictures, RunDialogue
from segarena.reports.recorded_run import Run
from segarena.reports.round_table import DialogueId, DialogueRecord
from segarena.reports.run_statistics import summary_thresholds
from segarena.reports.viewer_content import DialogueContent, ViewerContent, viewer_html
from segarena.reports.wording import count_text
from segarena.roles import Dataset

BUDGET_BYTES = 12_000_000
"""Once the gallery has reached this size, it adds no further dialogue."""

DATA_FOLDER_HINT = "If its files have moved, pass their location: segarena report --data FOLDER."


def all_dialogue_keys(own: Page) -> list[DialogueId]:
    """Return the dialogues that a page can show.

    These are the worst dialogue of each target, hardest target first, followed by other failed
    dialogues.
    """
    worst = [target.worst for target in own.ranked]
    failed = failed_dialogue_keys(own.shown_runs)
    return list(dict.fromkeys([*worst, *failed]))


def make_gallery(
    own: Page,
    drawn: DialoguePictures,
    keys: Sequence[DialogueId],
    *,
    every: Sequence[DialogueId],
    budget_bytes: float = BUDGET_BYTES,
) -> Gallery:
    """Build a gallery with a card for each of `keys`; a card shows the dialogue in all runs.

    A sample that cannot be loaded is skipped with a note, so that missing pictures never make a
    report fail.

    Args:
        own: the page of the runs.
        drawn: draws the dialogues.
        keys: the dialogues to show, in order.
        every: all dialogues of the page; the gallery states how many of their targets it shows.
        budget_bytes: size beyond which no further card is added.
    """
    datasets: list[Dataset | None] = []
    notes: list[str] = []
    for run in own.drawn_runs:
        dataset, problem = open_run_dataset(run)
        datasets.append(dataset)
        notes.append(problem)
    cards: list[Card] = []
    shown: dict[DialogueId, str] = {}
    size = 0
    for key in keys:
        if size >= budget_bytes:
            notes.append(
                f"The size of this file is limited, so it shows only {count_text(len(shown), 'dialogue')}."
            )
            break
        anchor = f"dialogue-{len(shown) + 1}"
        card, problem = make_card(own, datasets, drawn, key, anchor)
        notes.append(problem)
        if card:
            shown[key] = anchor
            cards.append(card)
            size += sum(len(viewer) for viewer in card.viewers)
    targets = {key[:2] for key in every}
    shown_targets = {key[:2] for key in shown}
    return Gallery(
        lead=drawn.lead(),
        cards=cards,
        count_note=f"{len(shown_targets)} of {count_text(len(targets), own.target_word)} are shown",
        every=every,
        shown=shown,
        notes=[note for note in dict.fromkeys(notes) if note],
    )


def open_run_dataset(run: Run) -> tuple[Dataset | None, str]:
    """Return the dataset of a run, or None, and a note about any problem with it."""
    return open_configured_dataset(run.config, run.data_folder, trust=run.trust)


def open_configured_dataset(
    config: RunConfiguration,
    data: str | None,
    *,
    trust: bool,
) -> tuple[Dataset | None, str]:
    """Open the dataset of a configuration; return it or None, and a note about any problem.

    `data` is the current location of its files, if they have moved.
    """
    described = resolve_paths(config.dataset, config.directory)
    if data is not None:
        described = move_data(described, data)
    try:
        dataset: Dataset = rebuild_plugin("dataset", described, trust=trust)
        changed = source_change(described) if trust else ""
        if not changed and dataset.fingerprint != config.dataset.fingerprint:
            changed = f"Dataset {described.name} has changed since the run"
    except UntrustedPlugin as error:
        return None, f"No photographs: {error}. {HOW_TO_TRUST}"
    except Exception as error:
        # A dataset is third-party code; if it fails, the report still contains all results.
        problem = f"dataset {described.name} cannot be opened ({error_line(error)})"
        return None, f"No photographs: {problem}. {DATA_FOLDER_HINT}"
    if changed:
        return dataset, f"{changed}; the pictures may differ from the evaluated samples."
    return dataset, ""


def make_card(
    own: Page,
    datasets: Sequence[Dataset | None],
    drawn: DialoguePictures,
    key: DialogueId,
    anchor: str,
    *,
    public_key: DialogueId | None = None,
) -> tuple[Card | None, str]:
    """Build the card of a dialogue; return it or None, and a note about any problem.

    Args:
        own: page on which the card appears.
        datasets: datasets of the page's drawn runs, in the order of the runs; None for one that could not be opened.
        drawn: pictures of dialogues.
        key: sample, target, user and repeat of the dialogue.
        anchor: anchor of the card on the page.
        public_key: key in the content of the viewers, where the names of samples and targets are hidden; by
            default `key`.
    """
    sources: dict[str, Dataset] = {}
    dialogues_by_data: dict[str, list[RunDialogue]] = {}
    for run, dataset in zip(own.drawn_runs, datasets, strict=True):
        if dataset is not None:
            # Several runs on the same data share the most recently opened dataset.
            sources[run.data] = dataset
    for run in own.drawn_runs:
        dialogue = _dialogue_of(run, key)
        if dialogue is not None and run.data in sources:
            dialogues_by_data.setdefault(run.data, []).append((run, dialogue))
    viewers: list[str] = []
    problem = ""
    for data, shown in dialogues_by_data.items():
        try:
            content = _content(own, sources[data], drawn, key, shown)
            content = msgspec.structs.replace(content, key=public_key or key)
            viewers.append(viewer_html(content))
        except Exception as error:
            # Third-party code, as in `open_configured_dataset`; the sample may also be of another
            # kind than run.json states.
            problem = f"Sample {key[0]} cannot be shown: {error_line(error)}."
    if not viewers:
        return None, problem
    named: DialogueRecord | None = None
    for _, dialogue in chain.from_iterable(dialogues_by_data.values()):
        # Prefer a dialogue with a target: in some runs, loading the sample may have failed
        # entirely.
        if named is None or (dialogue.target and not named.target):
            named = dialogue
    is_named = named is not None and bool(named.target)
    repeat = f", repeat {key[3]}" if key[3] else ""
    card = Card(
        anchor=anchor,
        name=own.name_of(named) if named is not None and is_named else "whole sample",
        where=f"{target_text(key)}{repeat}",
        user=key[2],
        user_words=own.users_in_words.get(key[2], ""),
        viewers=viewers,
        address=own.viewer(key) if own.viewer else "",
    )
    return card, problem


def _content(
    own: Page,
    dataset: Dataset,
    drawn: DialoguePictures,
    key: DialogueId,
    shown: Sequence[RunDialogue],
) -> ViewerContent:
    """Build the viewer content for the dialogues about a target, with the names of their runs."""
    sample_id, target_id, _, _ = key
    sample = dataset.load(sample_id)
    # For a sample that failed entirely, show its first target.
    target = next(target for target in sample.targets if target_id in ("", target.id))
    content = drawn.content(shown, sample, target)
    return msgspec.structs.replace(content, dialogues=_with_runs(content, shown, own))


def _dialogue_of(run: Run, key: DialogueId) -> DialogueRecord | None:
    """Return the dialogue of a run, else the failure of its whole sample; None if there is neither."""
    sample, target, user, _ = key
    for dialogue in (*run.about(sample, target, user), *run.about(sample, "", "")):
        if dialogue.key == key or not dialogue.target:
            return dialogue
    return None


def _with_runs(
    content: ViewerContent,
    shown: Sequence[RunDialogue],
    own: Page,
) -> list[DialogueContent]:
    """Add to each dialogue its state and failure, and the label and colour of its run."""
    colours = dict(labelled_colours(own.shown_runs))
    columns = run_column_names(own.drawn_runs)
    dialogues: list[DialogueContent] = []
    for drawn, (run, dialogue) in zip(content.dialogues, shown, strict=True):
        colour = colours.get(run.label)
        if colour is not None:
            css = colour_class(colour)
        else:
            css = "floor" if run in own.floors else "c0"
        described = msgspec.structs.replace(
            drawn,
            label=columns[run],
            css=css,
            state=_state(run, dialogue),
            failure=dialogue.failure or "",
        )
        dialogues.append(described)
    return dialogues


def _state(run: Run, dialogue: DialogueRecord) -> str:
    """Return "failed", "solved" or "unsolved" for a dialogue; "" if there are no thresholds."""
    if dialogue.failure is not None:
        return "failed"
    metric = area_statistic(run).metric
    thresholds = summary_thresholds(run, metric)
    if not thresholds:
        return ""
    if max(dialogue.values_of(metric), default=0.0) >= thresholds[-1]:
        return "solved"
    return "unsolved"


def error_line(error: Exception) -> str:
    """Format the type and message of an error on one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())
