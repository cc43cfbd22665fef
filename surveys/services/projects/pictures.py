"""Pictures in the fields of projects; pages show copies of them: of invitations, achievements and brands."""

from __future__ import annotations

from collections.abc import Mapping

from communities.services.pictures import copies
from communities.services.pictures.places import Place
from communities.services.tenants.settings import PICTURES
from surveys.models import Project

PLACES = (
    *(
        Place(
            ("surveys_project.delivery",),
            f"SELECT community_id, delivery -> 'invitation' ->> '{key}' AS address FROM surveys_project "
            f"WHERE delivery -> 'invitation' ->> '{key}' IS NOT NULL",
        )
        for key in ("image_url", "thumbnail_url")
    ),
    *(
        Place(
            ("surveys_project.presentation",),
            f"SELECT community_id, presentation ->> '{key}' AS address FROM surveys_project "
            f"WHERE presentation ->> '{key}' IS NOT NULL",
        )
        for key in PICTURES
    ),
    Place(
        ("surveys_project.rewards",),
        "SELECT community_id, rewards ->> 'achievement_image_url' AS address FROM surveys_project "
        "WHERE rewards ->> 'achievement_image_url' IS NOT NULL",
    ),
)


def want_new(project: Project, *, was: Project | None = None) -> None:
    """Request copies of the pictures that a project has now and did not have before."""
    new = _addresses(project) - (_addresses(was) if was else set())
    copies.want(community_id=project.community_id, addresses=new)


def _addresses(project: Project) -> set[str]:
    invitation: Mapping[str, str | None] = (project.delivery or {}).get("invitation") or {}
    addresses = (
        invitation.get("image_url"),
        invitation.get("thumbnail_url"),
        (project.rewards or {}).get("achievement_image_url"),
        *((project.presentation or {}).get(key) for key in PICTURES),
    )
    return {address for address in addresses if address}
