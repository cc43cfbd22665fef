"""Projects only for members, and links that admit one member."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from communities.models import Member
from surveys.models import PersonalLink, Project
from surveys.services.links import addresses
from tests.support.surveys import scenario
from tests.support.surveys.visitor import Visitor


def private(*blocks: Any, **fields: Any) -> Project:
    """An open project that admits only members."""
    return scenario.project(*(blocks or (scenario.TEXT,)), participation="private", **fields)


def link_for(member: Member, project: Project, *, at: datetime | None = None, **fields: Any) -> PersonalLink:
    """A link made at a moment, by default a minute ago."""
    at = at or timezone.now() - timedelta(minutes=1)
    return PersonalLink.objects.create(
        **{
            "project": project,
            "member": member,
            "created_at": at,
            "expires_at": at + timedelta(days=30),
            **fields,
        }
    )


def path_of(link: PersonalLink, *, is_framed: bool = False) -> str:
    """The path and query of a link's address."""
    more = "&embed=1" if is_framed else ""
    return f"/s/{link.project.slug}?{addresses.PARAMETER}={addresses.signed(link.pk)}{more}"


def arrive(link: PersonalLink, **options: Any) -> Visitor:
    """A browser with cookies that has opened a link and followed its redirects."""
    visitor = Visitor(link.project, **options)
    visitor.response = visitor.client.get(path_of(link), follow=True)
    return visitor.look()


def arrive_without_cookies(link: PersonalLink) -> Visitor:
    """A browser without cookies that has opened a link and followed its redirects."""
    visitor = Visitor(link.project)
    response = visitor.client.get(path_of(link))
    visitor.client.cookies.clear()
    response = visitor.client.get(response["Location"])
    visitor.client.cookies.clear()
    return visitor._take(response)
