"""`segarena challenge`: manage the challenges in a data folder."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from segarena.errors import InvalidInput, StoreError
from segarena.files.text_files import read_text
from segarena.reports import terminal_table
from segarena.reports.wording import count_text
from segarena.terminal.exit_codes import one_line_errors
from segarena.terminal.help_format import RARE
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
from segarena_server.challenges.form_fields import parse_form
from segarena_server.challenges.integrity_audit import audit_sheet
from segarena_server.challenges.markdown import render_markdown
from segarena_server.challenges.phase_fields import with_phase_options
from segarena_server.challenges.prompt_attacks import ATTACKED_SAMPLES, measure_prompt_attacks
from segarena_server.challenges.rehearsal import Rehearsal, default_segmenter
from segarena_server.challenges.run_sizes import run_sizes, warnings_about_ranks
from segarena_server.challenges.sample_pool import SamplePool, preview_phases
from segarena_server.commands.challenge_organisers import add_and_remove_organisers
from segarena_server.commands.challenge_teams import decide_teams, teams_sheet
from segarena_server.commands.organiser_sheets import (
    attack_sheet,
    overview_sheet,
    preview_sheet,
    rehearsal_sheet,
)
from segarena_server.commands.second_factor_removal import switch_off_second_factor
from segarena_server.commands.serve import DATA
from segarena_server.commands.sign_in_locks import lift_locks
from segarena_server.config_file import own_settings, read_settings
from segarena_server.db.database import Database
from segarena_server.db.schema import migrate, revision_of
from segarena_server.pages.challenge_export import export_challenge
from segarena_server.server_process import open_site
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
@with_phase_options()
def new(
    name: Annotated[
        str,
        typer.Argument(help="Short name for addresses: lower-case letters, digits and dashes."),
    ],
    benchmark: Annotated[
        str, typer.Option("--benchmark", "-b", help="As for `segarena run`.")
    ] = "clicks",
    dataset: Annotated[
        str,
        typer.Option("--dataset", "-d", help="As for `segarena run`; hidden from participants."),
    ] = "demo",
    title: Annotated[str, typer.Option(help="Title on pages; by default the name.")] = "",
    text: Annotated[
        Path | None, typer.Option(help="Markdown file with the text for participants.")
    ] = None,
    described: Annotated[
        Path | None,
        typer.Option(
            "--from", help="JSON description in place of the other options; see `challenge show`."
        ),
    ] = None,
    terms: Annotated[
        Path | None,
        typer.Option(
            help="Markdown file with terms that each participant must accept to start a run."
        ),
    ] = None,
    approves_teams: Annotated[
        bool,
        typer.Option(
            "--approve-teams",
            help="Let teams begin runs only after you have approved them.",
            rich_help_panel=RARE,
        ),
    ] = False,
    practice_may_reveal_test: Annotated[
        bool,
        typer.Option(
            "--practice-may-reveal-test",
            rich_help_panel=RARE,
            help="Allow samples of a test phase in a practice phase, which shows participants their ground truth.",
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Preview the challenge from a few samples, or from all to compare practice and test; create nothing.",
        ),
    ] = False,
    data: Data = DATA,
    db: Db = None,
    *,
    phase_options: dict[str, str],
) -> None:
    """Create a challenge: a benchmark on a dataset that participants cannot see, with dates and limits.

        segarena challenge new photos --benchmark clicks --dataset "folder(path='photos')" --closes 2026-09-01

    The command checks the dataset and the benchmark, and prepares each sample for download. To
    describe several phases, write a file: `segarena challenge show` prints one to start from.
    """
    # Building may take minutes, so every problem that needs no data is reported first.
    with one_line_errors("stopped; nothing was created"):
        if described:
            challenge = read_challenge(described.read_bytes())
            if challenge.slug != name:
                raise InvalidInput(
                    f"{described}: expected slug {name!r}, got {challenge.slug!r}; make them the same"
                )
        else:
            words = read_text(text, "a description") if text else ""
            about = {
                "slug": name,
                "title": title or name,
                "text": words,
                "benchmark": benchmark,
                "dataset": dataset,
            }
            challenge = _parse_options(about, phase_options)
        if terms is not None:
            words = read_text(terms, "terms").strip()
            challenge = msgspec.structs.replace(challenge, terms=words)
        if approves_teams:
            challenge = msgspec.structs.replace(challenge, approves_teams=True)
        # The flag is no form field: only people with access to the server may lift this protection.
        if practice_may_reveal_test:
            challenge = msgspec.structs.replace(challenge, practice_may_reveal_test=True)
        for line in warnings_about_ranks(challenge):
            typer.secho(f"warning: {line}", fg="yellow", err=True)
        if dry_run:
            _preview(challenge)
            return
        site = _site(data, db, is_new=True)
        with _pool_progress() as on_sample:
            pool = make_challenge(site, challenge, on_sample)
        made = _description_of(site, challenge.slug)
    _print_pool(challenge.slug, pool)
    for size in run_sizes(made, Counter(row.pool for row in pool.rows)):
        typer.echo(f"{size}")
    if images := render_markdown(made.text).missing_images:
        typer.echo(
            f"upload these images of the description on the Images page: {', '.join(images)}"
        )
    typer.echo(
        f"next: segarena challenge rehearse {challenge.slug} --data {data}; then segarena serve {data}"
    )


@app.command("change")
def change(
    name: Annotated[str, typer.Argument(help="Name of the challenge.")],
    described: Annotated[
        Path, typer.Option("--from", help="Edited JSON description; see `challenge show`.")
    ],
    data: Data = DATA,
    db: Db = None,
) -> None:
    """Change a challenge: dates, texts, visibility and run limits at any time, the rest until the first run.

    Once a phase has runs, everything that determines their scores is fixed: benchmark, data, seed,
    rounds and time limits. The audit log records each change. A running server applies it at once.
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
    """List the challenges with their phases and the number of runs."""
    with one_line_errors():
        show_sheet(overview_sheet(_site(data, db)))


