"""The report as one HTML file that needs nothing else, on any machine, without a network."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from html import escape
from importlib.resources import files
from typing import Any

from segarena.reports.figures import figures
from segarena.reports.gallery import gallery
from segarena.reports.naming import short_name
from segarena.reports.pages import Page, broken_pages
from segarena.reports.parts import Fold, Html, Note, Part, Row, Section, Table
from segarena.reports.ranking import RankedTarget, gallery_keys, ranked_targets
from segarena.reports.reading import Key, Run
from segarena.reports.sections import failures_section, hardest_table, paired_table, summary_table
from segarena.reports.series import Figure
from segarena.reports.sheets import Sheet, sheet_html
from segarena.reports.tables import paired_rows
from segarena.reports.wording import (
    FAILURES,
    FEW_IMAGES,
    HELD,
    INTERVALS,
    PAIRED,
    baseline_text,
    count_text,
    definition,
    empty_text,
    pairing_text,
    partial_text,
    protocol_text,
)
from segarena.specs import PluginSpec

_CONTROLS = (
    '<form class="controls" hidden><label>User <select name="user"><option value="">all</option></select></label>'
    '<label>Name <input name="words" type="search"></label><output></output></form>'
)


def document(own: Page) -> str:
    """Return the report of a page's runs as one self-contained HTML document."""
    numbered = _Numbered()
    written = [(section, numbered.parts(section.parts)) for section in [*own.sections(), *_general_sections(own)]]
    kept = [(section, html) for section, html in written if html]
    links = "".join(f'<a href="#{section.anchor}">{escape(section.title)}</a>' for section, _ in kept)
    body = "".join(
        f'<section id="{section.anchor}"><h2>{escape(section.title)}</h2>{html}</section>' for section, html in kept
    )
    return _document(_title(own.runs), f"{_header(own)}<nav>{links}</nav>{body}{_footer(own.runs)}")


def _general_sections(own: Page) -> list[Section]:
    runs = own.whole_runs
    targets = [] if {"hardest", "gallery"} <= own.leaves_out else ranked_targets(runs)
    cards, shown = _gallery(own, targets)
    every = [
        Section("summary", "Summary", [*own.summary(_summary), Note(_summary_notes(runs))]),
        Section("differences", "Paired differences", _differences(own.usual_runs)),
        Section("figures", "Figures", _figures(own)),
        Section("hardest", "Hardest targets", _hardest(runs, targets, shown)),
        Section("gallery", "Dialogues", cards),
        Section("failures", "Failures", [Html(failures_section(own.runs))]),
        Section("notes", "What the numbers are", _definitions(runs)),
    ]
    return [section for section in every if section.anchor not in own.leaves_out]


class _Numbered:
    """Writes parts as HTML, and counts tables and figures."""

    def __init__(self) -> None:
        self._counts = {"Table": 0, "Figure": 0}

    def parts(self, parts: Sequence[Part]) -> str:
        return "".join(map(self._part, parts))

    def _part(self, part: Part) -> str:
        match part:
            case None | Note(text=""):
                return ""
            case Note():
                return f'<p class="{"lead" if part.is_lead else "note"}">{escape(part.text)}</p>'
            case Fold():
                return f"<details><summary>{escape(part.title)}</summary>{self.parts(part.parts)}</details>"
            case Sheet():
                return self._table(part.caption, sheet_html(part)) + self.parts([Note(text) for text in part.notes])
            case Table():
                return self._table(part.caption, part.html)
            case Figure():
                css = "float wide" if part.is_wide else "float"
                return f'<div class="{css}">{part.html}{self._caption("Figure", part.title, part.caption)}</div>'
            case Row():
                return f'<div class="figures">{self.parts(part.figures)}</div>'
            case Html():
                return part.html

    def _table(self, caption: str, html: str) -> str:
        return f'<div class="float">{self._caption("Table", "", caption)}{html}</div>'

    def _caption(self, kind: str, title: str, caption: str) -> str:
        self._counts[kind] += 1
        strong = f" {escape(title)}." if title else ""
        return f'<p class="caption"><b>{kind} {self._counts[kind]}.{strong}</b> {escape(caption)}</p>'


def _title(runs: Sequence[Run]) -> str:
    if len({run.data for run in runs}) == 1:
        return f"{', '.join(run.label for run in runs)} on {short_name(runs[0].dataset)}"
    segmenters, data = (dict.fromkeys(names) for names in zip(*((r.segmenter, r.data) for r in runs), strict=True))
    return f"{', '.join(segmenters)} on {', '.join(data)}"


def _header(own: Page) -> str:
    runs, config = own.runs, own.runs[0].config
    rules = config.benchmark
    banners = [text for run in runs for text in (partial_text(run), empty_text(run)) if text]
    banners += broken_pages()
    alarms = "".join(f'<p class="banner">{escape(text)}</p>' for text in banners)
    targets = len({(r.dataset, d.sample, d.target) for r in runs for d in r.finished()})
    samples = {(r.dataset, sample) for r in runs for sample in r.samples}
    stop = rules.stop_at
    facts = [
        ("Benchmark", rules.name + (f" ({rules.paper})" if rules.paper else "")),
        ("Dataset", "; ".join(dict.fromkeys(_dataset_text(run) for run in runs))),
        ("Targets", f"{targets} in {count_text(len(samples), 'sample')}"),
        ("Users", ", ".join(dict.fromkeys(user for run in runs for user in run.users))),
        ("Rounds", f"at most {config.rounds}" + (f", until {stop[0]} is at least {stop[1]:g}" if stop else "")),
        ("Rules", "; ".join(dict.fromkeys(_rules_text(own, run) for run in runs))),
    ]
    listed = "".join(f"<div><dt>{name}</dt><dd>{escape(text)}</dd></div>" for name, text in facts if text)
    runs_told = "".join(_run_details(run) for run in runs)
    return (
        f'<header class="top"><p class="kicker">{escape(rules.name)} · interactive segmentation report</p>'
        f'<h1>{escape(_title(runs))}</h1><p class="mode">{escape(protocol_text(runs[0]))}</p>'
        f'{alarms}<dl class="facts">{listed}</dl>{runs_told}</header>'
    )


