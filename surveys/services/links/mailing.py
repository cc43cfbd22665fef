"""Mails with personal links to members, and reminders to members who have not begun.

    preview(…)  whom a mail would reach, why it would not reach others, and how its reader will see it
    send(…)     write the mails, which the worker sends

An address gets at most MOST_MAILS mails in PERIOD about one project, from all senders and for all members
with the address. The address gets no mail after its reader has unsubscribed. An address that the member's
account has not proven gets our own text, with only the name of the community (rules 7.31 and 7.33).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet, TextChoices
from django.template import loader
from django.utils import dateformat

from communities.ground.actors import Actor
from communities.ground.errors import Conflict, refuse
from communities.ground.transactions import in_transaction
from communities.models import Mail
from communities.services.inviting.invitation_letters import is_plain_name
from communities.services.mail import mail_sums, mails
from communities.services.mail import recipients as communities
from communities.services.mail.mails import Message
from communities.services.tenants import member_search
from surveys.models import Conversation, PersonalLink, Project
from surveys.services.ground import lookup
from surveys.services.links import addresses, service
from surveys.services.representations.project import web_url

KIND = mails.declare("personal_link", mails.Consent.NONE)
MOST_MAILS = 3  # One address gets at most this many mails about one project in PERIOD.
PERIOD = timedelta(days=7)
LEAST_LEFT = timedelta(days=7)  # A link with less time left is not mailed; a new link is made.
LATELY = timedelta(days=1)
SHOWN = 50  # A preview shows at most this many names.
MAX_SUBJECT, MAX_TEXT = 150, 4_000  # The texts have at most this many characters.
PLACEHOLDERS = ("[name]", "[title]", "[community]")
_PLACEHOLDER = re.compile("|".join(map(re.escape, PLACEHOLDERS)))
NAMELESS = "there"  # The greeting then is “Hello there”.


class Who(TextChoices):
    """Which members to write to. All are present members."""

    ALL = "all", "All members"
    WITHOUT_LINK = "without_link", "Members who were given no link yet"
    NOT_BEGUN = "not_begun", "A reminder, to those who were mailed and have not begun"
    ADMINS = "admin", "Admins"
    CREATORS = "creator", "Creators"
    MEMBERS = "member", "Members who are neither"
    SEARCH = "search", "Members found by name or id"


@dataclass(frozen=True, slots=True)
class Choice:
    """The choice of recipients. `term` is the search text; `member_id` chooses one member only. Members who
    were reminded after `reminded_before` are left out.
    """

    who: str
    term: str = ""
    member_id: int | None = None
    reminded_before: datetime | None = None

    @property
    def is_reminder(self) -> bool:
        return self.who == Who.NOT_BEGUN


@dataclass(frozen=True, slots=True)
class Reach:
    """The number of chosen members, and the numbers of those who get no mail, by reason.

    `over_sum` are members who must wait because the community has used up today's mails to unconfirmed
    addresses. `unproven` are the members of `sent_now` who get our own text. `lately` counts the chosen
    members whose address got a mail about the project within LATELY.
    """

    chosen: int = 0
    without_address: int = 0
    unsubscribed: int = 0
    at_limit: int = 0
    over_sum: int = 0
    sent_now: int = 0
    unproven: int = 0
    lately: int = 0

    @property
    def reachable(self) -> int:
        return self.chosen - self.without_address - self.unsubscribed - self.at_limit

    @property
    def waiting(self) -> int:
        """The number of members who must wait because one sending writes a limited number of mails."""
        return self.reachable - self.over_sum - self.sent_now


def kind_of(project_id: int) -> str:
    """The kind of mails about one project in the outbox, where they are counted."""
    return f"{KIND}:{project_id}"


def default_text(project: Project, *, is_reminder: bool) -> tuple[str, str]:
    """The suggested subject and text."""
    noun = "poll" if project.is_poll else "survey"
    if is_reminder:
        return "Reminder: [title]", f"Hello [name],\n\nyou can still answer our {noun} “[title]”."
    return "[title]", f"Hello [name],\n\n[community] asks you to answer its {noun} “[title]”."


def fixed_text(project: Project, *, name: str, is_reminder: bool) -> tuple[str, str]:
    """Return the subject and text for unproven addresses. No user chose any word of them, except for the
    community's name.
    """
    noun, community = "poll" if project.is_poll else "survey", project.community.name
    greeting = f"Hello {name}," if is_plain_name(name) else "Hello,"
    if is_reminder:
        return f"Reminder of {community}", f"{greeting}\n\nyou can still answer a {noun} of {community}."
    return f"A {noun} of {community}", f"{greeting}\n\n{community} asks you to answer a {noun}."


def counts(*, project: Project, at: datetime) -> Mapping[str, int]:
    """The number of members in each of the choices, without the search."""
    return {who: _chosen(project, Choice(who), at).count() for who in Who.values if who != Who.SEARCH}


def first_chosen(*, project: Project, choice: Choice, at: datetime) -> list[communities.Recipient]:
    """The first SHOWN of the chosen members, in the order of their ids; members without an address are
    included.
    """
    ids = list(_chosen(project, choice, at).values_list("pk", flat=True)[:SHOWN])
    people = communities.recipients(community_id=project.community_id, member_ids=ids)
    return [people[each] for each in ids if each in people]


@in_transaction
def make_links(*, actor: Actor, project_id: int, choice: Choice, at: datetime) -> int:
    """Make links to hand out, without a mail, and return the number of new links.

    The first `service.MOST_AT_ONCE` chosen members without a link that is valid for LEAST_LEFT get one.
    """
    service.require_owner(actor=actor, project_id=project_id)
    project = lookup.in_community(
        community_id=actor.community_id, project_id=project_id, lock="FOR NO KEY UPDATE"
    )
    usable = PersonalLink.objects.filter(
        project=project, member=OuterRef("pk"), revoked_at__isnull=True, expires_at__gt=at + LEAST_LEFT
    )
    missing = _chosen(project, choice, at).exclude(Exists(usable))
    ids = list(missing.values_list("pk", flat=True)[: service.MOST_AT_ONCE])
    present = communities.keep_present(community_id=actor.community_id, member_ids=ids)
    return len(service.make_with_attributes(actor=actor, project=project, member_ids=sorted(present), at=at))


def preview(
    *, actor: Actor, project_id: int, choice: Choice, subject: str, text: str, at: datetime
) -> tuple[Reach, Message | None]:
    """The members whom a mail would reach, and the mail with a placeholder address.

    The mail is None if it would reach nobody. It is addressed to the first member who would get this text,
    else to the first member. Raises NotFound, and Forbidden for actors who may not make links. Nothing is
    stored, and the members are read only once.
    """
    project = service.require_owner(actor=actor, project_id=project_id)
    left = mail_sums.left(community_id=project.community_id, at=at)
    reach, people = _reached(project, choice, at, left=left)
    if not people:
        return reach, None
    person = next((each for each in people if each.is_proven), people[0])
    url = f"{web_url(project)}?{addresses.PARAMETER}=…"
    message = _message(
        project,
        person,
        url=url,
        unsubscribe_url="…",
        until=at + service.VALID_FOR,
        words=_words(project, person, choice, subject, text),
    )
    return reach, replace(message, to=person.shown)


@in_transaction
def send(*, actor: Actor, project_id: int, choice: Choice, subject: str, text: str, at: datetime) -> Reach:
    """Write a mail with a personal link to each chosen member whom a mail reaches, to at most
    `service.MOST_AT_ONCE` members.

    The mail contains the member's latest link if that link is valid for LEAST_LEFT, else a new link. Refuses
    an empty subject or text. Refuses (Conflict) a project that is neither open nor about to open, and a
    sending without any recipient because the community's limit for today is used up. Of two simultaneous
    sendings the second waits, so that both limits are kept. Returns the recipients' counts.
    """
    service.require_owner(actor=actor, project_id=project_id)
    project = lookup.in_community(
        community_id=actor.community_id, project_id=project_id, lock="FOR NO KEY UPDATE"
    )
    if not (project.is_live_at(at) or project.is_pending_at(at)):
        raise Conflict("Open the project before you send links to it.")
    require_words(subject, text)
    community_id = project.community_id
    left = mail_sums.lock(community_id=community_id, at=at)
    reach, chosen = _reached(project, choice, at, left=left)
    if reach.over_sum and not chosen:
        raise Conflict(mail_sums.refusal(wanted=reach.over_sum, left=left))
    present = communities.keep_present(
        community_id=community_id, member_ids=[each.member_id for each in chosen]
    )
    people = [each for each in chosen if each.member_id in present]
    unproven = sum(not each.is_proven for each in people)
    mail_sums.take(community_id=community_id, wanted=unproven, at=at)
    reach = replace(reach, sent_now=len(people), unproven=unproven)
    links = _links_for(actor, project, sorted(present), at)
    for person in people:
        link = links[person.member_id]
        message = _message(
            project,
            person,
            url=addresses.url_of(project=project, link_id=link.pk),
            unsubscribe_url=communities.unsubscribe_url(
                communities.Reader(community_id, person.member_id, person.address_hash)
            ),
            until=link.expires_at,
            words=_words(project, person, choice, subject, text),
        )
        mails.write(
            message,
            kind=kind_of(project.pk),
            at=at,
            community_id=community_id,
            user_id=person.user_id,
            is_counted=True,
        )
    moment = {"mailed_at": at, "reminded_at": at} if choice.is_reminder else {"mailed_at": at}
    PersonalLink.objects.filter(pk__in=[link.pk for link in links.values()]).update(**moment)
    if people:
        after = {"mails": len(people), "reminder": choice.is_reminder}
        service.record_mails(project, actor=actor, after=after, at=at)
    return reach


# --- Whom ---------------------------------------------------------------------------------------------


def _reached(
    project: Project, choice: Choice, at: datetime, *, left: int
) -> tuple[Reach, list[communities.Recipient]]:
    """The members whom a mail would reach, and the recipients of one sending; at most `left` have unproven
    addresses.
    """
    counts, people = Counter[str](), list[communities.Recipient]()
    kind, community_id = kind_of(project.pk), project.community_id
    written, lately = (
        communities.mail_counts(community_id=community_id, kind=kind, since=at - period)
        for period in (PERIOD, LATELY)
    )
    for each in communities.read(_chosen(project, choice, at), community_id=community_id):
        counts["chosen"] += 1
        counts["lately"] += each.address_hash in lately
        if not each.email:
            counts["without_address"] += 1
        elif each.has_refused:
            counts["unsubscribed"] += 1
        elif written[each.address_hash] >= MOST_MAILS:
            counts["at_limit"] += 1
        else:
            written[each.address_hash] += 1
            if len(people) == service.MOST_AT_ONCE:
                continue
            if not each.is_proven and counts["unproven"] == left:
                counts["over_sum"] += 1
                continue
            counts["unproven"] += not each.is_proven
            people.append(each)
    return Reach(**counts, sent_now=len(people)), people


def _chosen(project: Project, choice: Choice, at: datetime) -> QuerySet[Any, Any]:
    """The chosen members with their addresses, in the order of their ids."""
    community_id = project.community_id
    members = communities.with_addresses(community_id=community_id).order_by("pk")
    if choice.member_id is not None:
        return members.filter(pk=choice.member_id)
    links = PersonalLink.objects.filter(project=project, member=OuterRef("pk"))
    match choice.who:
        case Who.ALL:
            return members
        case Who.WITHOUT_LINK:
            # Members with a revoked link are excluded, too; otherwise the next sending would replace the
            # link.
            has_one = links.filter(Q(revoked_at__isnull=False) | Q(expires_at__gt=at))
            return members.exclude(Exists(has_one))
        case Who.NOT_BEGUN:
            mailed = members.filter(Exists(links.filter(mailed_at__isnull=False, revoked_at__isnull=True)))
            if choice.reminded_before is not None:
                mailed = mailed.exclude(Exists(links.filter(reminded_at__gte=choice.reminded_before)))
            if project.is_anonymous:  # On an anonymous project, nobody can know who has begun.
                return mailed
            begun = Conversation.objects.filter(project=project, user=OuterRef("user_id"))
            return mailed.exclude(Exists(begun))
        case Who.SEARCH:
            found = member_search.find_members(community_id=community_id, term=choice.term.strip())
            return members.filter(pk__in=found if choice.term.strip() else [])
    return members.filter(access=choice.who)


def _links_for(
    actor: Actor, project: Project, member_ids: Sequence[int], at: datetime
) -> Mapping[int, PersonalLink]:
    """Return the latest link of each member if that link is valid long enough, else a new link."""
    usable = PersonalLink.objects.filter(
        project=project, member_id__in=member_ids, revoked_at__isnull=True, expires_at__gt=at + LEAST_LEFT
    )
    links = {link.member_id: link for link in usable.order_by("created_at", "pk")}
    missing = [each for each in member_ids if each not in links]
    made = service.make_with_attributes(actor=actor, project=project, member_ids=missing, at=at)
    return {**links, **{link.member_id: link for link in made}}


# --- What ---------------------------------------------------------------------------------------------


def _message(
    project: Project,
    person: communities.Recipient,
    *,
    url: str,
    unsubscribe_url: str,
    until: datetime,
    words: tuple[str, str],
) -> Message:
    subject, text = words
    in_one_line = " ".join(subject.split())[: MAX_SUBJECT * 3]
    filled = text.strip()
    context = {
        "subject": in_one_line,
        "text": filled,
        "paragraphs": [part.split("\n") for part in filled.split("\n\n")],
        "label": "Vote" if project.is_poll else "Answer",
        "url": url,
        "until": dateformat.format(until.astimezone(UTC), "j F Y"),
        "is_anonymous": project.is_anonymous,
        "community": project.community.name,
        "unsubscribe_url": unsubscribe_url,
    }
    return Message(
        to=person.email,
        subject=in_one_line,
        text=loader.render_to_string("mail/personal_link.txt", context),
        html=loader.render_to_string("mail/personal_link.html", context),
        headers=communities.headers(unsubscribe_url),
    )


def _words(
    project: Project, person: communities.Recipient, choice: Choice, subject: str, text: str
) -> tuple[str, str]:
    """Return the subject and text for one person. An account with a proven address gets the author's text."""
    if not person.is_proven:
        return fixed_text(project, name=person.name, is_reminder=choice.is_reminder)
    return _filled(subject, project, person), _filled(text, project, person)


