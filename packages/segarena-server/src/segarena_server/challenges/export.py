"""A challenge as pages of its own: rules and boards, in a folder or one file, for when the server is gone.

What is exported is what everybody with an account sees at that moment; hidden samples, prompts and masks are not in it.
No server, no database and no account is needed to look at it: a browser opens it from disk, any web server shows it.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from segarena.errors import InvalidInput
from segarena.files.whole import write_whole
from segarena.reports.boards.board_tables import board_csv, board_tex
from segarena.reports.boards.pages import ASSETS, asset_text, board_html
from segarena_server.challenges.challenge_management import existing_challenge
from segarena_server.challenges.challenge_repository import cached_info, description_of
from segarena_server.challenges.time_charge import TIME_RULE
from segarena_server.db.datetimes import moment_of
from segarena_server.pages.rendering import rendered, static_file
from segarena_server.site import Site

_FIRST = "index.html"


def export_challenge(site: Site, slug: str, out: Path) -> Path:
    """Write what can be seen of a challenge; return the page to open, or the file.

    Args:
        site: whose.
        slug: of the challenge.
        out: a folder that is new or empty, or a new file that ends in .zip.

    Raises:
        InvalidInput: there is no such challenge, or something is at `out`.
        StoreError: it cannot be written.
    """
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise InvalidInput(f"{out} is there already; name a place where nothing is")
    files = export_files(site, slug)
    if out.suffix == ".zip":
        write_whole(out, _zipped(slug, files))
        return out
    for name, text in files.items():
        write_whole(out / name, text)
    return out / _FIRST


def export_files(site: Site, slug: str) -> dict[str, str]:
    """Return the files by name.

    Raises:
        InvalidInput: there is no such challenge.
    """
    challenge = existing_challenge(site, slug)
    files = {f"files/{name}": asset_text(name) for name in ASSETS} | {
        "files/server.css": static_file("server.css")[0]
    }
    boards: dict[str, bool] = {}
    for phase in description_of(challenge).phases:
        with site.database.reading() as session:
            shown = site.boards.of(session, challenge, phase, site.now(), sees_all=False)
        boards[phase.name] = shown is not None
        if shown is not None:
            board = shown.board
            offered = (("board.csv", "CSV"), ("board.tex", "LaTeX"))
            files[f"{phase.name}/{_FIRST}"] = board_html(
                board, assets="../files/", choice="best", files=offered
            )
            files[f"{phase.name}/board.csv"] = board_csv(board)
            files[f"{phase.name}/board.tex"] = board_tex(board, board.first_key, "best")
    now = moment_of(site.now())
    rules = cached_info(challenge.description)
    told: dict[str, Any] = {
        "challenge": challenge,
        "shown": rules,
        "boards": boards,
        "now": now,
        "time_rule": TIME_RULE,
    }
    files[_FIRST] = rendered("exported.html", title=rules.title, **told)
    return files


def _zipped(slug: str, files: Mapping[str, str]) -> bytes:
    """Return the files in one, in a folder of the challenge's name."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(f"{slug}/{name}", text)
    return packed.getvalue()
