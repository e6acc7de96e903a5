"""A run on disk: `run.json`, tables in Parquet files, and the ledger of its pieces.

    runs/x/
      run.json       everything needed to repeat the run
      records/       one row per round: keys, effort, prompts, metrics and their counts, failure
      timings/       seconds per round; round 0 is the encoder pass of the sample
      masks/         predictions after chosen rounds, as run lengths
      parts/         metric values of each object and frame; only for metrics that give them
      people/        person and effort of each round; only for runs with human users
      pieces.jsonl   files of the samples; see `segarena.records.pieces`
      data.parquet   SHA-256 of each data file; only for datasets that know their files
      seats/         prompts of people; see `segarena.engine.human_queue`
      claims/        division of work, while several processes share the run; see `segarena.work.sharing`

A sample is done when its records exist, whatever happened to the process. Seconds are not in the records, so equal
runs have equal record files, byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from html import escape
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, cast

import polars as pl

from segarena.capabilities import ValueChecker
from segarena.engine.human_queue import clear_seats
from segarena.engine.rows import Rows
from segarena.errors import PluginError, RunConflict, RunMissing, StoreError
from segarena.files.atomic_write import clear_leftovers, is_leftover, write_atomic
from segarena.records.compaction import WritablePieces
from segarena.records.configuration import (
    CIRCUMSTANCES,
    RunConfiguration,
    configuration_text,
    plain_configuration,
    read_configuration,
)
from segarena.records.consistency import contradictions
from segarena.records.fingerprints import FINGERPRINTS_FILE as FINGERPRINTS
from segarena.records.fingerprints import (
    Fingerprints,
    describe_changes,
    read_fingerprints,
    write_fingerprints,
)
from segarena.records.identity import has_data_changed, identity_changes, version_changes
from segarena.records.parquet_tables import OPTIONAL_TABLES, TABLES, table_frame
from segarena.records.pieces import PIECES_LEDGER, Pieces, sample_files
from segarena.records.report_manifest import REPORT_FOLDER, remove_report
from segarena.records.trust import rebuild_plugin
from segarena.work.ledger import Ledger, first_difference, open_exclusive
from segarena.work.sharing.claims import CLAIMS
from segarena.work.sharing.locks import is_claim_file, refuse_sharers, remove_claims

ENTRY_POINTS = "segarena.run_views"
"""Entry-point group of the module that shows runs; the first one by name is used."""

_START_ANEW = "--overwrite starts anew, another --out keeps both"


class RunFolder:
    """One run on disk. `open` reads an existing one, `create` starts or continues one.

    Attributes:
        path: the folder.
        config: contents of run.json.
        damage: message about a checksum mismatch of run.json; "" for none.
        notes: messages for the reader of the run; for a continued run also what changed since its start.
    """

    def __init__(
        self, path: Path, config: RunConfiguration, *, damage: str = "", is_sealed: bool = True
    ) -> None:
        # Absolute, because a plug-in may change the working directory.
        self.path = path.absolute()
        self.config = config
        self.damage = damage
        if is_sealed:
            earlier = ""
        else:
            earlier = f"{path}: an earlier version wrote its run.json, without a checksum"
        self.notes: tuple[str, ...] = tuple(filter(None, (damage, earlier)))
        self._pieces = Pieces(self.path, config.dataset.samples)

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
                f"{path}: expected a run folder with a run.json in it; make one with 'segarena run'"
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
    ) -> RunFolder:
        """Start the run `config` in `path`, or continue it if it was started there.

        Args:
            path: the folder.
            config: configuration of a new run; that of an existing run must agree with it.
            data: fingerprints of the data files, stored beside run.json to name files that change.
            overwrite: replace the run in the folder, if there is one; other files in it stay.
            beside: names of files that may exist before the run begins.

        Raises:
            RunConflict: the folder holds another run (the first difference is named) or other files.
            StoreError: the folder cannot be written; or is to be overwritten, and its run.json is not one of segarena.
        """
        folder = Path(path)
        if (folder / "run.json").is_file():
            existing = cls.open(folder)
            if overwrite:
                existing._start_anew(config, data)
            else:
                _refuse_other(folder, existing.config, config, data)
                existing._note_changes(config)
                # An earlier version began the run, or the file is damaged.
                if not read_fingerprints(folder):
                    write_fingerprints(folder, data)
            return existing
        contents = list(folder.iterdir()) if folder.is_dir() else []
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
        # After the folders, because a folder with run.json counts as a run.
        run.write_config(config)
        write_fingerprints(folder, data)
        return run

    def _start_anew(self, config: RunConfiguration, data: Fingerprints) -> None:
        """Remove all files of the run and its report, and become the run `config`."""
        refuse_sharers(self.path / CLAIMS)
        with open_exclusive(self.path / PIECES_LEDGER) as ledger:
            remove_claims(self.path / CLAIMS)
            ledger.truncate(0)
            # Records first, so that a process killed meanwhile leaves pending samples.
            for table in reversed(TABLES):
                for file in (self.path / table).glob("*.parquet"):
                    file.unlink()
            (self.path / FINGERPRINTS).unlink(missing_ok=True)
            clear_seats(self.path)
            self._pieces = Pieces(self.path, config.dataset.samples)
            self.notes = ()
            if remove_report(self.path):
                self.notes = (f"{self.path / REPORT_FOLDER} is still the report of the run before",)
            self.write_config(config)
            write_fingerprints(self.path, data)

    def _note_changes(self, continued: RunConfiguration) -> None:
        """Note changes since the start of the run, and add the fingerprints of an earlier version's run."""
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
    def samples(self) -> tuple[str, ...]:
        """All sample ids of the run, in order."""
        return self.config.dataset.samples

    @property
    def is_complete(self) -> bool:
        """Whether every sample is done."""
        return not self.pending()

    def pending(self) -> list[int]:
        """Return the indices of the samples that are not done, without opening a table."""
        return [index for index, is_done in enumerate(self._pieces.done()) if not is_done]

    @contextmanager
    def lock(self, *, retry_damaged: bool = False) -> Generator[None]:
        """Lock the run for this process; the lock ends with the process.

        Args:
            retry_damaged: remove damaged files, samples with contradictory values, and samples about which a damaged
                ledger may be out of date.

        Raises:
            RunConflict: another process works on this run, or several share it.
            StoreError: the ledger is damaged, and `retry_damaged` is False.
        """
        refuse_sharers(self.path / CLAIMS)
        with Ledger(self.path / PIECES_LEDGER, {"pieces": 1}, sync_s=0.0) as ledger:
            # Processes that shared the run and died left their claims.
            remove_claims(self.path / CLAIMS)
            self.clear_leftovers()
            with self._writable_pieces(
                WritablePieces(self.path, self.samples, ledger), retry_damaged=retry_damaged
            ):
                yield

    @contextmanager
    def keep(self, check: Callable[[], None], *, retry_damaged: bool = False) -> Generator[None]:
        """Write to a shared run for a moment, while the other processes keep out.

        Args:
            check: raises an error when the others no longer keep out.
            retry_damaged: as for `lock`.
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
        """Remove unfinished files of killed processes; only while nobody writes."""
        for written in (self.path, *(self.path / table for table in TABLES)):
            clear_leftovers(written)

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
        """Write the tables of sample `index`, which is done then; needs no lock on the run.

        Raises:
            StoreError: the disk is full or cannot be written. Samples written before stay.
        """
        self.write_files(index, files_of_rows(rows))

    def write_files(self, index: int, files: Mapping[str, bytes]) -> None:
        """Write the files of sample `index` made by `files_of_rows`; otherwise as `write`."""
        self._pieces.write(index, files)

    def gather(self, index: int | None = None) -> None:
        """Compact the files of single samples into pieces; only while the run is locked.

        Args:
            index: compacts the block of this sample, if all of it is done; None compacts a finished run.
        """
        if index is None:
            self._locked_pieces().gather_all()
        else:
            self._locked_pieces().gather_around(index)

    def discard(self, indices: Sequence[int]) -> None:
        """Discard samples, which become pending again; only while the run is locked."""
        self._locked_pieces().discard(indices)

    def damaged(self) -> tuple[dict[Path, str], int]:
        """Return the damaged or missing files with the reason, and the number of files without a checksum."""
        return self._pieces.damaged()

    def _discard_damaged(self) -> None:
        # The counts may be damaged too; they are computed anew when the run is finished.
        if self.damage:
            self.write_config(replace(self.config, counts=None))
        self._locked_pieces().remove(self.damaged()[0])
        indices = {sample: index for index, sample in enumerate(self.samples)}
        self.discard([indices[sample] for sample in self.contradictions()])

    def contradictions(self) -> dict[str, str]:
        """Return the samples with contradictory records, with the first contradiction of each."""
        metrics: list[ValueChecker] = []
        for used in self.config.metrics:
            # Metrics of other packages are not rebuilt, and their values not checked.
            with suppress(PluginError):
                built = rebuild_plugin("metric", used)
                if isinstance(built, ValueChecker):
                    metrics.append(built)
        return contradictions(self.records(), self.config.rounds, metrics, self.parts())

    def _locked_pieces(self) -> WritablePieces:
        if not isinstance(self._pieces, WritablePieces):
            raise StoreError(
                f"{self.path}: only the process that holds the run may gather or discard"
            )
        return self._pieces

    def failed(self) -> list[int]:
        """Return the indices of the samples in which something failed."""
        records = self.read("records", ["sample", "failure"])
        bad = set(records.filter(pl.col("failure").is_not_null())["sample"].to_list())
        return [index for index, sample in enumerate(self.samples) if sample in bad]

    def write_config(self, config: RunConfiguration) -> None:
        """Replace the configuration of the run, and write run.json."""
        write_atomic(self.path / "run.json", configuration_text(config))
        self.config = config

    def summary(self) -> Any:
        """Return the summary so far, a `segarena.reports.sheets.Sheet`; the verdict is its caption."""
        return _run_views().run_summary_sheet(self.path)

    def compare(self, *others: RunFolder) -> Any:
        """Return the differences to other runs, target by target, as a `segarena.reports.sheets.Sheet`.

        Raises:
            RunConflict: they followed other rules.
        """
        paths = [self.path, *(other.path for other in others)]
        return _run_views().comparison_sheet(paths)

    def __repr__(self) -> str:
        done = len(self.samples) - len(self.pending())
        config = self.config
        about = f"{config.benchmark.name} of {config.segmenter.spec}, {done} of {len(self.samples)} samples"
        return f"<{about}: {self.path}>"

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{self.summary()._repr_html_()}"

    def records(self) -> pl.DataFrame:
        """Return all records, in the order of the samples."""
        return self.read("records")

    def timings(self) -> pl.DataFrame:
        """Return all timings, in the order of the samples."""
        return self.read("timings")

    def masks(self) -> pl.DataFrame:
        """Return all kept masks, in the order of the samples."""
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
        """Return the table "records", "timings", "masks", "parts" or "people", or some of its columns.

        Args:
            table: name of the table.
            columns: names of the wanted columns, some of which may not exist; None for all.
            without: names of columns that are left out.
            only: indices of the wanted samples; None for all.

        Raises:
            StoreError: a file is damaged; it is named.
        """
        return self._pieces.read(table, columns, without=without, only=only)


def files_of_rows(rows: Rows) -> dict[str, bytes]:
    """Return the files of a sample by table."""
    return sample_files({table: table_frame(table, getattr(rows, table)) for table in TABLES})


def _run_views() -> Any:
    """Return the module that shows runs, with `run_summary_sheet` and `comparison_sheet`.

    It is found by its entry point, because it stands above the engine and imports it.

    Raises:
        PluginError: nothing installed has such an entry point.
    """
    found = sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name)
    if not found:
        raise PluginError(
            f"summary: nothing installed has an entry point of {ENTRY_POINTS}; reinstall segarena"
        )
    return found[0].load()


def _is_startup_leftover(path: Path) -> bool:
    """Return whether a run that was killed before run.json was complete leaves this path behind."""
    if path.name in TABLES and path.is_dir():
        return not any(path.iterdir())
    if path.name == PIECES_LEDGER and path.is_file():
        return not path.stat().st_size
    if path.name == CLAIMS and path.is_dir():
        return all(is_claim_file(file) for file in path.iterdir())
    return is_leftover(path)


def _refuse_other(
    folder: Path, existing: RunConfiguration, asked: RunConfiguration, data: Fingerprints
) -> None:
    """Raise RunConflict unless `asked` continues the existing run; edited files are named before options."""
    before = existing.identity
    now = asked.identity
    edited = identity_changes(before, now) if before and now else []
    # With other plug-ins, other files are no surprise, and the plug-in is the difference to name.
    if edited and _plugin_names(existing) == _plugin_names(asked):
        raise RunConflict(f"{folder}: {'; '.join(edited)}; {_START_ANEW}")
    old = plain_configuration(existing)
    new = plain_configuration(asked)
    is_other_data = has_data_changed(before, now)
    for plain in (old, new):
        # Runs from before these were recorded can be continued.
        del plain["segmenter"]["sees_truth"]
        del plain["segmenter"]["encodes_with_prompts"]
        # The changed files are named below instead.
        if is_other_data:
            del plain["dataset"]["fingerprint"]
    for key, value in _without_later_options(old, new).items():
        if key not in CIRCUMSTANCES and old[key] != value:
            where, has, wants = first_difference(key, old[key], value)
            raise RunConflict(
                f"{folder} holds a run with {where} = {has}, this one has {wants}; "
                "choose another --out, or repeat the options of that run; --overwrite starts anew"
            )
    if is_other_data:
        which = describe_changes(read_fingerprints(folder), data) or "which ones was not recorded"
        raise RunConflict(
            f"{folder}: the dataset's files changed since this run ({which}); {_START_ANEW}"
        )


def _without_later_options(old: Any, new: Any) -> Any:
    """Return `new` without unset options that plug-ins got after the old run began."""
    if isinstance(old, dict) and isinstance(new, dict):
        old_values = cast("dict[str, Any]", old)
        kept: dict[str, Any] = {}
        for key, value in cast("dict[str, Any]", new).items():
            if key in old_values or value is not None:
                kept[key] = _without_later_options(old_values.get(key), value)
        return kept
    if isinstance(old, list) and isinstance(new, list):
        old_items = cast("list[Any]", old)
        new_items = cast("list[Any]", new)
        if len(old_items) == len(new_items):
            return list(map(_without_later_options, old_items, new_items))
    return new


def _plugin_names(config: RunConfiguration) -> list[str]:
    plugins = (config.segmenter, config.dataset, *config.users, *config.metrics)
    return [str(used.spec) for used in plugins]
