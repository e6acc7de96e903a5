"""A study that is described on a page is made by a job, since opening samples takes time."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy.orm import Session

from segarena.server.jobs.bench import Bench
from segarena.server.jobs.kind import Kind
from segarena.server.site import Site
from segarena.server.storage import Storage
from segarena.server.tables import Job
from segarena.studio.collecting.description import read_study_text
from segarena.studio.collecting.making import check_new, write_study
from segarena.studio.collecting.preparing import Prepared, prepare


@dataclass(frozen=True, slots=True, kw_only=True)
class PrepareStudy:
    """The unit that makes a study ready.

    Attributes:
        study: its description.
        storage: where its pictures are kept.
    """

    study: str
    storage: Storage

    def do(self, bench: Bench, /) -> Prepared:
        """Return what can begin."""

        @contextmanager
        def watch(done: int, of: int) -> Generator[None]:
            with bench.within(f"sample {done + 1} of {of}"):
                yield

        return prepare(read_study_text(self.study), self.storage, watch)


class MakeStudy(Kind):
    """The kind; each job is about the slug of a study to be."""

    name = "make study"
    is_long = True

    def unit(self, session: Session, site: Site, job: Job) -> PrepareStudy:
        """Return what makes it ready."""
        text = json.loads(job.told)["study"]
        check_new(session, read_study_text(text))
        return PrepareStudy(study=text, storage=site.folder.samples)

    def write(self, session: Session, site: Site, job: Job, result: Prepared) -> None:
        """Add the study."""
        told = json.loads(job.told)
        write_study(session, site.now(), read_study_text(told["study"]), result, told["by"])
        job.said = json.dumps({"items": len(result.rows), "unusable": result.unusable[:20]})
