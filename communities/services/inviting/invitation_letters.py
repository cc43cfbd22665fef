"""The mail of an invitation. The mail is sent to a stranger, so it contains only plain names of people."""

from __future__ import annotations

import re
from datetime import datetime

from django.conf import settings
from django.urls import reverse

from communities.ground.mail_addresses import keyed_hash
from communities.models import Invitation, Member
from communities.services.mail import mails, recipients
from communities.services.mail.letters import Letter, compose
from communities.services.people.members import display_name

KIND = mails.declare("account/email/invitation", mails.Consent.NONE)
MAX_NAME = 60  # The name in a greeting has at most this many characters.
# The words for a person with each access.
AS = {"member": "a member", "creator": "a creator", "admin": "an admin"}
# An invitation may give access to projects, too: the sentence for each level. Strangers do not read the name
# of a project.
GIVES = {
    "read": "You could read the results of one of its projects.",
    "edit": "You could change one of its projects.",
    "own": "One of its projects would be yours, too.",
}
GIVES_ALL = "You could read the results of all its projects."
# A plain name consists of words with letters, as in Dr. Ada O'Neil.
_PLAIN_NAME = re.compile(r"[^\W\d_]+\.?(?:[ '’-]+[^\W\d_]+\.?)*")


def is_plain_name(name: str) -> bool:
    """Whether a name may be used in a mail to a stranger: it is short, and programs would not make it a
    link.
    """
    return len(name) <= MAX_NAME and _PLAIN_NAME.fullmatch(name) is not None


def inviter_of(invitation: Invitation) -> str:
    """The name of the inviter, as the community knows them; empty if they are gone or the name is not plain.

    The mail is sent to a stranger, and people choose their names themselves.
    """
    if invitation.created_by_id is None:
        return ""
    name = display_name(community_id=invitation.community_id, user_id=invitation.created_by_id)
    return name if is_plain_name(name) else ""


def gives(invitation: Invitation) -> str:
    """A sentence about what an invitation gives besides the membership; empty if it gives nothing more."""
    if not invitation.granted_level:
        return ""
    return GIVES_ALL if invitation.granted_project_id is None else GIVES[invitation.granted_level]


def send(invitation: Invitation, *, token: str, at: datetime) -> None:
    """Write the mail; the caller has counted it (`mail_sums`)."""
    community, inviter = invitation.community, inviter_of(invitation)
    address_hash = keyed_hash(invitation.email, community_id=community.pk)
    unsubscribe_url = recipients.unsubscribe_url(
        recipients.Reader(community.pk, invitation.member_id or 0, address_hash)
    )
    can = {
        Member.Access.MEMBER: "You can answer its surveys and polls.",
        Member.Access.CREATOR: "You can make surveys and polls there.",
        Member.Access.ADMIN: "You can do everything there, as its other admins can.",
    }
    letter = Letter(
        f"{inviter or community.name} invites you to {community.name}",
        [
            f"Hello {invitation.name}," if is_plain_name(invitation.name) else "Hello,",
            f"{inviter or 'An admin'} invites you to be {AS[invitation.access]} of {community.name} on "
            f"Colloquy. {can[Member.Access(invitation.access)]} {gives(invitation)}".strip(),
        ],
        action=("Open the invitation", settings.BASE_URL + reverse("account_invitation", args=[token])),
        closing=[
            f"The invitation is for {invitation.email} and works for 14 days.",
            "If you do not know why you got it, ignore this mail.",
            f"No more mails of {community.name}: {unsubscribe_url}",
        ],
        headers=recipients.headers(unsubscribe_url),
    )
    mails.write(
        compose(letter, to=invitation.email), kind=KIND, at=at, community_id=community.pk, is_counted=True
    )
