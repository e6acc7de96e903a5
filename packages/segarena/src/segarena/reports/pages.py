"""What a benchmark's package says of the report of its runs: one `Page` for each benchmark.

A package names the module that defines its pages in the entry point group `segarena.pages`; it is imported when a
report is first made. A benchmark without a page of its own has `Page`, which is complete.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, TypeVar

from rich.console import RenderableType

from segarena.errors import PluginError
from segarena.registry import import_packages
from segarena.reports.baselines import floors_of
from segarena.reports.chart_series import round_word
from segarena.reports.hardest_targets import RankedTarget, gallery_keys, ranked_targets
from segarena.reports.page_parts import Fold, Part, Section
from segarena.reports.pictures import DialoguePictures, find_pictures
from segarena.reports.recorded_run import DialogueId, Run
from segarena.reports.renderers import latex_comment, sheet_csv, sheet_tex
from segarena.reports.round_table import DialogueRecord
from segarena.reports.sheets import Sheet
from segarena.reports.verdict import UnitWords, verdict_texts
from segarena.reports.wording import count_text, sample_word
from segarena.roles import Statistic
from segarena.users.habits.prompt_time import PromptTimeModel

PAGES_ENTRY_POINTS = "segarena.pages"


class Page:
    """The report of the runs of one benchmark; a package overrides what its benchmark needs.

    Made anew for each report, so what several parts need may be kept in a `cached_property`.

    Attributes:
        runs: the runs that are judged, at least one, all by the same rules.
        floors: further runs that they must beat, see `segarena.reports.baselines`.
        benchmarks: names of the benchmarks that it is for; filled in by the decorator `page`.
        draws_floors: whether it has charts for floors to be drawn in; else they are runs as any other.
        leaves_out: general parts that the report does without, because the page has better ones or they say nothing:
            of the sections "summary", "between", "ranks", "differences", "figures", "pace", "hardest", "targets",
            "gallery" and "failures", of the figures "curves", "noc", "seconds" and "groups".
        folded: names of its tables that are folded away.
        gallery_title: what stands above the gallery.
        beside: published figures beside the runs' own, which the summary shows too; filled in when asked for.
        viewer: gives the address at which a dialogue can be looked at; None where there is no viewer.
    """

    beside: Sequence[Sheet] = ()
    viewer: Callable[[DialogueId], str] | None = None
    benchmarks: ClassVar[tuple[str, ...]] = ()
    draws_floors: ClassVar[bool] = True
    leaves_out: ClassVar[frozenset[str]] = frozenset()
    folded: ClassVar[frozenset[str]] = frozenset()
    gallery_title: ClassVar[str] = "Dialogues"

    def __init__(self, runs: Sequence[Run]) -> None:
        self.floors = floors_of(runs) if self.draws_floors else ()
        self.runs = tuple(run for run in runs if run not in self.floors)

    @classmethod
    def applies(cls, run: Run) -> bool:
        """Tell whether the page is for a run; by default, whether it followed one of `benchmarks`."""
        return run.config.benchmark.name in cls.benchmarks

    def whole(self, run: Run) -> Run:
        """Return a run as the general tables have it, without what would distort their means."""
        return run

    def usual(self, run: Run) -> Run:
        """Return a run as figures, differences and the terminal have it."""
        return self.whole(run)

    @property
    def every_run(self) -> tuple[Run, ...]:
        """All runs, floors last."""
        return (*self.runs, *self.floors)

    @cached_property
    def usual_floors(self) -> tuple[Run, ...]:
        """The floors as figures and the terminal have them."""
        return tuple(map(self.usual, self.floors))

    @cached_property
    def whole_runs(self) -> tuple[Run, ...]:
        """All runs as the general tables have them."""
        return tuple(map(self.whole, self.runs))

    @cached_property
    def usual_runs(self) -> tuple[Run, ...]:
        """All runs as figures, differences and the terminal have them."""
        return tuple(map(self.usual, self.runs))

    @cached_property
    def pace(self) -> PromptTimeModel:
        """How quickly somebody is taken to prompt, in figures against seconds; as published unless it is set."""
        return PromptTimeModel()

    @cached_property
    def word(self) -> str:
        """What captions call a round."""
        return round_word(self.whole_runs)

    @property
    def target_word(self) -> str:
        """What texts call a target."""
        return "target"

    @property
    def sample_word(self) -> str:
        """What texts call a sample: what is drawn, or flips its sign, as a whole."""
        return sample_word(self.runs[0])

    @cached_property
    def decides(self) -> Statistic | None:
        """The statistic of the verdict: by default the last NoC of the summary, else its first statistic."""
        summary = self.usual_runs[0].summary
        counted = [statistic for statistic in summary if statistic.kind == "noc"]
        return next(iter([*counted[-1:], *summary]), None)

    @cached_property
    def verdict(self) -> Sequence[str]:
        """What came out, in a sentence for each dataset."""
        if self.decides is None:
            return []
        words = UnitWords(self.word, self.target_word, self.sample_word)
        return verdict_texts(self.usual_runs, self.decides, words)

    @cached_property
    def pictures(self) -> DialoguePictures | None:
        """How the gallery draws dialogues; by default as is registered for the benchmark's kind of samples."""
        return find_pictures(self.runs[0].config.benchmark.sample_kind, self.word)

    @cached_property
    def shown_runs(self) -> tuple[Run, ...]:
        """All runs as the gallery has them."""
        return self.whole_runs

    @cached_property
    def drawn_runs(self) -> tuple[Run, ...]:
        """All runs of which the gallery has pictures: floors too, which decide nothing about what is shown."""
        return (*self.shown_runs, *map(self.whole, self.floors))

    @cached_property
    def ranked(self) -> Sequence[RankedTarget]:
        """Every target of the gallery, the hardest first."""
        return ranked_targets(self.shown_runs)

    def chosen(self, drawn: DialoguePictures) -> Sequence[DialogueId]:
        """Return the dialogues that the gallery shows: by default the hardest, and others from hard to easy."""
        hardest, others = drawn.how_many(len(self.runs))
        return gallery_keys(self.ranked, hardest=hardest, others=others)

    def name_of(self, dialogue: DialogueRecord) -> str:
        """Return what the gallery calls a target: by default its label, or its name without one."""
        return dialogue.label or dialogue.target

    def rules(self, run: Run) -> Mapping[str, Any]:
        """Return the options of the benchmark that the header tells."""
        return run.config.benchmark.options

    @cached_property
    def sheets(self) -> Mapping[str, Sheet]:
        """The tables that the report has beside the general ones, by name."""
        return {}

    def shown(self, *names: str) -> list[Part]:
        """Return the tables of these names that there are, folded away if they are to be."""
        sheets = [self.sheets[name] for name in names if name in self.sheets]
        return [
            Fold(fold_title(sheet), [sheet]) if self.is_folded(sheet) else sheet for sheet in sheets
        ]

    def is_folded(self, sheet: Sheet) -> bool:
        """Tell whether a table is folded away; by default, whether it is one of `folded`."""
        return sheet.name in self.folded

    def sections(self) -> Sequence[Section]:
        """Return the sections that stand before the general ones."""
        return ()

    def of_people(self) -> Sequence[Part]:
        """Return what the section about people has beyond what it always has; only asked for runs that asked some."""
        return ()

    def summary(self, summary_of: Callable[[Sequence[Run], str], Part]) -> Sequence[Part]:
        """Return the summary; `summary_of(runs, caption)` makes a table of means over targets."""
        return [summary_of(self.whole_runs, f"Means over {self.target_word}s.")]

    def terminal(self) -> Sequence[RenderableType]:
        """Return what the terminal shows before the general summary."""
        return ()

    def files(self) -> Mapping[str, str]:
        """Return the tables that the report has beside the general ones, as text by file name."""
        return {}


