"""Copies of a respondent's own answers by mail (rules 6.231 and 6.232).

    send(view, to=…, user_id=…)     the answers to the confirmed address of the sender's own account, a link
                                    to them to any other address
    opened(project, token)          the conversation that such a link shows

A stranger could type the address of another stranger. So a mail to such an address contains no text that a
user chose, except for the names of the community and of the survey. The mail counts as one of the community's
mails (rule 7.33), of which copies take at most a half.
"""

from __future__ import annotations

import binascii
import json
import re
import uuid
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.utils import dateformat
from django.utils.text import Truncator

from communities.ground import sealing
from communities.ground.errors import Conflict
from communities.ground.mail_addresses import keyed_hash
from communities.ground.transactions import in_transaction
from communities.services.mail import mail_sums, mails, recipients
from communities.services.mail.letters import Letter, compose
from surveys.engine.language import markup
from surveys.models import Project
from surveys.services.conversations.view import ConversationView
from surveys.services.representations.project import web_url

OWN = mails.declare("answers_copy", mails.Consent.CONFIRMED)
LINK = mails.declare("answers_link", mails.Consent.NONE)
PARAMETER = "_answers"  # The parameter of the page's address.
VALID_FOR = timedelta(days=30)
MOST_MAILS = 3  # One address gets at most this many mails about one project in PERIOD.
PERIOD = timedelta(days=7)
MAX_TOKEN = 300  # A token has at most this many characters.
MAX_NAME = 80  # characters
_ADDRESS = re.compile(r"[\w-]\.\w{2}|/|@")
_PURPOSE = "copies of answers"
_SKIPPED = "Skipped"


def own_address(*, user_id: int | None) -> str:
    """The confirmed address of a signed-in person's account; empty if there is none."""
    return (recipients.proven_address(user_id=user_id) if user_id is not None else None) or ""


@in_transaction
def send(view: ConversationView, *, to: str, user_id: int | None, at: datetime) -> None:
    """Mail the answers, or a link to them. `user_id` is the signed-in sender.

    Writes nothing to an address that wants no mails of the community, or has got MOST_MAILS: who typed it
    does not learn that. Refuses (Conflict) all addresses if the community has written too many mails today,
    and for tests, which send no mails.
    """
    if view.project.community.is_test:
        raise Conflict("This is a test: it sends no mails.")
    own = own_address(user_id=user_id)
    if own and to.lower() == own.lower():
        mails.write(_copy(view, to=own), kind=OWN, at=at, user_id=user_id)
        return
    community_id, kind = view.project.community_id, f"{LINK}:{view.project.pk}"
    address_hash = keyed_hash(to, community_id=community_id)
    kept_for_others = settings.UNCONFIRMED_MAILS_PER_COMMUNITY_AND_DAY // 2
    # Before the address is looked at: mails at once are counted together, and a refusal is the same for all.
    if mail_sums.lock(community_id=community_id, at=at) <= kept_for_others:
        raise Conflict(mail_sums.refusal(wanted=1, left=0))
    written = recipients.mail_counts(community_id=community_id, kind=kind, since=at - PERIOD)
    has_refused = recipients.refused_hashes(community_id=community_id, hashes=[address_hash])
    if has_refused or written[address_hash] >= MOST_MAILS:
        return
    mails.write(_link(view, to, address_hash, at), kind=kind, at=at, community_id=community_id)


def _copy(view: ConversationView, *, to: str) -> mails.Message:
    asked = [each for each in replace(view, escape=markup.escape).history() if each.block.asks]
    return compose(
        Letter(
            f"Your answers: {view.project.name}",
            [f"This is a copy of your answers to “{view.project.name}” of {view.project.community.name}."],
            facts=[(markup.plain(each.block.prompt), each.answer or _SKIPPED) for each in asked],
            closing=["You asked for it on the page of the survey."],
        ),
        to=to,
    )


def _link(view: ConversationView, to: str, address_hash: str, at: datetime) -> mails.Message:
    community, until = view.project.community, at + VALID_FOR
    unsubscribe_url = recipients.unsubscribe_url(recipients.Reader(community.pk, 0, address_hash))
    token = _token(view.project, view.conversation.pk, until)
    return compose(
        Letter(
            f"Answers to {_survey(view.project)}",
            [f"Somebody answered {_survey(view.project)} and wants a copy of the answers here."],
            action=("See the answers", f"{web_url(view.project)}?{PARAMETER}={token}"),
            closing=[
                f"The link works until {dateformat.format(until.astimezone(UTC), 'j F Y')}.",
                "If you do not know why you got it, ignore this mail.",
                f"No more mails of {community.name}: {unsubscribe_url}",
            ],
            headers=recipients.headers(unsubscribe_url),
        ),
        to=to,
    )


def _survey(project: Project) -> str:
    """The survey in words. A long name is cut, and one with an address in it is left out: nobody advertises
    with it.
    """
    name = Truncator(" ".join(project.name.split())).chars(MAX_NAME)
    named = "a survey" if _ADDRESS.search(project.name) else f"the survey “{name}”"
    return f"{named} of {project.community.name}"


def _token(project: Project, conversation_id: uuid.UUID, until: datetime) -> str:
    parts = [int(until.timestamp()), str(conversation_id)]
    sealed = sealing.seal(json.dumps(parts), purpose=_PURPOSE, row=project.slug)
    return urlsafe_b64encode(sealed).decode().rstrip("=")


def opened(project: Project, token: str, *, at: datetime) -> uuid.UUID | None:
    """Return the conversation of a link's token; None if the text is no token of this project, or
    is too old.
    """
    if not project.mail_copy or project.is_anonymous or len(token) > MAX_TOKEN:
        return None
    try:
        sealed = urlsafe_b64decode(token + "=" * (-len(token) % 4))
        until, conversation_id = json.loads(sealing.unseal(sealed, purpose=_PURPOSE, row=project.slug))
    except (sealing.Unreadable, binascii.Error, ValueError):
        return None
    return uuid.UUID(conversation_id) if at.timestamp() < until else None
