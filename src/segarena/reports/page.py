"""The page: one HTML file that needs nothing else, on any machine, without a network."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import Any

from segarena.registry import PluginSpec
from segarena.reports.figures import figures
from segarena.reports.gallery import gallery
from segarena.reports.naming import short_name
from segarena.reports.own import general_run, has_own_pictures, own_sections
from segarena.reports.ranking import gallery_keys, ranked_targets
from segarena.reports.reading import Run
from segarena.reports.sections import MOST_HARD, failures_section, hardest_table, paired_table, summary_table
from segarena.reports.series import Figure, round_word
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
from segarena.systems.clicks.page.runs import base_user, is_robustness
from segarena.systems.volumes.page.runs import is_volumes

GALLERY_STRIPS = 36
"""Dialogues with pictures, counted over all runs."""

VOLUME_STRIPS = 12


def page(runs: Sequence[Run]) -> str:
    """Return the report of `runs` as one self-contained HTML document."""
    everyone = runs
    runs = [general_run(run) for run in everyone]
    targets = [] if has_own_pictures(runs[0]) else ranked_targets(runs)
    pictures = gallery([] if has_own_pictures(runs[0]) else runs, gallery_keys(targets, **_how_many(runs)))
    numbered = _Numbered()
    usual = [base_user(run) for run in runs]
    sections = [
        *own_sections(everyone, numbered.table, numbered.figure),
        ("summary", "Summary", _summary(runs, usual, numbered)),
        ("differences", "Paired differences", _differences(usual, numbered)),
        ("figures", "Figures", _figures(usual, numbered)),
        (
            "hardest",
            "Hardest targets",
            numbered.table(
                "Lowest area under the curve over all users, repeats and runs. Rows lead to the worst dialogue.",
                hardest_table(runs, targets, pictures.shown),
            )
            if targets
            else "",
        ),
        ("gallery", "Dialogues", _gallery_section(runs, pictures.html, pictures.notes)),
        ("failures", "Failures", failures_section(everyone)),
        ("notes", "What the numbers are", _definitions(runs)),
    ]
    kept = [(anchor, title, html) for anchor, title, html in sections if html]
    links = "".join(f'<a href="#{anchor}">{title}</a>' for anchor, title, _ in kept)
    body = "".join(f'<section id="{anchor}"><h2>{title}</h2>{html}</section>' for anchor, title, html in kept)
    return _document(_title(runs), f"{_header(everyone)}<nav>{links}</nav>{body}{_footer(runs)}")


def _how_many(runs: Sequence[Run]) -> dict[str, int]:
    """Return how many dialogues the gallery shows; of volumes fewer, for each is loaded whole."""
    if is_volumes(runs[0]):
        return {"hardest": MOST_HARD // 2, "others": max(3, VOLUME_STRIPS // len(runs) - MOST_HARD // 2)}
    return {"hardest": MOST_HARD, "others": max(0, GALLERY_STRIPS // len(runs) - MOST_HARD)}


class _Numbered:
    """Counts tables and figures."""

    def __init__(self) -> None:
        self._counts = {"Table": 0, "Figure": 0}

    def table(self, caption: str, html: str) -> str:
        return f'<div class="float">{self._caption("Table", "", caption)}{html}</div>'

    def figure(self, figure: Figure) -> str:
        css = "float wide" if figure.is_wide else "float"
        return f'<div class="{css}">{figure.html}{self._caption("Figure", figure.title, figure.caption)}</div>'

    def _caption(self, kind: str, title: str, caption: str) -> str:
        self._counts[kind] += 1
        strong = f" {escape(title)}." if title else ""
        return f'<p class="caption"><b>{kind} {self._counts[kind]}.{strong}</b> {escape(caption)}</p>'


def _title(runs: Sequence[Run]) -> str:
    if len({run.data for run in runs}) == 1:
        return f"{', '.join(run.label for run in runs)} on {short_name(runs[0].dataset)}"
    segmenters, data = (dict.fromkeys(names) for names in zip(*((r.segmenter, r.data) for r in runs), strict=True))
    return f"{', '.join(segmenters)} on {', '.join(data)}"


def _header(runs: Sequence[Run]) -> str:
    config = runs[0].config
    rules = config["benchmark"]
    banners = [text for run in runs for text in (partial_text(run), empty_text(run)) if text]
    alarms = "".join(f'<p class="banner">{escape(text)}</p>' for text in banners)
    targets = len({(r.dataset, d.sample, d.target) for r in runs for d in r.finished()})
    samples = {(r.dataset, sample) for r in runs for sample in r.samples}
    stop = rules["stop_at"]
    facts = [
        ("Benchmark", rules["name"] + (f" ({rules['paper']})" if rules["paper"] else "")),
        ("Dataset", "; ".join(dict.fromkeys(_dataset_text(run) for run in runs))),
        ("Targets", f"{targets} in {count_text(len(samples), 'sample')}"),
        ("Users", ", ".join(dict.fromkeys(user for run in runs for user in run.users))),
        ("Rounds", f"at most {config['rounds']}" + (f", until {stop[0]} is at least {stop[1]:g}" if stop else "")),
        ("Rules", "; ".join(dict.fromkeys(map(_rules_text, runs)))),
    ]
    listed = "".join(f"<div><dt>{name}</dt><dd>{escape(text)}</dd></div>" for name, text in facts if text)
    runs_told = "".join(_run_details(run) for run in runs)
    return (
        f'<header class="top"><p class="kicker">{escape(rules["name"])} · interactive segmentation report</p>'
        f'<h1>{escape(_title(runs))}</h1><p class="mode">{escape(protocol_text(runs[0]))}</p>'
        f'{alarms}<dl class="facts">{listed}</dl>{runs_told}</header>'
    )


def _rules_text(run: Run) -> str:
    """Return the benchmark's options; of rclicks those that its own section does not tell."""
    options = run.config["benchmark"]["options"]
    names = ["solved_at_last", "clicks"] if is_robustness(run) else list(options)
    texts = {name: options[name] for name in names if name in options}
    return ", ".join(f"{name}: {_option_text(value)}" for name, value in texts.items())


