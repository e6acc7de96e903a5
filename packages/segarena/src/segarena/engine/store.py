"""A run on disk: `run.json`, tables in Parquet files, and the ledger of their pieces.

    runs/x/
      run.json       everything needed to repeat the run
      records/       one row per round: keys, effort, prompts, metrics and their counts, failure
      timings/       seconds per round; round 0 is the encoder pass of the sample
      masks/         predictions after chosen rounds, as run lengths
      parts/         what metrics say of each object and frame; only where they do
      people/        who gave the prompts of a round and what that took; only where users are people
      pieces.jsonl   which files hold which samples; see `segarena.records.pieces`
      data.parquet   SHA-256 of each file of the data; only where the dataset says which these are
      seats/         where people are asked; see `segarena.engine.human_queue`
      claims/        who does what, while several processes share the run; see `segarena.work.sharing`

A sample is done when its records are there, whatever happened to the process. Seconds live apart from the records, so
equal runs have equal record files, byte for byte.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any, cast

import polars as pl

from segarena.abilities import ChecksValues
from segarena.engine.human_queue import clear_seats
from segarena.engine.rows import Rows
from segarena.errors import PluginError, RunConflict, RunMissing, StoreError
from segarena.files.whole import clear_leftovers, is_leftover, write_whole
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

_ANEW = "--overwrite starts anew, another --out keeps both"


class RunFolder:
    """One run on disk. `open` reads an existing one, `create` starts or continues one.

    Attributes:
        path: the folder.
        config: what run.json says.
        damage: a line when run.json is not as it was written, else nothing.
        notes: what must be known of it, a line each; when it is continued, what is different now.
    """

    def __init__(
        self, path: Path, config: RunConfiguration, *, damage: str = "", is_sealed: bool = True
    ) -> None:
        self.path = path.absolute()  # a plug-in may change the working directory
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
            StoreError: it is damaged, of a later version, or not one of ours.
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
            config: what run.json will say, or must agree with.
            data: of each file of the data, kept beside run.json to name those that change.
            overwrite: start anew in a folder that holds any run; files that are none of a run's stay.
            beside: names of files that may be there before the run begins.

        Raises:
            RunConflict: the folder holds another run (the first difference is named) or other files.
            StoreError: the folder cannot be written; or is to be overwritten, and its run.json is not one of ours.
        """
        folder = Path(path)
        if (folder / "run.json").is_file():
            existing = cls.open(folder)
            if overwrite:
                existing._start_anew(config, data)
            else:
                _refuse_other(folder, existing.config, config, data)
                existing._told_since(config)
                if not read_fingerprints(
                    folder
                ):  # an earlier version began it, or they were damaged
                    write_fingerprints(folder, data)
            return existing
        if folder.is_dir():
            others = [path for path in folder.iterdir() if path.name not in beside]
        else:
            others = []
        if not all(map(_is_of_a_start, others)):
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
        run.write_config(config)
        write_fingerprints(folder, data)
        return run

    def _start_anew(self, config: RunConfiguration, data: Fingerprints) -> None:
        """Remove all that the run and its report wrote, and be the run `config`.

        Records go first, so that a process killed meanwhile leaves samples that are not done.
        """
        refuse_sharers(self.path / CLAIMS)
        with open_exclusive(self.path / PIECES_LEDGER) as ledger:
            remove_claims(self.path / CLAIMS)
            ledger.truncate(0)
            for table in reversed(TABLES):
                for file in (self.path / table).glob("*.parquet"):
                    file.unlink()
            (self.path / FINGERPRINTS).unlink(missing_ok=True)
            clear_seats(self.path)
            self._pieces = Pieces(self.path, config.dataset.samples)
            stays = remove_report(self.path)
            if stays:
                self.notes = (f"{self.path / REPORT_FOLDER} is still the report of the run before",)
            else:
                self.notes = ()
            self.write_config(config)
            write_fingerprints(self.path, data)

    def _told_since(self, asked: RunConfiguration) -> None:
        """Note what may differ from the beginning of the run, and take fingerprints where none were taken."""
        before = self.config.identity
        now = asked.identity
        versions = {**self.config.environment, **(before.packages if before else {})}
        versions_now = {**asked.environment, **(now.packages if now else {})}
        told = [version_changes(versions, versions_now)]
        if before is None and now is not None:
            told.append(
                "this run began without fingerprints of weights, sources and data; from now on it has them"
            )
            self.write_config(replace(self.config, identity=replace(now, is_from_start=False)))
        self.notes = (*self.notes, *filter(None, told))

    @property
    def samples(self) -> tuple[str, ...]:
        """All sample ids of the run, in order."""
        return self.config.dataset.samples

    @property
    def is_complete(self) -> bool:
        """Whether every sample is done."""
        return not self.pending()

    def pending(self) -> list[int]:
        """Return the places of the samples that are not done; no table is opened for it."""
        return [index for index, is_done in enumerate(self._pieces.done()) if not is_done]

    @contextmanager
    def lock(self, *, retry_damaged: bool = False) -> Generator[None]:
        """Hold the run for this process; the lock dies with it.

        Args:
            retry_damaged: remove damaged files, and samples whose values contradict one another or of which a damaged
                ledger may say what is no longer so.

        Raises:
            RunConflict: another process works on this run, or several share it.
            StoreError: the ledger is damaged, and `retry_damaged` was not said.
        """
        refuse_sharers(self.path / CLAIMS)
        with Ledger(self.path / PIECES_LEDGER, {"pieces": 1}, sync_s=0.0) as ledger:
            remove_claims(self.path / CLAIMS)  # of sharers who are gone
            self.clear_leftovers()
            with self._held_with(
                WritablePieces(self.path, self.samples, ledger), retry_damaged=retry_damaged
            ):
                yield

    @contextmanager
    def keep(self, check: Callable[[], None], *, retry_damaged: bool = False) -> Generator[None]:
        """Hold the run for a moment, for a process that shares it with others who leave it alone meanwhile.

        Args:
            check: raises an error when that is no longer so.
            retry_damaged: as for `lock`.
        """
        with (
            Ledger(self.path / PIECES_LEDGER, {"pieces": 1}, sync_s=0.0, is_locked=False) as ledger,
            self._held_with(
                WritablePieces(self.path, self.samples, ledger, check=check),
                retry_damaged=retry_damaged,
            ),
        ):
            yield

    def clear_leftovers(self) -> None:
        """Remove what killed writers left; only when nobody writes."""
        for written in (self.path, *(self.path / table for table in TABLES)):
            clear_leftovers(written)

    @contextmanager
    def _held_with(self, held: WritablePieces, *, retry_damaged: bool) -> Generator[None]:
        reading = self._pieces
        self._pieces = held
        try:
            if retry_damaged:
                held.forget_doubtful()
            held.heal()
            if retry_damaged:
                self._discard_damaged()
            yield
        finally:
            self._pieces = reading

    def write(self, index: int, rows: Rows) -> None:
        """Write the tables of sample `index`; after that it is done. Processes that do not hold the run may do so too.

        Raises:
            StoreError: the disk is full or cannot be written. What was written before stays.
        """
        self.write_files(index, files_of_rows(rows))

    def write_files(self, index: int, files: Mapping[str, bytes]) -> None:
        """Write the files of sample `index`, from `files_of_rows`; otherwise as `write`."""
        self._pieces.write(index, files)

    def gather(self, index: int | None = None) -> None:
        """Join the files of single samples; only while the run is held.

        Args:
            index: around this sample, if its neighbours are done too; None joins all, when the run is over.
        """
        if index is None:
            self._held().gather_all()
        else:
            self._held().gather_around(index)

    def discard(self, indices: Sequence[int]) -> None:
        """Forget samples, so that they are done again; only while the run is held."""
        self._held().discard(indices)

    def damaged(self) -> tuple[dict[Path, str], int]:
        """Return the damaged or missing files, with what is wrong, and how many files have no checksum to look at."""
        return self._pieces.damaged()

    def _discard_damaged(self) -> None:
        if self.damage:  # what it came to is told anew
            self.write_config(replace(self.config, counts=None))
        self._held().remove(self.damaged()[0])
        place = {sample: index for index, sample in enumerate(self.samples)}
        self.discard([place[sample] for sample in self.contradictions()])

    def contradictions(self) -> dict[str, str]:
        """Return the samples whose records contradict themselves, with the first thing that is wrong."""
        metrics: list[ChecksValues] = []
        for used in self.config.metrics:
            with suppress(PluginError):  # of other packages; their values are not looked at
                built = rebuild_plugin("metric", used)
                metrics += [built] if isinstance(built, ChecksValues) else []
        return contradictions(self.records(), self.config.rounds, metrics, self.parts())

    def _held(self) -> WritablePieces:
        if not isinstance(self._pieces, WritablePieces):
            raise StoreError(
                f"{self.path}: only the process that holds the run may gather or discard"
            )
        return self._pieces

    def failed(self) -> list[int]:
        """Return the places of the samples in which something failed."""
        records = self.read("records", ["sample", "failure"])
        bad = set(records.filter(pl.col("failure").is_not_null())["sample"].to_list())
        return [index for index, sample in enumerate(self.samples) if sample in bad]

    def write_config(self, config: RunConfiguration) -> None:
        """Write run.json, which then is the run's configuration."""
        write_whole(self.path / "run.json", configuration_text(config))
        self.config = config

    def summary(self) -> Any:
        """Return the summary so far, a `segarena.reports.sheets.Sheet`; the verdict is its caption."""
        return _reports().run_summary_sheet(self.path)

    def compare(self, *others: RunFolder) -> Any:
        """Return how other runs differ from this one, target by target, as a `segarena.reports.sheets.Sheet`.

        Raises:
            RunConflict: they followed other rules.
        """
        return _reports().comparison_sheet([self.path, *(other.path for other in others)])

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
        """Return what metrics said of each object and frame, in the order of the samples."""
        return self.read("parts")

    def people(self) -> pl.DataFrame:
        """Return who gave which round's prompts, and what that took; no rows where all users are simulated."""
        return self.read("people")

    def read(
        self,
        table: str,
        columns: Sequence[str] | None = None,
        *,
        without: Sequence[str] = (),
        only: Collection[int] | None = None,
    ) -> pl.DataFrame:
        """Return "records", "timings", "masks", "parts" or "people", or only those of `columns` that it has, less some.

        Args:
            table: its name.
            columns: None for all.
            without: columns that are left out.
            only: places of the samples that are wanted; None for all.

        Raises:
            StoreError: a file is damaged; it is named.
        """
        return self._pieces.read(table, columns, without=without, only=only)


