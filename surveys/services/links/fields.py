"""What a personal link carries along: texts that become the metadata of the conversation (rule 6.10).

Its reader can neither see nor change them: the address holds the link's id alone. Links of anonymous projects
carry nothing: who gives each member a value of their own would find it again beside that member's answers.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping

import orjson

from communities.ground import sealing
from communities.ground.errors import ViolationJson, violation
from surveys.models import PersonalLink, Project

_PURPOSE = "metadata of links"


def faults(project: Project, fields: Mapping[str, str], *, path: str = "metadata") -> Iterator[ViolationJson]:
    """What is wrong with the texts that a link of this project is to carry."""
    if fields and project.is_anonymous:
        message = (
            "Links of anonymous projects carry no `metadata`: whoever makes them could recognise the answers "
            "by it. Please leave it out."
        )
        yield violation(path, "not_allowed", message)


def sealed(link_id: uuid.UUID, fields: Mapping[str, str]) -> bytes | None:
    """The texts as a link's row stores them, encrypted; None if there are none."""
    if not fields:
        return None
    return sealing.seal(orjson.dumps(dict(fields)).decode(), purpose=_PURPOSE, row=link_id)


def of_link(link: PersonalLink, project: Project) -> Mapping[str, str]:
    """The texts that a link carries; none if SECRET_KEY has changed since it was made.

    A link of an anonymous project has none.
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


def told(link: PersonalLink, project: Project) -> Mapping[str, str] | None:
    """The same for those who made the link; None if there are none."""
    return of_link(link, project) or None