def fold_title(sheet: Sheet) -> str:
    """Return the first words of a table's caption and how many rows it has."""
    about = re.split(r"[.,]", sheet.caption, maxsplit=1)[0]
    return f"{about}, {count_text(len(sheet.rows), 'row')}"


def sheet_files(
    prefix: str, sheets: Sequence[Sheet], about: Sequence[str], *, unprinted: Collection[str] = ()
) -> dict[str, str]:
    """Return tables as texts by file name: PREFIX-NAME.csv for each, and PREFIX.tex with all of them.

    Args:
        prefix: of the file names.
        sheets: the tables.
        about: comments on top of the LaTeX file.
        unprinted: names of tables that are not in the LaTeX file.
    """
    texts = {f"{prefix}-{sheet.name}.csv": sheet_csv(sheet) for sheet in sheets}
    comments = "".join(f"% {latex_comment(text)}\n" for text in about)
    tables = "\n".join(sheet_tex(sheet) for sheet in sheets if sheet.name not in unprinted)
    return {**texts, f"{prefix}.tex": comments + tables} if sheets else {}


PageClass = TypeVar("PageClass", bound=type[Page])
_pages: dict[str, type[Page]] = {}


def page(*benchmarks: str) -> Callable[[PageClass], PageClass]:
    """Return a decorator that makes a class the page of the benchmarks so named.

    Raises:
        PluginError: one of them has a page already.
    """

    def add(found: PageClass) -> PageClass:
        for name in benchmarks:
            known = _pages.setdefault(name, found)
            if known.__qualname__ != found.__qualname__ or known.__module__ != found.__module__:
                raise PluginError(
                    f"benchmark {name!r} has two pages: {known.__module__} and {found.__module__}"
                )
        found.benchmarks = benchmarks
        return found

    return add


def page_of(runs: Sequence[Run]) -> Page:
    """Return the page of runs of one benchmark: the one of that name, else the first that says it applies."""
    import_packages(PAGES_ENTRY_POINTS)
    named = _pages.get(runs[0].config.benchmark.name)
    found = [*([named] if named else []), *dict.fromkeys(_pages.values())]
    return next((one for one in found if one.applies(runs[0])), Page)(runs)


def broken_pages() -> Sequence[str]:
    """Return a line for each package whose pages could not be imported; reports are made without them."""
    return import_packages(PAGES_ENTRY_POINTS)
