"""`segarena challenge`: management of the challenges in a data folder."""

from __future__ import annotations

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from segarena.errors import InvalidInput, StoreError
from segarena.reports import terminal_table
from segarena.terminal.exit_codes import one_line_errors
from segarena.terminal.sheet_output import show_sheet
from segarena_server.challenges.challenge_management import (
    OnSample,
    change_challenge,
    existing_challenge,
    make_challenge,
    set_challenge_state,
)
from segarena_server.challenges.challenge_repository import description_of
from segarena_server.challenges.description import (
    ChallengeDescription,
    challenge_text,
    read_challenge,
)
from segarena_server.challenges.evaluator import Evaluator
from segarena_server.challenges.export import export_challenge
from segarena_server.challenges.form_fields import parse_form
from segarena_server.challenges.integrity_audit import audit_sheet
from segarena_server.challenges.rehearsal import Rehearsal
from segarena_server.challenges.sample_pool import SamplePool, preview_phases
from segarena_server.commands.organiser_sheets import looked_at, overview, rehearsed
from segarena_server.commands.serve import DATA
from segarena_server.config_file import own_settings, read_settings
from segarena_server.db.database import Database
from segarena_server.db.schema import migrate, revision_of
from segarena_server.serving import open_site
from segarena_server.settings import Settings
from segarena_server.site import Site
from segarena_server.storage.backup import back_up
from segarena_server.storage.data_folder import DATABASE_FILE, DataFolder

