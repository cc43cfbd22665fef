"""The signed address of a personal link.

The address contains the link's id, and reveals neither person nor project.
"""

from __future__ import annotations

import base64
import binascii
import uuid

from django.core.signing import BadSignature, Signer

from surveys.models import Project
from surveys.services.representations.project import web_url

PARAMETER = "link"
MAX_LENGTH = 200  # The characters of a signed id. A longer text is never valid.
_SIGNER = Signer(salt="surveys.personal_link", sep=".")


def url_of(*, project: Project, link_id: uuid.UUID) -> str:
    """The address that admits the link's member (rule 6.39)."""
    return f"{web_url(project)}?{PARAMETER}={signed(link_id)}"


def signed(link_id: uuid.UUID) -> str:
    """The id of a link with its signature, in characters that need no escaping in an address."""
    return _SIGNER.sign(base64.urlsafe_b64encode(link_id.bytes).decode().rstrip("="))


def link_id_of(text: str) -> uuid.UUID | None:
    """Return the id of the link in a signed text; None if this site did not sign the text."""
    if len(text) > MAX_LENGTH:
        return None
    try:
        return uuid.UUID(bytes=base64.urlsafe_b64decode(_SIGNER.unsign(text) + "=="))
    except (BadSignature, binascii.Error, ValueError):
        return None
