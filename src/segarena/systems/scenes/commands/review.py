"""`segarena amodal review`: a page to review annotations from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from segarena.systems.scenes.commands.files import AnnotatorOption, FromOption, ImagesOption, InArgument, read
from segarena.terminal.exits import one_line_errors


def review(
    path: InArgument,
    out: Annotated[Path, typer.Option("--out", "-o", help="The page to write.")] = Path("review.html"),
    file_format: FromOption = None,
    images: ImagesOption = None,
    annotator: AnnotatorOption = None,
    most: Annotated[int, typer.Option(min=1, help="Annotations on the page, those with the most errors.")] = 200,
) -> None:
    """Write a page to review annotations from: drawings over photographs, and every finding with its place.

        segarena amodal review DIR/scenes.json --images DIR/images --out review.html

    The page works offline. Decisions are kept in the browser, and saved from there as a file.
    """
    from segarena.files.whole import write_whole
    from segarena.systems.scenes.page.review import review_page

    with one_line_errors():
        scenes = read(path, file_format, images, annotator=annotator)
        folder = images or (path if path.is_dir() else path.parent)
        write_whole(out, review_page(scenes, images=folder, title=path.name, most=most))
        typer.echo(f"The page is at {out.resolve()}\nOpen it in a browser; it works offline.")