@app.command("show")
def show(
    name: Annotated[str, typer.Argument(help="Name of the challenge.")],
    data: Data = DATA,
    db: Db = None,
) -> None:
    """Print the description of a challenge as JSON, secrets included; `new --from` accepts an edited copy."""
    with one_line_errors():
        typer.echo(challenge_text(_description_of(_site(data, db), name)))


@app.command("close")
def close(
    name: Annotated[str, typer.Argument(help="Name of the challenge.")],
    again: Annotated[bool, typer.Option("--open", help="Reopen it instead.")] = False,
    data: Data = DATA,
    db: Db = None,
) -> None:
    """Close a challenge: no new runs can start, and open runs end. All pages and results remain."""
    with one_line_errors():
        state = "open" if again else "closed"
        set_challenge_state(_site(data, db), name, state)
    typer.echo(f"{name} is {state}")


@app.command("export")
def export(
    name: Annotated[str, typer.Argument(help="Name of the challenge.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="A new folder, or a new file that ends in .zip.")
    ],
    data: Data = DATA,
    db: Db = None,
) -> None:
    """Export a challenge as static pages, with its rules and the boards that participants see now.

    A browser can open the pages from disk, and any web server can serve them. They contain nothing
    hidden.
    """
    with one_line_errors("stopped"):
        written = export_challenge(_site(data, db), name, out)
    typer.echo(f"{name}: {written}")


@app.command("backup")
def backup(
    to: Annotated[Path, typer.Argument(help="Path of the copy, which must not exist yet.")],
    data: Data = DATA,
    db: Db = None,
) -> None:
    """Copy the data folder of a server, which may be running. The copy is a data folder that can be served.

    To restore the copy, stop the server and replace its folder. A PostgreSQL database is in the
    copy as segarena.dump, for pg_restore.
    """
    with one_line_errors("stopped; nothing was copied"):
        back_up(data, to, _settings(data, db).db)
    typer.echo(
        f"{to}: contains everything acknowledged so far; segarena serve --check {to} checks it"
    )


@app.command("migrate")
def migrate_tables(
    revision: Annotated[
        str, typer.Argument(help="Revision of the tables; by default the newest.")
    ] = "head",
    data: Data = DATA,
    db: Db = None,
) -> None:
    """Migrate the tables of the database up or down to another revision while no server is running.

    A server migrates its tables to the newest revision when it starts. Migrate down before you
    install an earlier version of segarena. Make a backup first.
    """
    with one_line_errors("stopped; nothing was changed"):
        database = Database(_settings(data, db).db or data / DATABASE_FILE)
        before = revision_of(database)
        migrate(database, revision)
        # Before the database is closed, because the revision is read from it.
        typer.echo(f"{before or 'no tables'} -> {revision_of(database) or 'no tables'}")
        database.close()


@app.command("audit")
def audit(
    name: Annotated[str, typer.Argument(help="Name of the challenge.")],
    data: Data = DATA,
    db: Db = None,
) -> None:
    """Report how much of the ground truth the prompts revealed to each participant, and which runs look alike."""
    with one_line_errors():
        show_sheet(audit_sheet(_site(data, db), name))


@app.command("rehearse")
def rehearse(
    name: Annotated[str, typer.Argument(help="Name of the challenge.")],
    segmenter: Annotated[
        str | None,
        typer.Option(
            "--segmenter",
            "-s",
            help="Segmenter that takes part; by default one without weights that accepts the samples.",
        ),
    ] = None,
    phase: Annotated[
        str | None, typer.Option(help="Phase to rehearse; by default the first.")
    ] = None,
    samples: Annotated[int, typer.Option(help="Number of samples.")] = 2,
    attacks: Annotated[
        int,
        typer.Option(
            min=0,
            help="Number of test samples on which to measure what prompts reveal to attackers; 0 for none.",
        ),
    ] = ATTACKED_SAMPLES,
    data: Data = DATA,
    db: Db = None,
) -> None:
    """Let a segmenter take part, and report what participants will see and how long a run takes.

    The rehearsal runs in this process and encodes and decodes all messages; it stores nothing and
    needs no server.
    """
    with one_line_errors("stopped; nothing was kept"):
        challenge = _description_of(_site(data, db), name)
        chosen = challenge.phase(phase) if phase else challenge.phases[0]
        rehearsal = Rehearsal(challenge, chosen.name, segmenter or default_segmenter(challenge))
        pool = rehearsal.evaluator.samples(chosen.name)
        wanted = pool[:samples]
        # The rehearsal writes a complete run folder, which only serves the tables below.
        with tempfile.TemporaryDirectory() as folder:
            run, places = rehearsal.rehearse(wanted, Path(folder) / "rehearsal")
            Console().print(terminal_table([run.path]))
        show_sheet(rehearsal_sheet(places))
        # In a practice the participants see the ground truth anyway.
        if attacks and chosen.kind == "test":
            show_sheet(attack_sheet(measure_prompt_attacks(challenge, chosen.name, pool[:attacks])))


@app.command("organisers")
def organisers(
    name: Annotated[str, typer.Argument(help="Name of the challenge.")],
    add: Annotated[
        list[str] | None,
        typer.Option("--add", help="Account that may manage the challenge; repeat for several."),
    ] = None,
    remove: Annotated[
        list[str] | None,
        typer.Option("--remove", help="Account that may no longer manage it; repeat for several."),
    ] = None,
    data: Data = DATA,
    db: Db = None,
) -> None:
    """List the organisers of a challenge; add or remove some. Admins manage all challenges without being listed.

    An organiser needs the role organiser, and manages only those challenges that somebody assigned
    to them or that they created on the page. The server may be running.
    """
    with one_line_errors("stopped; nothing was changed"):
        names = add_and_remove_organisers(_site(data, db), name, add or [], remove or [])
    typer.echo(f"{name}: {', '.join(names) or 'no organisers; only admins manage it'}")


@app.command("teams")
def teams(
    name: Annotated[str, typer.Argument(help="Name of the challenge.")],
    approve: Annotated[
        list[str] | None, typer.Option("--approve", help="Team to approve; repeatable.")
    ] = None,
    decline: Annotated[
        list[str] | None, typer.Option("--decline", help="Team to decline; repeatable.")
    ] = None,
    reason: Annotated[str, typer.Option(help="Why you decline; the team reads it.")] = "",
    data: Data = DATA,
    db: Db = None,
) -> None:
    """List the teams that requested to take part in a challenge; approve or decline some.

    For challenges created with --approve-teams. Each team receives an e-mail about the decision,
    which you can change later; runs that have started continue. The server may be running.
    """
    with one_line_errors("stopped; nothing was changed"):
        site = _site(data, db)
        decide_teams(
            site,
            name,
            approved=approve or [],
            declined=decline or [],
            reason=reason,
        )
        show_sheet(teams_sheet(site, name))


@app.command("unlock")
def unlock(
    name: Annotated[str, typer.Argument(help="Name of the account.", show_default=False)] = "",
    everybody: Annotated[
        bool, typer.Option("--all", help="Lift all limits, including those on addresses.")
    ] = False,
    data: Data = DATA,
    db: Db = None,
) -> None:
    """Let an account sign in again after too many wrong passwords. The server may be running."""
    with one_line_errors("stopped; nothing was changed"):
        typer.echo(lift_locks(_site(data, db), name, is_for_all=everybody))


@app.command("second-factor-off")
def second_factor_off(
    name: Annotated[str, typer.Argument(help="Name of the account.")],
    data: Data = DATA,
    db: Db = None,
) -> None:
    """Switch off the second factor of someone who lost their phone and recovery codes. Verify their identity first.

    All sessions of the account end; the password is enough until the owner sets up a second factor
    again. The audit log records the removal.
    """
    with one_line_errors("stopped; nothing was changed"):
        switch_off_second_factor(_site(data, db), name)
    typer.echo(f"{name}: the second factor is off")


def _parse_options(about: dict[str, str], phase: dict[str, str]) -> ChallengeDescription:
    """Parse a challenge with one phase from options, as the web form does, and report all errors together."""
    limits = {f"phases[0].{field}": text for field, text in phase.items()}
    filled = parse_form({**about, **limits})
    if filled.challenge is None:
        raise InvalidInput("; ".join(f"{field}: {why}" for field, why in filled.faults.items()))
    return filled.challenge


def _preview(challenge: ChallengeDescription) -> None:
    """Print what a challenge would contain."""
    from contextlib import nullcontext

    show_sheet(
        preview_sheet(
            preview_phases(Evaluator(challenge), challenge, lambda done, of: nullcontext())
        )
    )
    typer.echo("nothing was created")


@contextmanager
def _pool_progress() -> Generator[OnSample]:
    """Show progress while samples are prepared."""
    with Console(stderr=True).status("preparing samples") as status:
        yield lambda done, of: status.update(f"{done} of {of} samples ready")


def _print_pool(name: str, pool: SamplePool) -> None:
    for line in pool.unusable:
        typer.secho(f"omitted: {line}", fg="yellow", err=True)
    typer.echo(
        f"{name}: {count_text(pool.samples, 'sample')}, {count_text(pool.dialogues, 'dialogue')}, "
        f"{pool.bytes / 1e6:.1f} MB to download"
    )


def _site(
    data: Path,
    db: str | None,
    *,
    is_new: bool = False,
) -> Site:
    if not is_new and not DataFolder(data).exists:
        raise StoreError(
            f"{data} is not the data folder of a server; name one with --data, or create a challenge first"
        )
    return open_site(data, _settings(data, db))


def _settings(data: Path, db: str | None) -> Settings:
    """Return the settings in a data folder, overridden by the option `--db`."""
    return read_settings(own_settings(data), {"db": db})


def _description_of(site: Site, name: str) -> ChallengeDescription:
    return description_of(existing_challenge(site, name))
