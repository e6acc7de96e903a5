"""Time of a save in the studio: the editor sends a patch of one region of 300: `python benches/studio_save.py`.

The time is that of reading the request, applying the patch to the stored draft, checking the whole drawing and writing
the new draft and its undo history into the database (SQLite), without HTTP. It is compared with the yardstick of
`measurement.py`, and with a save that sends the whole drawing. The two alternate.
"""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from measurement import (
    Figures,
    argument_parser,
    at_most,
    paired_time,
    paired_with_yardstick,
)
from PIL import Image
from scene_checks import HEIGHT, WIDTH, make_document
from sqlalchemy import select

from segarena_server.db.orm_models import Person
from segarena_server.server_process import open_site
from segarena_server.settings import Settings
from segarena_server.site import Site
from segarena_studio.annotation.drafts import SaveRequest, check_save, expand_patch, save_draft
from segarena_studio.annotation.pictures import add_picture, check_picture
from segarena_studio.annotation.projects import ProjectRules, create_project
from segarena_studio.orm_models import Task

REGIONS = 300
POINTS = 100
PAIRS = 9
BARS = {
    "a patch of one region, yardsticks": at_most(6),
    "a patch / a whole drawing": at_most(1.9),
    "bytes of a patch / of a whole drawing": at_most(0.001),
}


class Drawing:
    """A task whose drawing is saved again and again."""

    def __init__(self, site: Site, regions: int) -> None:
        self.site = site
        self.document = make_document(regions, POINTS)
        for region in self.document["regions"]:
            region.update(is_stuff=False, is_hidden=False, is_locked=False)
        self.revision = 0
        buffer = io.BytesIO()
        Image.fromarray(np.zeros((HEIGHT, WIDTH, 3), dtype=np.uint8)).save(buffer, format="PNG")
        with site.database.writing() as session:
            person = Person(
                name="Anna",
                folded="anna",
                password="-",
                role="participant",
                state="confirmed",
                made_at=0.0,
            )
            session.add(person)
            session.flush()
            project = create_project(session, ProjectRules(name="Street", seed=1), person.id, 0.0)
            checked = check_picture("large.png", buffer.getvalue())
            add_picture(session, project, site.folder.photographs, checked, 0.0)
            session.flush()
            task = session.scalars(select(Task).where(Task.project_id == project.id)).one()
            task.person_id = person.id
            self.task_id = task.id

    def whole_request(self) -> bytes:
        """Return a save of the whole drawing."""
        return self._request(scene=self.document)

    def patch_request(self) -> bytes:
        """Return a save of one renamed and moved region."""
        region = self.document["regions"][0]
        region["name"] = f"thing of revision {self.revision}"
        point = self.document["points"][0]
        point[0] = round(point[0] + 0.5, 2) if point[0] < WIDTH - 1 else 0.0
        scene = {
            "length": len(self.document["points"]),
            "points": [[0, point]],
            "regions": [region],
            "next_id": self.document["next_id"],
        }
        return self._request(patch={"scene": scene})

    def _request(self, **content: Any) -> bytes:
        return msgspec.json.encode(
            {"base": self.revision, "id": f"save-{self.revision}", **content}
        )

    def save(self, request: bytes) -> None:
        """Handle a save as the server does."""
        save = msgspec.json.decode(request, type=SaveRequest)
        with self.site.database.reading() as session:
            whole = expand_patch(session, session.get_one(Task, self.task_id), save)
        if whole is None:
            raise SystemExit("the patch is not based on the newest revision")
        document = check_save(whole)
        with self.site.database.writing() as session:
            task = session.get_one(Task, self.task_id)
            revision = save_draft(session, task, whole, document, 5.0)
        if revision is None:
            raise SystemExit("the save is not based on the newest revision")
        self.revision = revision


def main() -> None:
    """Report the figures; exit with 1 if a limit is missed."""
    options = argument_parser(__doc__).parse_args()
    regions = REGIONS
    pairs = PAIRS
    if options.quick:
        regions = 10
        pairs = 1
    figures = Figures(BARS, has_bars=not options.quick)
    with tempfile.TemporaryDirectory() as name:
        site = open_site(Path(name) / "data", Settings(port=0, workers=0))
        drawing = Drawing(site, regions)
        drawing.save(drawing.whole_request())
        patch_bytes = len(drawing.patch_request())
        whole_bytes = len(drawing.whole_request())

        def save_patch() -> None:
            drawing.save(drawing.patch_request())

        def save_whole() -> None:
            drawing.save(drawing.whole_request())

        save_patch()
        alone = paired_with_yardstick(save_patch, pairs)
        compared = paired_time(save_patch, save_whole, pairs)
        site.database.close()
    print(f"a patch of one region among {regions}: {1000 * alone.ours_s:.1f} ms")
    figures.report("a patch of one region, yardsticks", alone.ratio)
    figures.report("a patch / a whole drawing", compared.ratio)
    figures.report("bytes of a patch / of a whole drawing", patch_bytes / whole_bytes)
    figures.finish()


if __name__ == "__main__":
    main()