app = typer.Typer(
    help="Create and manage the challenges of a server.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

Data = Annotated[Path, typer.Option("--data", help="The folder of the server.")]
Db = Annotated[str | None, typer.Option("--db", help="The database, as for `segarena serve`.")]


@app.callback()
def _challenge() -> None:
    """Create and manage the challenges of a server."""


@app.command("new")
def new(
    name: Annotated[
        str,
        typer.Argument(help="Short name, as it stands in addresses: lower case, digits, dashes."),
    ],
    benchmark: Annotated[
        str, typer.Option("--benchmark", "-b", help="As for `segarena run`.")
    ] = "clicks",
    dataset: Annotated[
        str, typer.Option("--dataset", "-d", help="As for `segarena run`; hidden from others.")
    ] = "demo",
    title: Annotated[str, typer.Option(help="For people; by default the name.")] = "",
    text: Annotated[
        Path | None, typer.Option(help="A file with what people should know, in plain paragraphs.")
    ] = None,
    phase: Annotated[str, typer.Option(help="Name of the phase.")] = "test",
    kind: Annotated[
        str, typer.Option(help="practice: the truth is open; test: it is hidden.")
    ] = "test",
    takes: Annotated[
        str,
        typer.Option(
            help="How one takes part: dialogue, masks (alone), run (in a practice), worker; commas between."
        ),
    ] = "dialogue",
    opens: Annotated[
        str | None, typer.Option(help="2026-06-01 or 2026-06-01T12:00+02:00; UTC by default.")
    ] = None,
    closes: Annotated[str | None, typer.Option(help="Likewise.")] = None,
    samples: Annotated[
        int | None, typer.Option(help="Samples of a run, drawn from the dataset; all by default.")
    ] = None,
    rounds: Annotated[
        int | None, typer.Option(help="Rounds of a dialogue, in place of the benchmark's.")
    ] = None,
    runs_per_day: Annotated[int | None, typer.Option(help="Of one team.")] = None,
    runs_in_all: Annotated[int | None, typer.Option(help="Of one team.")] = None,
    runs_at_once: Annotated[int, typer.Option(help="Of one team.")] = 1,
    seconds_per_object: Annotated[
        float | None, typer.Option(help="For all answers of a dialogue.")
    ] = None,
    seconds_per_answer: Annotated[float | None, typer.Option(help="For one answer.")] = None,
    shows: Annotated[
        str, typer.Option(help="What participants see: prompts, own (scores), board.")
    ] = "board",
    ladder: Annotated[
        bool, typer.Option("--ladder", help="Only runs count that are better by more than chance.")
    ] = False,
    described: Annotated[
        Path | None,
        typer.Option(
            "--from", help="A description in JSON in place of these; see `challenge show`."
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Open a few samples and say what it would be; make nothing."
        ),
    ] = False,
    data: Data = DATA,
    db: Db = None,
) -> None:
    """Make a challenge: a benchmark on a dataset that participants cannot see, with dates and limits.

        segarena challenge new photos --benchmark clicks --dataset "folder(path='photos')" --closes 2026-09-01

    The dataset and the benchmark are looked at now, and each sample is laid ready as participants will fetch it.
    Several phases are described in a file: `segarena challenge show` prints one to start from.
    """
    with one_line_errors("stopped; nothing was created"):
        if described:
            challenge = read_challenge(described.read_bytes())
            if challenge.slug != name:
                raise InvalidInput(
                    f"{described}: expected slug {name!r}, got {challenge.slug!r}; make them the same"
                )
        else:
            words = text.read_text(encoding="utf-8") if text else ""
            about = {
                "slug": name,
                "title": title or name,
                "text": words,
                "benchmark": benchmark,
                "dataset": dataset,
            }
            phase_options: dict[str, Any] = {
                "name": phase, "kind": kind, "takes": takes, "opens": opens, "closes": closes,
                "samples_per_run": samples, "rounds": rounds, "runs_per_day": runs_per_day, "runs_in_all": runs_in_all,
                "runs_at_once": runs_at_once, "seconds_per_object": seconds_per_object,
                "seconds_per_answer": seconds_per_answer, "shows": shows, "ladder": ladder,
            }  # fmt: skip
            challenge = _parse_options(about, phase_options)
        if dry_run:
            _preview(challenge)
            return
        site = _site(data, db, is_new=True)
        with _pool_progress() as on_sample:
            pool = make_challenge(site, challenge, on_sample)
    _print_pool(challenge.slug, pool)
    typer.echo(
        f"next: segarena challenge rehearse {challenge.slug} --data {data}; then segarena serve {data}"
    )


@app.command("change")
def change(
    name: Annotated[str, typer.Argument(help="Of the challenge.")],
    described: Annotated[
        Path, typer.Option("--from", help="Its description in JSON, edited; see `challenge show`.")
    ],
    data: Data = DATA,
    db: Db = None,
) -> None:
    """Change a challenge: dates, texts, limits of runs and what is shown at any time, everything until the first run.

    Once a phase has runs, what judges them stays: benchmark, data, seed, rounds, time. What is changed is noted in the
    audit log. A server that is at work takes it over at once.
    """
    with one_line_errors("stopped; nothing was changed"):
        challenge = read_challenge(described.read_bytes())
        site = _site(data, db)
        with _pool_progress() as on_sample:
            pool = change_challenge(site, name, challenge, on_sample)
    if pool.rows:
        _print_pool(name, pool)
    typer.echo(f"{name} is changed")


@app.command("list")
def list_challenges(data: Data = DATA, db: Db = None) -> None:
    """List the challenges with their phases, and how many runs there are."""
    with one_line_errors():
        show_sheet(overview(_site(data, db)))


@app.command("show")
def show(
    name: Annotated[str, typer.Argument(help="Of the challenge.")],
    data: Data = DATA,
    db: Db = None,
) -> None:
    """Print the description of a challenge as JSON, secrets included: edited, it makes another with `--from`."""
    with one_line_errors():
        typer.echo(challenge_text(_description_of(_site(data, db), name)))


@app.command("close")
def close(
    name: Annotated[str, typer.Argument(help="Of the challenge.")],
    again: Annotated[bool, typer.Option("--open", help="Open it again instead.")] = False,
    data: Data = DATA,
    db: Db = None,
) -> None:
    """Close a challenge: no run begins any more, those under way end. What is there stays, and can be looked at."""
    with one_line_errors():
        state = "open" if again else "closed"
        set_challenge_state(_site(data, db), name, state)
    typer.echo(f"{name} is {state}")


@app.command("export")
def export(
    name: Annotated[str, typer.Argument(help="Of the challenge.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="A new folder, or a new file that ends in .zip.")
    ],
    data: Data = DATA,
    db: Db = None,
) -> None:
    """Write a challenge as pages that need no server: its rules and its boards, as participants see them now.

    A browser opens them from disk, any web server shows them. What is hidden is not in them.
    """
    with one_line_errors("stopped"):
        written = export_challenge(_site(data, db), name, out)
    typer.echo(f"{name}: {written}")


@app.command("backup")
def backup(
    to: Annotated[Path, typer.Argument(help="Where the copy is made; nothing may be there.")],
    data: Data = DATA,
    db: Db = None,
) -> None:
    """Copy the folder of a server, which may be at work meanwhile. The copy is a folder that can be served.

    To go back to it, stop the server and put the copy in the folder's place. A database of PostgreSQL is in it as
    segarena.dump, for pg_restore.
    """
    with one_line_errors("stopped; nothing was copied"):
        back_up(data, to, _settings(data, db).db)
    typer.echo(f"{to}: all that was acknowledged before; segarena serve --check {to} looks at it")


@app.command("migrate")
def migrate_tables(
    revision: Annotated[str, typer.Argument(help="Of the tables; by default the newest.")] = "head",
    data: Data = DATA,
    db: Db = None,
) -> None:
    """Bring the tables of the database to another revision, forth or back, while no server is at work.

    A server brings them to the newest one itself when it starts. Back is for going back to an earlier version of
    segarena, before that one is installed. Make a backup first.
    """
    with one_line_errors("stopped; nothing was changed"):
        database = Database(_settings(data, db).db or data / DATABASE_FILE)
        before = revision_of(database)
        migrate(database, revision)
        typer.echo(f"{before or 'no tables'} -> {revision_of(database) or 'no tables'}")
        database.close()


@app.command("audit")
def audit(
    name: Annotated[str, typer.Argument(help="Of the challenge.")],
    data: Data = DATA,
    db: Db = None,
) -> None:
    """Say what the prompts of each participant gave away of the hidden truth, and which runs look like one."""
    with one_line_errors():
        show_sheet(audit_sheet(_site(data, db), name))


@app.command("rehearse")
def rehearse(
    name: Annotated[str, typer.Argument(help="Of the challenge.")],
    segmenter: Annotated[str, typer.Option("--segmenter", "-s", help="Who takes part.")] = "graph",
    phase: Annotated[str | None, typer.Option(help="Which phase; the first by default.")] = None,
    samples: Annotated[int, typer.Option(help="How many samples.")] = 2,
    data: Data = DATA,
    db: Db = None,
) -> None:
    """Let a built-in segmenter take part, in this process, and say what a participant will see and how long it takes.

    All that will travel is packed and unpacked; nothing is kept, and no server need run.
    """
    with one_line_errors("stopped; nothing was kept"):
        challenge = _description_of(_site(data, db), name)
        rehearsal = Rehearsal(challenge, phase or challenge.phases[0].name, segmenter)
        wanted = rehearsal.evaluator.samples(phase or challenge.phases[0].name)[:samples]
        with tempfile.TemporaryDirectory() as folder:
            run, places = rehearsal.rehearse(wanted, Path(folder) / "rehearsal")
            Console().print(terminal_table([run.path]))
        show_sheet(rehearsed(places))


def _parse_options(about: dict[str, str], phase: dict[str, Any]) -> ChallengeDescription:
    """Parse a challenge with one phase like the form on the page, and report all faults together."""
    limits = {f"phases[0].{field}": _text(value) for field, value in phase.items()}
    filled = parse_form({**about, **limits})
    if filled.challenge is None:
        raise InvalidInput("; ".join(f"{field}: {why}" for field, why in filled.faults.items()))
    return filled.challenge


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def _preview(challenge: ChallengeDescription) -> None:
    """Print what a challenge would contain."""
    from contextlib import nullcontext

    show_sheet(
        looked_at(preview_phases(Evaluator(challenge), challenge, lambda done, of: nullcontext()))
    )
    typer.echo("nothing was created")


@contextmanager
def _pool_progress() -> Generator[OnSample]:
    """Show the progress of preparing samples."""
    with Console(stderr=True).status("preparing samples") as status:
        yield lambda done, of: status.update(f"{done} of {of} samples ready")


def _print_pool(name: str, pool: SamplePool) -> None:
    for line in pool.unusable:
        typer.secho(f"left out: {line}", fg="yellow", err=True)
    typer.echo(
        f"{name}: {pool.samples} samples, {pool.dialogues} dialogues, {pool.bytes / 1e6:.1f} MB to fetch"
    )


def _site(data: Path, db: str | None, *, is_new: bool = False) -> Site:
    if not is_new and not DataFolder(data).exists:
        raise StoreError(
            f"{data} is not the data folder of a server; name it with --data, or create a challenge first"
        )
    return open_site(data, _settings(data, db))


def _settings(data: Path, db: str | None) -> Settings:
    """Return the settings in a data folder, with the option `--db`."""
    return read_settings(own_settings(data), {"db": db})


def _description_of(site: Site, name: str) -> ChallengeDescription:
    return description_of(existing_challenge(site, name))