def _rules_text(own: Page, run: Run) -> str:
    return ", ".join(f"{name}: {_option_text(value)}" for name, value in own.rules(run).items())


def _option_text(value: Any) -> str:
    if not isinstance(value, dict):
        return str(value)
    return " ".join(f"{key} {str(inner)[:16]}" for key, inner in value.items() if inner is not None) or "none"


def _dataset_text(run: Run) -> str:
    dataset = run.config.dataset
    return f"{PluginSpec(short_name(dataset.name), dict(dataset.options))}, fingerprint {dataset.fingerprint}"


def _run_details(run: Run) -> str:
    config = run.config
    segmenter, users = config.segmenter, config.users
    counts = {} if config.counts is None else asdict(config.counts)
    rows = [
        ("Segmenter", str(segmenter.spec)),
        ("Dataset", str(config.dataset.spec)),
        ("File", f"sha256 {segmenter.sha256}" if segmenter.sha256 else ""),
        ("Users", "; ".join(f"{user.written}: {user.spec}" for user in users)),
        ("Metrics", ", ".join(str(metric.spec) for metric in config.metrics)),
        ("Repeats, seed", f"{config.repeats}, {config.seed}"),
        ("Made", f"{config.created} with segarena {config.version}"),
        ("Environment", ", ".join(f"{key} {value}" for key, value in config.environment.items())),
        ("Counts", ", ".join(f"{value} {key}" for key, value in counts.items())),
    ]
    listed = "".join(f"<div><dt>{name}</dt><dd>{escape(text)}</dd></div>" for name, text in rows if text)
    command = config.command
    shown = f"<pre><code>{escape(command)}</code></pre>" if command else ""
    return (
        f'<details class="run"><summary>{escape(run.label)}: how it was run</summary>{shown}<dl>{listed}</dl></details>'
    )


def _summary(runs: Sequence[Run], caption: str) -> Part:
    return Table(caption, summary_table(runs))


def _summary_notes(runs: Sequence[Run]) -> str:
    images = len({(run.dataset, d.sample) for run in runs for d in run.finished()})
    few = f"With {count_text(images, 'image')} only, take them as rough." if images < FEW_IMAGES else ""
    left_out = f"Left out, for want of rounds: {', '.join(runs[0].left_out)}." if runs[0].left_out else ""
    return " ".join(filter(None, [INTERVALS, few, left_out]))


def _differences(runs: Sequence[Run]) -> list[Part]:
    if len(runs) < 2:
        return []
    if not paired_rows(runs):
        return [Note(pairing_text(runs))]
    caption = f"Each run minus {baseline_text(runs)}, on the same targets with the same users."
    return [Table(caption, paired_table(runs)), Note(" ".join(filter(None, [PAIRED, pairing_text(runs)])))]


def _figures(own: Page) -> list[Part]:
    made = figures(own)
    return [Row(made)] if made else []


def _hardest(runs: Sequence[Run], targets: Sequence[RankedTarget], shown: Mapping[Key, str]) -> list[Part]:
    caption = "Lowest area under the curve over all users, repeats and runs. Rows lead to the worst dialogue."
    return [Table(caption, hardest_table(runs, targets, shown))] if targets else []


def _gallery(own: Page, targets: Sequence[RankedTarget]) -> tuple[list[Part], Mapping[Key, str]]:
    """Return the gallery, and for each dialogue in it the id of its card."""
    if "gallery" in own.leaves_out:
        return [], {}
    if own.pictures is None:
        return [Note("No pictures: no package that is installed draws samples of this kind.")], {}
    hardest, others = own.pictures.how_many(len(own.runs))
    keys = gallery_keys(targets, hardest=hardest, others=others)
    made = gallery(own.whole_runs, keys, own.pictures)
    notes = [Note(text) for text in made.notes]
    if not made.html:
        return [*notes], {}
    cards = Html(f'{own.pictures.lead()}{_CONTROLS}<div class="cards">{made.html}</div>')
    return [*notes, cards], made.shown


def _definitions(runs: Sequence[Run]) -> list[Part]:
    texts = [*(definition(statistic, runs[0]) for statistic in runs[0].summary), HELD, FAILURES]
    return [Html(f'<ol class="definitions">{"".join(f"<li>{escape(text)}</li>" for text in texts)}</ol>')]


def _footer(runs: Sequence[Run]) -> str:
    versions = ", ".join(dict.fromkeys(run.config.version for run in runs))
    return f"<footer>Made by segarena from the records of segarena {escape(versions)}; nothing was recomputed.</footer>"


def _document(title: str, body: str) -> str:
    folder = files("segarena.reports")
    style = (folder / "page.css").read_text(encoding="utf-8")
    script = (folder / "page.js").read_text(encoding="utf-8")
    # Only this script may run: a name that slipped through unescaped could still do nothing.
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    policy = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{allowed}'"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style></head>\n"
        f"<body><main>{body}</main>\n<script>{script}</script></body></html>\n"
    )
