"""A run on disk: `run.json`, tables in Parquet files, and the ledger of its pieces.

    runs/x/
      run.json       everything needed to repeat the run
      records/       one row per round: keys, effort, prompts, metrics and their counts, failure
      timings/       seconds per round; round 0 is an encoder pass, and -1 an encoding from the cache
      masks/         predictions after chosen rounds and after the last one, as run lengths
      parts/         metric values of each object and frame; only for metrics that give them
      without_dialogue/  targets that no user chose; only if all users choose their targets
      people/        person and effort of each round; only for runs with human users
      pieces.jsonl   files of the samples; see `segarena.records.pieces`
      tracebacks.txt  where plug-ins failed; only if some did
      data.parquet   SHA-256 of each data file; only for datasets that list their files, and not if a
                     run compares only names and sizes
      seats/         prompts of people; see `segarena.engine.human_dialogue_files`
      claims/        division of work, while several processes share the run; see `segarena.work.sharing`
      earlier/       rows to keep, while users are added to the run; see `segarena.engine.rows_before_extension`

A sample is done when its records exist, whatever happened to the process. Durations are not in the
records, so equal runs have equal record files, byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from html import escape
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import polars as pl

from segarena.engine.human_dialogue_files import clear_seats
from segarena.engine.plugin_errors import TRACEBACKS_FILE
from segarena.engine.rows import Rows
from segarena.engine.rows_before_extension import EarlierRows, forget_earlier_rows, keep_rows
from segarena.engine.run_continuation_changes import (
    START_ANEW,
    RunChange,
    compare_configurations,
    samples_to_continue,
    with_growth,
    with_mended_plugins,
)
from segarena.errors import PluginError, RunConflict, RunMissing, StoreError
from segarena.files.atomic_write import clear_leftovers, is_leftover, write_atomic
from segarena.plugin_capabilities import ValueChecker, is_person
from segarena.records.compaction import WritablePieces
from segarena.records.configuration import (
    RunConfiguration,
    configuration_text,
    read_configuration,
)
from segarena.records.consistency import contradictions
from segarena.records.fingerprints import FINGERPRINTS_FILE as FINGERPRINTS
from segarena.records.fingerprints import (
    read_fingerprints,
    write_fingerprints,
)
from segarena.records.pieces import FILE_SUFFIXES, PIECES_LEDGER, Pieces, missing_file_text
from segarena.records.plugin_trust import rebuild_plugin
from segarena.records.report_manifest import REPORT_FOLDER, remove_report
from segarena.records.row_types import OPTIONAL_TABLES, TABLES
from segarena.records.run_identity_record import Fingerprints, version_changes
from segarena.records.sample_file import SampleFileWriter
from segarena.registry import find
from segarena.samples import word_of_kind
from segarena.work.ledger import Ledger, open_exclusive
from segarena.work.sharing.claims import CLAIMS
from segarena.work.sharing.locks import is_claim_file, refuse_sharers, remove_claims

ENTRY_POINTS = "segarena.run_views"
"""Entry-point group of the module that presents runs; the engine uses the first one by name."""

_FOR_READERS = (
    "path",
    "config",
    "note",
    "notes",
    "samples",
    "is_complete",
    "pending",
    "failed",
    "summary",
    "tags",
    "compare",
    "records",
    "timings",
    "masks",
    "parts",
    "people",
    "read",
)
"""Attributes that completion offers; the others are for the engine."""


_MAX_DEPTH = 3
"""Number of folder levels above and below a path that the message about a missing run searches for one."""


def _nearby_run(path: Path) -> str:
    """Return the end of the message about a missing run: a nearby run that may be meant, or how to make one."""
    for parent in path.absolute().parents[:_MAX_DEPTH]:
        if (parent / "run.json").is_file():
            return f", and {parent} is one; name that folder"
    if not path.exists():
        return ", found nothing; correct the path, or make a run with 'segarena run'"
    for depth in range(1, _MAX_DEPTH + 1):
        below = sorted(path.glob("*/" * depth + "run.json"))
        if below:
            return f", found one in {below[0].parent}; name the run itself"
    return ", found none; make one with 'segarena run'"


class RunFolder:
    """A run on disk. `open` reads an existing run, `create` starts or continues one.

    Attributes:
        path: the folder.
        config: contents of run.json.
        damage: message about a checksum mismatch of run.json; "" for none.
        notes: messages for the reader of the run, including changes since the start of a continued run.
        writer: writes the files of finished samples; this needs no lock on the run.
    """

    def __init__(
        self,
        path: Path,
        config: RunConfiguration,
        *,
        damage: str = "",
        is_sealed: bool = True,
    ) -> None:
        # Absolute, because a plug-in may change the working directory.
        self.path = path.absolute()
        self.config = config
        self.damage = damage
        if is_sealed:
            earlier = ""
        else:
            earlier = f"{path}: an earlier version wrote its run.json, without a checksum"
        messages = (damage, earlier, *config.dataset.assumptions)
        self.notes: tuple[str, ...] = tuple(filter(None, messages))
        self._pieces = Pieces(self.path, config.dataset.samples)
        self.writer = SampleFileWriter(self.path)

    @classmethod
    def open(cls, path: str | Path) -> RunFolder:
        """Open an existing run.

        Raises:
            RunMissing: there is no run.json.
            StoreError: run.json is damaged, of a later version, or not written by segarena.
        """
        file = Path(path) / "run.json"
        if not file.is_file():
            raise RunMissing(
                f"{path}: expected a run folder with a run.json in it{_nearby_run(Path(path))}"
            )
        config, damage, is_sealed = read_configuration(file)
        return cls(Path(path), config, damage=damage, is_sealed=is_sealed)

    @classmethod
    def create(
        cls,
        path: str | Path,
        config: RunConfiguration,
        *,
        data: Fingerprints = (),
        overwrite: bool = False,
        beside: Collection[str] = (),
        may_change: bool = False,
    ) -> RunFolder:
        """Start the run `config` in `path`, or continue it if the folder already contains it.

        Args:
            path: the folder.
            config: configuration of a new run; an existing run must have an equal one.
            data: fingerprints of the data files, stored next to run.json so that messages can name changed files.
            overwrite: replace the run in the folder, if there is one; other files in the folder stay.
            beside: names of files that may exist before the run begins.
            may_change: whether an existing run may continue with more samples, rounds or users, and after failures
                with fixed plug-ins; see `segarena.engine.run_continuation_changes`.

        Raises:
            RunConflict: the folder contains another run (the message names the first difference) or other files, or
                another process uses the run.
            StoreError: the folder cannot be written, or it is to be overwritten and its run.json was not written by
                segarena.
        """
        folder = Path(path)
        if (folder / "run.json").is_file():
            existing = cls.open(folder)
            if overwrite:
                existing._start_anew(config, data)
            else:
                existing._apply_change(config, data, may_change=may_change)
                existing._note_changes(config)
                # Either an earlier version began the run, or the file is damaged.
                if not read_fingerprints(folder):
                    write_fingerprints(folder, data)
            return existing
        contents = list(folder.iterdir()) if folder.is_dir() else []
        # Refuse to mix a run with other files, but accept the empty folders of a start that was
        # killed.
        others = [path for path in contents if path.name not in beside]
        if not all(_is_startup_leftover(path) for path in others):
            raise RunConflict(
                f"{folder} holds other files and no run.json; choose an empty or new folder with --out"
            )
        run = cls(folder, config)
        try:
            for table in TABLES:
                if table not in OPTIONAL_TABLES:
                    (folder / table).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"{folder} cannot be written: {error.strerror}; choose another --out"
            ) from error
        # Write run.json after the folders, because a folder with run.json counts as a run.
        run.write_config(config)
        write_fingerprints(folder, data)
        return run

    def _start_anew(self, config: RunConfiguration, data: Fingerprints) -> None:
        """Remove all files of the run and its report, and start the run `config`."""
        refuse_sharers(self.path / CLAIMS)
        # The lock on the ledger is the lock on the run.
        with open_exclusive(self.path / PIECES_LEDGER) as ledger:
            remove_claims(self.path / CLAIMS)
            ledger.truncate(0)
            # Remove records first, so that the samples are pending if the process is killed
            # meanwhile.
            for table in reversed(TABLES):
                for file in (self.path / table).glob("*"):
                    if file.suffix in FILE_SUFFIXES:
                        file.unlink()
            (self.path / FINGERPRINTS).unlink(missing_ok=True)
            forget_earlier_rows(self.path)
            (self.path / TRACEBACKS_FILE).unlink(missing_ok=True)
            clear_seats(self.path)
            self._pieces = Pieces(self.path, config.dataset.samples)
            self.notes = config.dataset.assumptions
            if remove_report(self.path):
                self.notes = (
                    *self.notes,
                    f"{self.path / REPORT_FOLDER} is still the report of the previous run",
                )
            self.write_config(config)
            write_fingerprints(self.path, data)

    def _apply_change(
        self,
        asked: RunConfiguration,
        data: Fingerprints,
        *,
        may_change: bool,
    ) -> None:
        """Continue the run with the requested configuration `asked`.

        Raises:
            RunConflict: `asked` describes another run, or a change with which this run may not continue.
        """
        change = compare_configurations(self.path, self.config, asked, data)
        described = _with_description(self.config, asked)
        if may_change and described != self.config:
            with self.lock():
                self.write_config(_with_description(RunFolder.open(self.path).config, asked))
        if not change.edited and not change.grows:
            return
        repeats = change.edited or change.more_rounds or change.more_users
        has_people = bool(repeats and self.people().height)
        if change.edited and (has_people or not may_change or not self._may_be_mended(change)):
            raise RunConflict(f"{self.path}: {change.edited}; {START_ANEW}")
        if not may_change:
            raise RunConflict(
                f"{self.path} holds a run, and the requested one has {change.in_words}; only one process, "
                f"without --share, can extend a run; {START_ANEW}"
            )
        if has_people:
            raise RunConflict(
                f"{self.path}: people gave prompts in this run, and more rounds or users would repeat their dialogues; "
                f"{START_ANEW}"
            )
        self._check_more_users(change, asked)
        with self.lock():
            # Another process may have changed the run before this one got the lock.
            self.config = RunFolder.open(self.path).config
            change = compare_configurations(self.path, self.config, asked, data)
            self._check_more_users(change, asked)
            if change.edited:
                self._mend(change, asked)
            if change.grows:
                self._grow(change, asked, data)
        self._pieces = Pieces(self.path, self.config.dataset.samples)

    def _check_more_users(self, change: RunChange, asked: RunConfiguration) -> None:
        """Raise RunConflict if an added user is a person, or if an earlier addition of users is not finished."""
        for user in asked.users:
            if user.written in change.more_users and is_person(find("user", user.name)):
                raise RunConflict(
                    f"{self.path}: {user.written} is a person, whom only a new run can ask; choose another --out"
                )
        earlier = EarlierRows(self.path).config
        if earlier is None or not (change.more_users or change.more_rounds):
            return
        # An extension that was interrupted before run.json named the new users can start again.
        if earlier.users != self.config.users:
            names = ", ".join(user.written for user in self.config.users)
            raise RunConflict(
                f"{self.path}: this run is being extended to the users {names}; repeat that command first"
            )

    def _may_be_mended(self, change: RunChange) -> bool:
        """Return whether the run may continue with changed files: some sample failed, or none is done.

        With changed weights, it may continue only if no sample succeeded and there are no earlier rows to keep.
        """
        done = len(self.samples) - len(self.pending())
        failed = len(self.failed())
        # Weights determine every answer, so results of different weights must not be mixed.
        if change.weights:
            return done == failed and EarlierRows(self.path).config is None
        return bool(failed) or not done

    def _mend(self, change: RunChange, asked: RunConfiguration) -> None:
        failed = self.failed()
        finished = len(self.samples) - len(self.pending()) - len(failed)
        # Save before discarding samples: once there are no failures, changed files would raise an
        # error.
        self.write_config(with_mended_plugins(self.config, asked))
        self.discard(failed)
        # The tracebacks quote lines of the previous file.
        (self.path / TRACEBACKS_FILE).unlink(missing_ok=True)
        names = ", ".join((*change.sources, *change.weights))
        note = f"{names} changed since this run; failed samples run again: {len(failed)}"
        if finished:
            note += f"; finished samples used the previous file and are kept: {finished}"
        self.notes = (*self.notes, note)

    def _grow(
        self,
        change: RunChange,
        asked: RunConfiguration,
        data: Fingerprints,
    ) -> None:
        note = f"this run continues with {change.in_words}"
        if change.more_rounds:
            records = self.read("records", ["sample", "round", "failure"])
            names = samples_to_continue(records, self.config.rounds)
            indices = [index for index, sample in enumerate(self.samples) if sample in names]
            # Discard first, because a run with more rounds must not keep dialogues that ended too
            # early.
            self.discard(indices)
            note += f"; samples run again because their dialogues continue: {len(indices)}"
        if change.more_users:
            self._keep_for_more_users()
        write_fingerprints(self.path, data)
        self.write_config(with_growth(self.config, asked))
        self.notes = (*self.notes, note)

    def _keep_for_more_users(self) -> None:
        """Keep the rows of all samples, and make the samples pending for the dialogues of more users."""
        pending = set(self.pending())
        earlier = EarlierRows(self.path).config
        done = [index for index in range(len(self.samples)) if index not in pending]
        # After an interruption, the rows are kept already, and their samples partly discarded.
        if earlier is None or not pending:
            keep_rows(self.path, self.config)
        # Discard before run.json names the new users: they are missing in these samples.
        self.discard(done)

    def _note_changes(self, continued: RunConfiguration) -> None:
        """Note versions that changed since the run began; add fingerprints if an earlier version recorded none."""
        before = self.config.identity
        now = continued.identity
        versions = dict(self.config.environment)
        if before is not None:
            versions.update(before.packages)
        versions_now = dict(continued.environment)
        if now is not None:
            versions_now.update(now.packages)
        notes = [version_changes(versions, versions_now)]
        if before is None and now is not None:
            notes.append(
                "this run began without fingerprints of weights, sources and data; from now on it has them"
            )
            self.write_config(replace(self.config, identity=replace(now, is_from_start=False)))
        self.notes = (*self.notes, *filter(None, notes))

    @property
    def note(self) -> str:
        """Remark about the run, as given with `--note`; "" for none."""
        return self.config.note

    @property
    def tags(self) -> tuple[str, ...]:
        """Words by which people sort their runs, as given with `--tag`."""
        return self.config.tags

    @property
    def samples(self) -> tuple[str, ...]:
        """All sample ids of the run, in order."""
        return self.config.dataset.samples

    @property
    def is_complete(self) -> bool:
        """Whether every sample is done."""
        return not self.pending()

    def pending(self) -> list[int]:
        """Return the indices of the samples that are not done, without reading a table."""
        return [index for index, is_done in enumerate(self._pieces.done()) if not is_done]

    @contextmanager
    def lock(self, *, retry_damaged: bool = False) -> Generator[None]:
        """Lock the run for this process during the block; the lock also ends with the process.

        Args:
            retry_damaged: remove damaged files, samples with contradictory values, and samples for which a damaged
                ledger may be out of date.

        Raises:
            RunConflict: another process uses this run, or several processes share it.
            StoreError: the ledger is damaged, and `retry_damaged` is False.
        """
        refuse_sharers(self.path / CLAIMS)
        # Flush each line at once: the files that a new piece replaces are removed right after its
        # line.
        with Ledger(self.path / PIECES_LEDGER, {"pieces": 1}, sync_s=0.0) as ledger:
            # Processes that died while sharing the run left their claims behind.
            remove_claims(self.path / CLAIMS)
            self.clear_leftovers()
            with self._writable_pieces(
                WritablePieces(self.path, self.samples, ledger), retry_damaged=retry_damaged
            ):
                yield

    @contextmanager
    def keep(self, check: Callable[[], None], *, retry_damaged: bool = False) -> Generator[None]:
        """Make a shared run writable during the block, in which the caller keeps the other processes out.

        Args:
            check: raises an error if the other processes no longer stay out.
            retry_damaged: see `lock`.
        """
        with (
            Ledger(self.path / PIECES_LEDGER, {"pieces": 1}, sync_s=0.0, is_locked=False) as ledger,
            self._writable_pieces(
                WritablePieces(self.path, self.samples, ledger, check=check),
                retry_damaged=retry_damaged,
            ),
        ):
            yield

    def clear_leftovers(self) -> None:
        """Remove incomplete files of killed processes; only allowed while no process writes."""
        for written in (self.path, *(self.path / table for table in TABLES)):
            clear_leftovers(written)
        self._pieces.clear_incomplete()

    @contextmanager
    def _writable_pieces(self, pieces: WritablePieces, *, retry_damaged: bool) -> Generator[None]:
        reading = self._pieces
        self._pieces = pieces
        try:
            if retry_damaged:
                pieces.forget_doubtful()
            pieces.heal()
            if retry_damaged:
                self._discard_damaged()
            yield
        finally:
            self._pieces = reading

    def write(self, index: int, rows: Rows) -> None:
        """Write the rows of sample `index`, which completes the sample; this needs no lock on the run.

        Raises:
            StoreError: the disk is full or cannot be written. Samples written earlier are unaffected.
        """
        self.writer.write(index, rows.pack())

    def gather(self, index: int | None = None) -> None:
        """Compact the files of single samples into pieces; only allowed while the run is locked.

        Args:
            index: a sample whose block is compacted if the whole block is done; None compacts a finished run.

        Raises:
            StoreError: a file is missing.
        """
        pieces = self._locked_pieces()
        try:
            if index is None:
                pieces.gather_all()
            else:
                pieces.gather_around(index)
        except FileNotFoundError as error:
            raise StoreError(missing_file_text(error.filename or self.path)) from error

    def discard(self, indices: Sequence[int]) -> None:
        """Discard samples, which become pending again; only allowed while the run is locked."""
        self._locked_pieces().discard(indices)

    def damaged(self) -> tuple[dict[Path, str], int]:
        """Return the damaged or missing files with the reason, and the number of files without a checksum."""
        return self._pieces.damaged()

    def _discard_damaged(self) -> None:
        if self.damage:
            # The counts may be damaged too; finishing the run computes them again.
            self.write_config(replace(self.config, counts=None))
        damaged_files, _ = self.damaged()
        self._locked_pieces().remove(damaged_files)
        # Only here, because the records cannot be read while a file is damaged.
        contradictory = self.contradictions()
        indices: list[int] = []
        for index, sample in enumerate(self.samples):
            if sample in contradictory:
                indices.append(index)
        self.discard(indices)

    def contradictions(self) -> dict[str, str]:
        """Return the samples with contradictory records, and the first contradiction of each."""
        metrics: list[ValueChecker] = []
        for used in self.config.metrics:
            # Metrics of other packages are not built here, so their values are not checked.
            with suppress(PluginError):
                built = rebuild_plugin("metric", used)
                if isinstance(built, ValueChecker):
                    metrics.append(built)
        return contradictions(self.records(), self.config.rounds, metrics, self.parts())

    def _locked_pieces(self) -> WritablePieces:
        if not isinstance(self._pieces, WritablePieces):
            raise StoreError(
                f"{self.path}: only the process that has locked the run may compact or discard samples"
            )
        return self._pieces

    def failed(self) -> list[int]:
        """Return the indices of the samples in which something failed."""
        records = self.read("records", ["sample", "failure"])
        failures = records.filter(pl.col("failure").is_not_null())
        failed_samples = set(failures["sample"].to_list())
        return [index for index, sample in enumerate(self.samples) if sample in failed_samples]

    def write_config(self, config: RunConfiguration) -> None:
        """Replace the configuration of the run, and write run.json."""
        write_atomic(self.path / "run.json", configuration_text(config))
        self.config = config

    def summary(self) -> Any:
        """Return the summary so far, a `segarena.reports.sheets.Sheet`; the verdict is its caption.

        `summary()["NoC@90"]` is a float if the run has one user; `summary().to_polars()` has all
        users and intervals.
        """
        return _run_views().run_summary_sheet(self.path)

    def compare(self, *others: RunFolder) -> Any:
        """Return the differences to other runs, target by target, as a `segarena.reports.sheets.Sheet`.

        Raises:
            RunConflict: the runs followed different rules.
        """
        paths = [self.path, *(other.path for other in others)]
        return _run_views().comparison_sheet(paths)

    def __dir__(self) -> list[str]:
        """List the attributes that are useful for reading a run, without the methods of the engine."""
        return list(_FOR_READERS)

    def __repr__(self) -> str:
        done = len(self.samples) - len(self.pending())
        config = self.config
        segmenter = config.segmenter
        # All options would fill three lines; `config` has them.
        name = segmenter.label or segmenter.display_name or segmenter.name
        about = [
            f"{config.benchmark.name} of {name}",
            f"{done} of {len(self.samples)} {word_of_kind(config.benchmark.sample_kind)}s",
        ]
        if config.tags:
            about.append(f"tags {', '.join(config.tags)}")
        if config.note:
            about.append(f"note {config.note!r}")
        return f"<{', '.join(about)}: {self.path}>"

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{self.summary()._repr_html_()}"

    def records(self) -> pl.DataFrame:
        """Return all records, in the order of the samples."""
        return self.read("records")

    def timings(self) -> pl.DataFrame:
        """Return all timings, in the order of the samples."""
        return self.read("timings")

    def masks(self) -> pl.DataFrame:
        """Return all stored masks, in the order of the samples."""
        return self.read("masks")

    def parts(self) -> pl.DataFrame:
        """Return the metric values of each object and frame, in the order of the samples."""
        return self.read("parts")

    def people(self) -> pl.DataFrame:
        """Return the person and effort of each round; no rows if all users are simulated."""
        return self.read("people")

    def read(
        self,
        table: str,
        columns: Sequence[str] | None = None,
        *,
        without: Sequence[str] = (),
        only: Collection[int] | None = None,
    ) -> pl.DataFrame:
        """Return a table of the run folder, or some of its columns.

        Args:
            table: name of the table.
            columns: names of columns to read, some of which may not exist; None for all.
            without: names of columns to omit.
            only: indices of the samples to read; None for all.

        Raises:
            StoreError: a file is damaged; the message names it.
        """
        return self._pieces.read(table, columns, without=without, only=only)


def _with_description(config: RunConfiguration, asked: RunConfiguration) -> RunConfiguration:
    """Return `config` with the name, note and tags of `asked`, where `asked` has any."""
    renamed = replace(config.segmenter, label=asked.segmenter.label or config.segmenter.label)
    return replace(
        config,
        segmenter=renamed,
        note=asked.note or config.note,
        tags=asked.tags or config.tags,
    )


def _run_views() -> Any:
    """Return the module that presents runs, with `run_summary_sheet` and `comparison_sheet`.

    It is found by its entry point, because it is in a higher layer than the engine and imports it.

    Raises:
        PluginError: nothing installed has such an entry point.
    """
    # Sorted, because the order of entry points depends on the installation.
    found = sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name)
    if not found:
        raise PluginError(
            f"summary: no installed package has an entry point in the group {ENTRY_POINTS}; reinstall segarena"
        )
    return found[0].load()


def _is_startup_leftover(path: Path) -> bool:
    """Return whether a run that was killed before run.json was complete may have left this path behind."""
    if path.name in TABLES and path.is_dir():
        return not any(path.iterdir())
    if path.name == PIECES_LEDGER and path.is_file():
        return not path.stat().st_size
    if path.name == CLAIMS and path.is_dir():
        return all(is_claim_file(file) for file in path.iterdir())
    return is_leftover(path)
