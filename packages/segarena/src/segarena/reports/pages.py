"""The report page of a benchmark: `Page`, and the registry of its subclasses.

A package names the module with its pages in the entry point group `segarena.pages`; the module is
imported when the first report is created. Runs that no such page supports are shown on
`Page`, which is complete.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, TypeVar

from rich.console import RenderableType

from segarena.benchmark_rules import Statistic
from segarena.errors import PluginError
from segarena.records.configuration import RunConfiguration, UserRecord
from segarena.registry import import_entry_points
from segarena.reports.baselines import floors_of
from segarena.reports.chart_series import round_word
from segarena.reports.hardest_targets import RankedTarget, gallery_keys, ranked_targets
from segarena.reports.page_parts import Fold, Part, Section
from segarena.reports.pictures import DialoguePictures, find_pictures
from segarena.reports.recorded_run import Run
from segarena.reports.renderers.csv import sheet_csv
from segarena.reports.renderers.latex import latex_comment, sheet_tex
from segarena.reports.round_table import DialogueId, DialogueRecord
from segarena.reports.sheets import Sheet
from segarena.reports.verdict import UnitWords, verdict_texts
from segarena.reports.wording import count_text, sample_word
from segarena.users.habits.prompt_time import PromptTimeModel

PAGES_ENTRY_POINTS = "segarena.pages"


class Page:
    """The report on the runs of one benchmark; packages override the methods that their benchmark needs.

    Each report has its own instance, so a `cached_property` can store data that several parts
    share.

    Attributes:
        runs: the compared runs, at least one, all with the same rules; floors are not among them.
        floors: runs of baselines that the others must beat; see `segarena.reports.baselines`.
        benchmarks: names of the benchmarks of this page; set by the decorator `page`.
        draws_floors: whether the page has charts that show floors; if not, floors are treated as
            ordinary runs.
        shows_person_seconds: whether the summary contains the predicted seconds of a person for a
            dialogue.
        leaves_out: general parts that the report omits because the page has better ones or they
            carry no information: the sections "summary", "ranks", "differences", "solved",
            "between", "people", "figures", "pace", "hardest", "targets", "gallery", "failures" and
            "notes", and the figures "curves", "noc", "seconds" and "groups".
        folded: names of the tables that are collapsed.
        gallery_title: heading of the gallery.
        beside: tables with published figures next to figures of the runs, which the summary shows
            too; set if the caller requests them.
        viewer: function that returns the address of a dialogue in the viewer; None without a
            viewer.
    """

    beside: Sequence[Sheet] = ()
    viewer: Callable[[DialogueId], str] | None = None
    benchmarks: ClassVar[tuple[str, ...]] = ()
    draws_floors: ClassVar[bool] = True
    shows_person_seconds: ClassVar[bool] = False
    leaves_out: ClassVar[frozenset[str]] = frozenset()
    folded: ClassVar[frozenset[str]] = frozenset()
    gallery_title: ClassVar[str] = "Dialogues"

    def __init__(self, runs: Sequence[Run]) -> None:
        self.floors = floors_of(runs) if self.draws_floors else ()
        self.runs = tuple(run for run in runs if run not in self.floors)

    @classmethod
    def applies(cls, run: Run) -> bool:
        """Return whether the page supports a run; by default, whether its benchmark is in `benchmarks`."""
        return run.config.benchmark.name in cls.benchmarks

    def whole(self, run: Run) -> Run:
        """Return the part of a run that general tables show: by default all of it.

        A page may leave out dialogues that would distort the means.
        """
        return run

    def usual(self, run: Run) -> Run:
        """Return the part of a run for verdict, rankings, differences, figures and terminal: by default `whole`."""
        return self.whole(run)

    @property
    def every_run(self) -> tuple[Run, ...]:
        """All runs, followed by the floors."""
        return (*self.runs, *self.floors)

    @cached_property
    def usual_floors(self) -> tuple[Run, ...]:
        """The floors, each in the form that `usual` returns, for figures and the terminal."""
        return tuple(self.usual(run) for run in self.floors)

    @cached_property
    def whole_runs(self) -> tuple[Run, ...]:
        """All runs, each in the form that `whole` returns, for general tables."""
        return tuple(self.whole(run) for run in self.runs)

    @cached_property
    def usual_runs(self) -> tuple[Run, ...]:
        """All runs, each in the form that `usual` returns."""
        return tuple(self.usual(run) for run in self.runs)

    @cached_property
    def pace(self) -> PromptTimeModel:
        """Model of the seconds that people need for prompts; by default the published one."""
        return PromptTimeModel()

    @cached_property
    def word(self) -> str:
        """Word for a round in captions."""
        return round_word(self.whole_runs)

    @property
    def target_word(self) -> str:
        """Word for a target in the text of reports."""
        return "target"

    @property
    def sample_word(self) -> str:
        """Word for a sample, the unit of the bootstrap and of the sign-flip test."""
        return sample_word(self.runs[0])

    @cached_property
    def decides(self) -> Statistic | None:
        """Statistic of the verdict: by default the last NoC of the summary, else its first statistic, else None."""
        summary = self.usual_runs[0].summary
        if not summary:
            return None
        counted = [statistic for statistic in summary if statistic.kind == "noc"]
        return counted[-1] if counted else summary[0]

    @cached_property
    def verdict(self) -> Sequence[str]:
        """The result in a few short sentences for each dataset, at most three; see `verdict_texts`."""
        if self.decides is None:
            return []
        words = UnitWords(self.word, self.target_word, self.sample_word, self.users_in_words)
        return verdict_texts(self.usual_runs, self.decides, words)

    @cached_property
    def pictures(self) -> DialoguePictures | None:
        """Object that draws dialogues in the gallery; by default the one for the benchmark's samples, if any."""
        return find_pictures(self.runs[0].config.benchmark.sample_kind, self.word)

    @cached_property
    def shown_runs(self) -> tuple[Run, ...]:
        """The runs from which the gallery chooses dialogues: by default all but the floors."""
        return self.whole_runs

    @cached_property
    def drawn_runs(self) -> tuple[Run, ...]:
        """All runs whose predictions the gallery draws.

        They include floors, which do not influence the choice of dialogues.
        """
        floors = [self.whole(run) for run in self.floors]
        return (*self.shown_runs, *floors)

    @cached_property
    def ranked(self) -> Sequence[RankedTarget]:
        """All targets of the gallery, hardest first."""
        return ranked_targets(self.shown_runs)

    def chosen(self, drawn: DialoguePictures) -> Sequence[DialogueId]:
        """Return the dialogues of the gallery: by default the hardest, then others from hard to easy."""
        hardest, others = drawn.how_many(len(self.runs))
        return gallery_keys(self.ranked, hardest=hardest, others=others)

    def name_of(self, dialogue: DialogueRecord) -> str:
        """Return the display name of a target in the gallery: by default its label, else its id."""
        return dialogue.label or dialogue.target

    @classmethod
    def user_words(cls, user: UserRecord) -> str:
        """Describe a user's prompts in words, to show beside the name of the user; by default ""."""
        del user
        return ""

    @cached_property
    def users_in_words(self) -> Mapping[str, str]:
        """Description of the prompts of each user, by name; users without a description are missing."""
        users = [user for run in self.every_run for user in run.config.users]
        return _words_by_name(type(self), users)

    def rules(self, run: Run) -> Mapping[str, Any]:
        """Return the options of the benchmark that the header lists."""
        return run.config.benchmark.options

    @cached_property
    def sheets(self) -> Mapping[str, Sheet]:
        """Tables that this page adds to the general ones, by name."""
        return {}

    def shown(self, *names: str) -> list[Part]:
        """Return those of the named tables that exist, collapsed if they are in `folded`."""
        parts: list[Part] = []
        for name in names:
            sheet = self.sheets.get(name)
            if sheet is None:
                continue
            if self.is_folded(sheet):
                parts.append(Fold(fold_title(sheet), [sheet]))
            else:
                parts.append(sheet)
        return parts

    def is_folded(self, sheet: Sheet) -> bool:
        """Return whether a table is collapsed; by default, whether its name is in `folded`."""
        return sheet.name in self.folded

    def sections(self) -> Sequence[Section]:
        """Return the sections above the general ones."""
        return ()

    def of_people(self) -> Sequence[Part]:
        """Return additional parts of the section about people; called only for runs with human users."""
        return ()

    def summary(self, summary_of: Callable[[Sequence[Run], str], Part]) -> Sequence[Part]:
        """Return the summary; `summary_of(runs, caption)` builds a table of means over targets."""
        return [summary_of(self.whole_runs, f"Means over {self.target_word}s.")]

    def terminal(self) -> Sequence[RenderableType]:
        """Return the content above the general summary in the terminal."""
        return ()

    def files(self) -> Mapping[str, str]:
        """Return the additional tables of this page as text, by file name."""
        return {}


