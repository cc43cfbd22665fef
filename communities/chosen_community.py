"""The current community of a person in the admin; stored in their session."""

from __future__ import annotations

from django.http import HttpRequest

SESSION_KEY = "community"


def remember(request: HttpRequest, community_id: int) -> None:
    """Make a community the current one, from this request on. The caller has checked the person's role."""
    if request.session.get(SESSION_KEY) != community_id:
        request.session[SESSION_KEY] = community_id