def _option_text(value: Any) -> str:
    if not isinstance(value, dict):
        return str(value)
    return " ".join(f"{key} {str(inner)[:16]}" for key, inner in value.items() if inner is not None) or "none"


def _dataset_text(run: Run) -> str:
    dataset = run.config["dataset"]
    return f"{PluginSpec(short_name(dataset['name']), dataset['options'])}, fingerprint {dataset['fingerprint']}"


def _run_details(run: Run) -> str:
    config = run.config
    segmenter, users = config["segmenter"], config["users"]
    rows = [
        ("Segmenter", str(PluginSpec(segmenter["name"], segmenter["options"]))),
        ("Dataset", str(PluginSpec(config["dataset"]["name"], config["dataset"]["options"]))),
        ("File", f"sha256 {segmenter['sha256']}" if "sha256" in segmenter else ""),
        ("Users", "; ".join(f"{u.get('written', u['name'])}: {PluginSpec(u['name'], u['options'])}" for u in users)),
        ("Metrics", ", ".join(str(PluginSpec(m["name"], m["options"])) for m in map(_as_plugin, config["metrics"]))),
        ("Repeats, seed", f"{config['repeats']}, {config['seed']}"),
        ("Made", f"{config.get('created', '')} with segarena {config['version']}"),
        ("Environment", ", ".join(f"{key} {value}" for key, value in config.get("environment", {}).items())),
        ("Counts", ", ".join(f"{value} {key}" for key, value in config.get("counts", {}).items())),
    ]
    listed = "".join(f"<div><dt>{name}</dt><dd>{escape(text)}</dd></div>" for name, text in rows if text)
    command = config.get("command", "")
    shown = f"<pre><code>{escape(command)}</code></pre>" if command else ""
    return (
        f'<details class="run"><summary>{escape(run.label)}: how it was run</summary>{shown}<dl>{listed}</dl></details>'
    )


def _as_plugin(described: Any) -> dict[str, Any]:
    return described if isinstance(described, dict) else {"name": str(described), "options": {}}


