"""Work that waits for a person in sections of the site: the page after signing in, notices in the navigation."""

from __future__ import annotations

from collections.abc import Mapping

from segarena_server.auth.permissions import Visitor
from segarena_server.db.database import DatabaseAway
from segarena_server.extensions.site_sections import SectionNotice, site_sections
from segarena_server.site import Site


def find_start_page(
    site: Site,
    person_id: int,
    role: str,
) -> str:
    """Return the path of the page that a person sees after signing in: one with waiting work, or the home page.

    Args:
        site: the site.
        person_id: id of the account.
        role: role of the session; "viewer" while it lacks a required second factor.
    """
    visitor = Visitor(address="", person_id=person_id, role=role)
    for section in site_sections().values():
        if section.start_page is None or not visitor.may(section.needs):
            continue
        if path := section.start_page(site, person_id):
            return path
    return "/"


def list_notices(site: Site, visitor: Visitor) -> Mapping[str, SectionNotice]:
    """Return the notices of a visitor by section; sections without one are left out."""
    if visitor.person_id is None:
        return {}
    noticing = {
        name: section.notice
        for name, section in site_sections().items()
        if section.notice is not None and visitor.may(section.needs)
    }
    if not noticing:
        return {}
    notices: dict[str, SectionNotice] = {}
    try:
        with site.database.reading() as session:
            for name, find_notice in noticing.items():
                if notice := find_notice(session, visitor.person_id):
                    notices[name] = notice
    except DatabaseAway:
        # The page may be the one that reports this very problem.
        return {}
    return notices
