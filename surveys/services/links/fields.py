"""The metadata that a personal link adds to the conversation (rule 6.10).

The member can neither see nor change the metadata, because the address contains only the link's id. Links of
anonymous projects have no metadata. Otherwise a sender could give each member a different value, and find
that value again with the member's answers.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping

import orjson

from communities.ground import sealing
from communities.ground.actors import Actor
from communities.ground.errors import ViolationJson, violation
from communities.ground.sealing import SealedColumn
from surveys.models import PersonalLink, Project

_PURPOSE = "metadata of links"
SEALED = SealedColumn(
    PersonalLink, "sealed_metadata", lambda link: sealing.seal_for(purpose=_PURPOSE, row=link.pk)
)


def faults(project: Project, fields: Mapping[str, str], *, path: str = "metadata") -> Iterator[ViolationJson]:
    """The violations in the metadata for a link of this project."""
    if fields and project.is_anonymous:
        message = (
            "Links of anonymous projects carry no `metadata`: whoever makes them could recognise the answers "
            "by it. Please leave it out."
        )
        yield violation(path, "not_allowed", message)


def sealed(link_id: uuid.UUID, fields: Mapping[str, str]) -> bytes | None:
    """Return the metadata in the encrypted form for a link's row; None without metadata."""
    if not fields:
        return None
    return sealing.seal(orjson.dumps(dict(fields)).decode(), purpose=_PURPOSE, row=link_id)


def of_link(link: PersonalLink, project: Project) -> Mapping[str, str]:
    """Return the metadata of a link; empty if SECRET_KEY has changed since the link was made.

    A link of an anonymous project has no metadata.
    """
    if link.sealed_metadata is None or project.is_anonymous:
        return {}
    try:
        fields: Mapping[str, str] = orjson.loads(
            sealing.unseal(link.sealed_metadata, purpose=_PURPOSE, row=link.pk)
        )
    except sealing.Unreadable:
        return {}
    return fields


def carries_attributes(*, actor: Actor, project: Project) -> bool:
    """Whether links that this actor makes carry attributes of members: admins alone read these, so admins
    alone decide to show them to a project's readers (rule 1.155).
    """
    return actor.is_admin and not project.is_anonymous


def readable_metadata(link: PersonalLink, project: Project, *, actor: Actor) -> Mapping[str, str] | None:
    """The metadata of a link for admins and for the person who made it; None if there is none.

    An admin's link may carry attributes of the member, which others do not read (rule 1.155).
    """
    is_own = actor.is_admin or link.created_by_id == actor.user_id
    return (of_link(link, project) or None) if is_own else None
