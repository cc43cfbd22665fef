"""The community to which a person signs up without an invitation."""

from __future__ import annotations

from django.http import HttpRequest

from communities.ground.ids import id_of
from communities.models import Community
from communities.services.inviting import invitations

FIELD = "community"


def community_of(request: HttpRequest) -> Community | None:
    """The community that the address names, if it lets anybody sign up."""
    community_id = id_of(request.POST.get(FIELD) or request.GET.get(FIELD, ""))
    return None if community_id is None else invitations.open_community(community_id=community_id)