def _summary(runs: Sequence[Run], usual: Sequence[Run], numbered: _Numbered) -> str:
    """Return the summary of everyone, or that of the base user with the others folded away."""
    if not is_robustness(runs[0]):
        return numbered.table("Means over targets.", summary_table(runs)) + _summary_notes(runs)
    return (
        numbered.table("Means over targets with the base user: the click benchmark.", summary_table(usual))
        + "<details><summary>Every clicking group</summary>"
        + f"{numbered.table('Means over targets.', summary_table(runs))}</details>{_summary_notes(runs)}"
    )


def _summary_notes(runs: Sequence[Run]) -> str:
    images = len({(run.dataset, d.sample) for run in runs for d in run.finished()})
    few = f"With {count_text(images, 'image')} only, take them as rough." if images < FEW_IMAGES else ""
    left_out = f"Left out, for want of rounds: {', '.join(runs[0].left_out)}." if runs[0].left_out else ""
    return f'<p class="note">{escape(" ".join(filter(None, [INTERVALS, few, left_out])))}</p>'


def _differences(runs: Sequence[Run], numbered: _Numbered) -> str:
    if len(runs) < 2:
        return ""
    if not paired_rows(runs):
        return f'<p class="note">{escape(pairing_text(runs))}</p>'
    caption = f"Each run minus {baseline_text(runs)}, on the same targets with the same users."
    note = " ".join(filter(None, [PAIRED, pairing_text(runs)]))
    return numbered.table(caption, paired_table(runs)) + f'<p class="note">{escape(note)}</p>'


def _figures(runs: Sequence[Run], numbered: _Numbered) -> str:
    made = "".join(map(numbered.figure, figures(runs)))
    return f'<div class="figures">{made}</div>' if made else ""


def _gallery_section(runs: Sequence[Run], cards: str, notes: Sequence[str]) -> str:
    told = "".join(f'<p class="note">{escape(note)}</p>' for note in notes)
    if not cards:
        return told
    kind = runs[0].config["benchmark"].get("sample_kind", "image")
    lead = {"volume": _lead_of_volumes, "video": _lead_of_videos}.get(kind, lambda: _lead(round_word(runs)))()
    controls = (
        '<form class="controls" hidden><label>User <select name="user"><option value="">all</option></select></label>'
        '<label>Name <input name="words" type="search"></label><output></output></form>'
    )
    return f'{told}{lead}{controls}<div class="cards">{cards}</div>'


def _lead_of_volumes() -> str:
    return (
        '<p class="lead">The hardest targets first, then others from hard to easy, each with the user who did worst. '
        'Slices lie through the middle of the target (<i class="key truth"></i>); with the last prediction '
        '(<i class="key guess"></i>) and all prompts: on the object (<i class="key pos"></i>), off it '
        '(<i class="key neg"></i>), faint where they lie on other slices. Superior or anterior is up; '
        "the patient's right is on the left, and anterior in sagittal slices.</p>"
    )


def _lead_of_videos() -> str:
    return (
        '<p class="lead">The hardest videos first. The upper row has the objects of some frames, each in its colour. '
        "The rows below have the predictions after some interactions, with the lines that were drawn just before; "
        "black ones are on the background. Beside them J&amp;F of every frame, from 0 to 1: a dashed line is a frame "
        "that was drawn in, a dot one that is shown.</p>"
    )


def _lead(word: str) -> str:
    return (
        f'<p class="lead">The hardest targets first, then others from hard to easy. Left: the target (<i class="key '
        f'truth"></i>) and all {word}s in order, on the object (<i class="key pos"></i>) or off it (<i class="key neg">'
        f'</i>); grey (<i class="key ignored"></i>) is not judged. Right: the prediction (<i class="key guess"></i>) '
        f"after some of the {word}s, the newest one large.</p>"
    )


def _definitions(runs: Sequence[Run]) -> str:
    texts = [*(definition(statistic, runs[0]) for statistic in runs[0].summary), HELD, FAILURES]
    return f'<ol class="definitions">{"".join(f"<li>{escape(text)}</li>" for text in texts)}</ol>'


def _footer(runs: Sequence[Run]) -> str:
    versions = ", ".join(dict.fromkeys(str(run.config["version"]) for run in runs))
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