def files_of_rows(rows: Rows) -> dict[str, bytes]:
    """Return the files of a sample by table."""
    return sample_files({table: table_frame(table, getattr(rows, table)) for table in TABLES})


def _reports() -> Any:
    """Return what shows runs; it stands above the engine and is imported when somebody looks."""
    return importlib.import_module("segarena.reports.notebook")


def _is_of_a_start(path: Path) -> bool:
    """Tell whether a run that was ended before its run.json was whole leaves this behind."""
    is_empty_table = path.name in TABLES and path.is_dir() and not any(path.iterdir())
    is_empty_ledger = path.name == PIECES_LEDGER and path.is_file() and not path.stat().st_size
    is_folder_of_claims = (
        path.name == CLAIMS and path.is_dir() and all(map(is_claim_file, path.iterdir()))
    )
    return is_leftover(path) or is_empty_table or is_empty_ledger or is_folder_of_claims


def _refuse_other(
    folder: Path, existing: RunConfiguration, asked: RunConfiguration, data: Fingerprints
) -> None:
    """Raise RunConflict unless `asked` goes on with what is there; what was edited is named before any option."""
    before = existing.identity
    now = asked.identity
    edited = identity_changes(before, now) if before and now else []
    if edited and _plugins(existing) == _plugins(asked):
        raise RunConflict(f"{folder}: {'; '.join(edited)}; {_ANEW}")
    old = plain_configuration(existing)
    new = plain_configuration(asked)
    is_other_data = has_data_changed(before, now)
    for told in (old, new):
        for later in (
            "sees_truth",
            "encodes_with_prompts",
        ):  # a run begun before these were recorded goes on
            del told["segmenter"][later]
        if is_other_data:
            del told["dataset"]["fingerprint"]  # the files are named below
    for key, value in _without_later(old, new).items():
        if key not in CIRCUMSTANCES and old[key] != value:
            where, has, wants = first_difference(key, old[key], value)
            raise RunConflict(
                f"{folder} holds a run with {where} = {has}, this one has {wants}; "
                "choose another --out, or repeat the options of that run; --overwrite starts anew"
            )
    if is_other_data:
        which = describe_changes(read_fingerprints(folder), data) or "which ones was not recorded"
        raise RunConflict(
            f"{folder}: the dataset's files changed since this run ({which}); {_ANEW}"
        )


def _without_later(old: Any, new: Any) -> Any:
    """Return `new` without options that a plug-in got after the old run began, as long as nothing is set there."""
    if isinstance(old, dict) and isinstance(new, dict):
        was = cast("dict[str, Any]", old)
        told = cast("dict[str, Any]", new)
        return {
            key: _without_later(was.get(key), told[key])
            for key in told
            if key in was or told[key] is not None
        }
    if (
        isinstance(old, list)
        and isinstance(new, list)
        and len(cast("list[Any]", old)) == len(cast("list[Any]", new))
    ):
        return [
            _without_later(*pair)
            for pair in zip(cast("list[Any]", old), cast("list[Any]", new), strict=True)
        ]
    return new


def _plugins(config: RunConfiguration) -> list[str]:
    return [
        str(used.spec)
        for used in (config.segmenter, config.dataset, *config.users, *config.metrics)
    ]
