"""The studio as a section of the server's site."""

from __future__ import annotations

from segarena_server.extensions.site_sections import SiteSection
from segarena_studio.annotation import personal_data
from segarena_studio.annotation.export_job import ExportProject
from segarena_studio.annotation.propagation_job import PropagateTracks
from segarena_studio.annotation.waiting_tasks import find_returned_notice, find_work_page
from segarena_studio.human_user import personal_data as seats_data
from segarena_studio.pages import (
    assistance,
    comparison,
    components,
    editor_api,
    home,
    human_user_runs,
    invitations,
    membership,
    project_export,
    project_pictures,
    projects,
    review,
    scene_editor,
    studies,
    study_participation,
    task_picker,
    tracks,
    viewer,
)
from segarena_studio.studies import personal_data as studies_data
from segarena_studio.studies.jobs import CorrectStudy, MakeStudy

_PAGES = (
    home,
    projects,
    invitations,
    membership,
    project_pictures,
    project_export,
    review,
    comparison,
    scene_editor,
    editor_api,
    task_picker,
    tracks,
    assistance,
    viewer,
    human_user_runs,
    studies,
    study_participation,
    components,
)

STUDIO = SiteSection(
    title="Studio",
    needs="participant",
    routers=tuple(page.router for page in _PAGES),
    package="segarena_studio",
    purpose="annotate pictures or collect prompts",
    kinds=(MakeStudy(), CorrectStudy(), ExportProject(), PropagateTracks()),
    kept={"drawing": personal_data.KEPT, "studies": studies_data.KEPT, "seats": seats_data.KEPT},
    start_page=find_work_page,
    notice=find_returned_notice,
)
