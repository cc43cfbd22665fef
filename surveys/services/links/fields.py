"""What a personal link carries along: texts that become the metadata of the conversation (decisions 15.11).

Its reader can neither see nor change them: the address holds the link's id alone. They are stored encrypted,
as on anonymous projects they would join a member to the answers that carry the same values. There each link
has a sealed text of the same length, also one that carries nothing.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping

import orjson

from communities import sealing
from communities.errors import ViolationJson, violation
from surveys.models import PersonalLink, Project
from surveys.services import metadata

_PURPOSE = "metadata of links"
_STEP = 2048  # bytes; lengths are multiples of it


def faults(project: Project, fields: Mapping[str, str]) -> Iterator[ViolationJson]:
    """A violation for each text that an anonymous project does not declare."""
    for key in fields.keys() - metadata.allowed(project, fields).keys():
        message = (
            f"`settings.hidden_fields` does not allow this value of `metadata.{key}`: on an anonymous "
            "project any other text could name the respondent."
        )
        yield violation(f"metadata.{key}", "not_allowed", message)


def sealed(project: Project, link_id: uuid.UUID, fields: Mapping[str, str]) -> bytes | None:
    """The texts as a link's row stores them."""
    if not fields and not project.is_anonymous:
        return None
    text = orjson.dumps(dict(fields)).decode()
    length = -(-len(text.encode()) // _STEP) * _STEP
    padded = text + " " * (length - len(text.encode()))
    return sealing.seal(padded, purpose=_PURPOSE, row=link_id)


def of_link(link: PersonalLink) -> Mapping[str, str]:
    """The texts that a link carries; none if SECRET_KEY has changed since it was made."""
    if link.sealed_metadata is None:
        return {}
    try:
        fields: Mapping[str, str] = orjson.loads(
            sealing.unseal(link.sealed_metadata, purpose=_PURPOSE, row=link.pk)
        )
    except sealing.Unreadable:
        return {}
    return fields


def told(link: PersonalLink, project: Project) -> Mapping[str, str] | None:
    """The same for those who made the link; None if there are none, and always on anonymous projects."""
    return None if project.is_anonymous else of_link(link) or None