def users_in_words(config: RunConfiguration) -> dict[str, str]:
    """Describe the prompts of a run's users in words, by user name, as the page of the benchmark does."""
    import_entry_points(PAGES_ENTRY_POINTS)
    return _words_by_name(_pages.get(config.benchmark.name, Page), config.users)


def _words_by_name(page_class: type[Page], users: Sequence[UserRecord]) -> dict[str, str]:
    found: dict[str, str] = {}
    for user in users:
        words = page_class.user_words(user)
        if words:
            found[user.written] = words
    return found


def fold_title(sheet: Sheet) -> str:
    """Return the title of a collapsed table: the start of its caption and its number of rows."""
    topic = re.split(r"[.,]", sheet.caption, maxsplit=1)[0]
    return f"{topic}, {count_text(len(sheet.rows), 'row')}"


def sheet_files(
    prefix: str,
    sheets: Sequence[Sheet],
    about: Sequence[str],
    *,
    unprinted: Collection[str] = (),
) -> dict[str, str]:
    """Render tables as text by file name: PREFIX-NAME.csv for each, and PREFIX.tex with all of them.

    Args:
        prefix: prefix of the file names.
        sheets: the tables; if empty, no file is returned.
        about: comments at the top of the LaTeX file.
        unprinted: names of the tables that the LaTeX file omits.
    """
    if not sheets:
        return {}
    texts: dict[str, str] = {}
    tables: list[str] = []
    for sheet in sheets:
        texts[f"{prefix}-{sheet.name}.csv"] = sheet_csv(sheet)
        if sheet.name not in unprinted:
            tables.append(sheet_tex(sheet))
    comments = "".join(f"% {latex_comment(text)}\n" for text in about)
    texts[f"{prefix}.tex"] = comments + "\n".join(tables)
    return texts


PageClass = TypeVar("PageClass", bound=type[Page])
_pages: dict[str, type[Page]] = {}


def page(*benchmarks: str) -> Callable[[PageClass], PageClass]:
    """Return a decorator that registers a class as the page of these benchmarks.

    Raises:
        PluginError: one of the benchmarks already has a page.
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
    """Return the page for the runs of one benchmark.

    This is the page registered for the benchmark if it supports the first run, else any other page
    that does, else `Page`.
    """
    import_entry_points(PAGES_ENTRY_POINTS)
    candidates = list(dict.fromkeys(_pages.values()))
    registered = _pages.get(runs[0].config.benchmark.name)
    if registered is not None:
        candidates.insert(0, registered)
    page_class = next((one for one in candidates if one.applies(runs[0])), Page)
    return page_class(runs)


def broken_pages() -> Sequence[str]:
    """Return an error line for each package whose pages could not be imported.

    Reports are created without these pages.
    """
    return import_entry_points(PAGES_ENTRY_POINTS)
