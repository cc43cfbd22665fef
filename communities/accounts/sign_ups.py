"""The community to which a person signs up without an invitation."""

from __future__ import annotations

from django.http import HttpRequest

from communities.models import Community
from communities.services.inviting import invitations

FIELD = "community"


def community_of(request: HttpRequest) -> Community | None:
    """The community that the address names, if it lets anybody sign up."""
    named = request.POST.get(FIELD) or request.GET.get(FIELD, "")
    if not (named.isascii() and named.isdigit() and len(named) < 20):
        return None
    return invitations.open_community(community_id=int(named))
