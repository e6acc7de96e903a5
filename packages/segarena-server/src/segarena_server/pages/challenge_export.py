"""Export of a challenge as web pages, in a folder or one file, for use after the server is shut down.

The pages contain the rules and the boards that everybody with an account sees at that moment, but
no hidden samples, prompts or masks. They need no server, no database and no account: a browser can
open them from disk.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

from segarena.errors import InvalidInput
from segarena.files.atomic_write import write_atomic
from segarena.reports.boards.board_tables import board_csv, board_tex
from segarena.reports.boards.pages import ASSETS, asset_text, board_page
from segarena_server.challenges.challenge_management import existing_challenge
from segarena_server.challenges.challenge_repository import cached_info, description_of
from segarena_server.challenges.description_images import images_of
from segarena_server.challenges.markdown import MarkdownImage, render_markdown
from segarena_server.challenges.turn_time_accounting import TIME_RULE
from segarena_server.db.datetimes import utc_datetime
from segarena_server.pages.rendering import render_template, static_file
from segarena_server.runs.phase_leaderboard import board_cache
from segarena_server.site import Site

_INDEX = "index.html"
_DOWNLOADS = (("board.csv", "CSV"), ("board.tex", "LaTeX"))


def export_challenge(
    site: Site,
    slug: str,
    out: Path,
) -> Path:
    """Export a challenge; return the page to open, or the zip file.

    Args:
        site: site of the challenge.
        slug: slug of the challenge.
        out: a folder that is new or empty, or a new file that ends in .zip.

    Raises:
        InvalidInput: the challenge does not exist, or `out` exists and is not an empty folder.
        StoreError: the files cannot be written.
    """
    is_empty_folder = out.is_dir() and not any(out.iterdir())
    if out.exists() and not is_empty_folder:
        raise InvalidInput(f"{out} already exists; name a new path")
    files = export_files(site, slug)
    if out.suffix == ".zip":
        write_atomic(out, _zipped(slug, files))
        return out
    for name, text in files.items():
        write_atomic(out / name, text)
    return out / _INDEX


def export_files(site: Site, slug: str) -> dict[str, str | bytes]:
    """Return the exported files by name.

    Raises:
        InvalidInput: the challenge does not exist.
    """
    challenge = existing_challenge(site, slug)
    files: dict[str, str | bytes] = {f"files/{name}": asset_text(name) for name in ASSETS}
    files["files/server.css"] = static_file("server.css")[0]
    has_board: dict[str, bool] = {}
    for phase in description_of(challenge).phases:
        with site.database.reading() as session:
            shown = board_cache(site).of(session, challenge, phase, site.now(), sees_all=False)
        has_board[phase.name] = shown is not None
        if shown is not None:
            board = shown.board
            page = board_page(board, choice="best", files=_DOWNLOADS)
            files[f"{phase.name}/{_INDEX}"] = page.html("../files/")
            files[f"{phase.name}/board.csv"] = board_csv(board)
            files[f"{phase.name}/board.tex"] = board_tex(board, board.first_key, "best")
    info = cached_info(challenge.description)
    images: dict[str, MarkdownImage] = {}
    with site.database.reading() as session:
        for image in images_of(session, challenge):
            path = f"files/images/{image.name}"
            files[path] = image.content
            images[image.name] = MarkdownImage(path, image.width, image.height)
    files[_INDEX] = render_template(
        "challenge_archive.html",
        title=info.title,
        challenge=challenge,
        shown=info,
        description=render_markdown(info.text, images),
        boards=has_board,
        now=utc_datetime(site.now()),
        time_rule=TIME_RULE,
    )
    return files


def _zipped(slug: str, files: Mapping[str, str | bytes]) -> bytes:
    """Return a zip of the files, in a folder named after the challenge."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, file_content in files.items():
            archive.writestr(f"{slug}/{name}", file_content)
    return content.getvalue()