def _filled(text: str, project: Project, person: communities.Recipient) -> str:
    """The text with its placeholders filled in; placeholders inside a name or a title stay unchanged."""
    values = dict(
        zip(PLACEHOLDERS, (person.name or NAMELESS, project.name, project.community.name), strict=True)
    )
    return _PLACEHOLDER.sub(lambda found: values[found[0]], text.replace("\r\n", "\n"))


def require_words(subject: str, text: str) -> None:
    """Refuse an empty subject or text."""
    for field, value in (("subject", subject), ("text", text)):
        if not value.strip():
            refuse(field, "blank", f"Write a {field}.")


# --- How far they are ------------------------------------------------------------------------------------


def progress(*, project: Project, user_ids: Collection[int]) -> Mapping[int, bool]:
    """The users who have begun, and whether each has completed; empty on anonymous projects."""
    if project.is_anonymous:
        return {}
    begun = Conversation.objects.filter(project=project, user_id__in=user_ids).values_list(
        "user_id", "completed_at"
    )
    told: dict[int, bool] = {}
    for user_id, completed_at in begun:
        if user_id is not None:
            told[user_id] = told.get(user_id, False) or completed_at is not None
    return told


def outcomes(*, project: Project) -> Mapping[str, int]:
    """How many of the mails about a project were sent, wait, or were given up, in the last 30 days."""
    counts = communities.outcomes(community_id=project.community_id, kind=kind_of(project.pk))
    waiting = counts.get(Mail.Status.PENDING, 0) + counts.get(Mail.Status.FAILED, 0)
    return {
        "sent": counts.get(Mail.Status.SENT, 0),
        "waiting": waiting,
        "given_up": counts.get(Mail.Status.ABANDONED, 0),
    }


def last_outcomes(*, project: Project, user_ids: Collection[int]) -> Mapping[int, str]:
    """The `Mail.Status` of the latest mail about a project to each of these users who got a mail."""
    return communities.last_outcomes(
        community_id=project.community_id, kind=kind_of(project.pk), user_ids=user_ids
    )
