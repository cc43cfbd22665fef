"""Two communities with a row of every model, with a unique word in all texts, and callers of every role.

The ids of the first community occur in no other row and in no text by chance, because its sequences start
at numbers of their own. So an answer or a row that names one of its objects can be found by its id.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cached_property
from typing import Any
from uuid import UUID, uuid4

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.apps import apps
from django.contrib.auth.models import Group
from django.db import connection
from django.test import Client
from django.utils import timezone

from communities.ground.mail_addresses import keyed_hash
from communities.models import (
    AuditEntry,
    ChatInstallation,
    ChatTask,
    Community,
    CommunitySettings,
    IdempotentRequest,
    Invitation,
    Mail,
    MailRefusal,
    MailSum,
    Member,
    ProjectGrant,
    SourceToken,
    User,
)
from communities.services.mail import recipients
from surveys import models as surveys
from surveys.models.project import new_short_code
from tests.factories import (
    DeliveryFactory,
    EarnedAchievementFactory,
    EventFactory,
    IdentityFactory,
    MemberFactory,
    SourceCheckFactory,
    VerifiedSourceFactory,
    WebhookFactory,
)
from tests.support import pictures
from tests.support.accounts import sign_in
from tests.support.api_requests import new_address
from tests.support.caller import Caller
from tests.support.dumps import dump
from tests.support.moments import NOON
from xp.models import Achievement, RoleGrant

# The roles in the order of the tables' columns. All but the last two belong to the first community.
ROLES = (
    "visitor",  # no session, and no key
    "nobody",  # staff of no community
    "member",
    "other creator",  # of another project
    "creator",
    "admin",
    "foreign admin",
    "superuser",
)
FIRST_ID = 731_000_000
FOR_ALL = {"template_id"}  # ids that all communities have
AN_HOUR = 3600.0
A_YEAR = timedelta(days=365)


@dataclass
class FilledCommunity:
    """A community with its objects. Every text in it contains `word`."""

    word: str
    community: Community
    callers: dict[str, Caller]
    ids: dict[str, Any] = field(default_factory=dict)  # by the name of an argument of an address

    @property
    def path(self) -> str:
        """Of the community in the interface."""
        return f"/v1/communities/{self.community.pk}"


def filled_community(word: str, *, number: int) -> FilledCommunity:
    """A community with an admin, a creator, who made its project, another creator, and members."""
    admin = Caller("admin", community=_community(word, number))
    callers = {
        "admin": admin,
        "creator": admin.beside("creator"),
        "other creator": admin.beside("creator"),
        "member": admin.beside("member"),
    }
    for role, caller in callers.items():
        _become_staff(caller, role, word)
    filled = FilledCommunity(word, admin.community, callers)
    filled.ids["community_id"] = admin.community.pk
    person = MemberFactory.create(
        community=filled.community,
        nick=f"Nick {word}",
        email=f"{word}@example.org",
        user__name=f"Name {word}",
        user__email=f"account-{word}@example.org",
    )
    for add in (
        _person,
        _mails_and_pictures,
        _access,
        _projects,
        _responses,
        _rewards,
        _webhooks,
        _chat,
        _records,
    ):
        filled.ids |= add(filled, person, word)
    return filled


def _community(word: str, number: int) -> Community:
    community: Community = Community.objects.create(
        id=number,
        name=f"Club {word}",
        tier="custom",
        bot_credits=100,
        topics=[word],
        icon_url=_url(word),
    )
    CommunitySettings.objects.create(
        community=community, thank_you_custom_message=word, xp_name=f"XP {word}", time_zone="Asia/Tokyo"
    )
    return community


def _become_staff(caller: Caller, role: str, word: str) -> None:
    name = f"{role} {word}"
    User.objects.filter(pk=caller.user.pk).update(is_staff=True, name=name, username=name.replace(" ", "-"))
    Member.objects.filter(user=caller.user).update(nick=f"The {name}")
    caller.community.api_keys.filter(user=caller.user).update(name=f"Key of {name}")
    caller.user.refresh_from_db()


def _url(word: str) -> str:
    return f"https://{word}.example.org/"


Ids = dict[str, Any]


def _person(filled: FilledCommunity, person: Member, word: str) -> Ids:
    user = person.user
    EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
    authenticator = Authenticator.objects.create(user=user, type="totp", data={"secret": word})
    session = UserSession.objects.create(user=user, ip="192.0.2.1", session_key=word, user_agent=word)
    for fields in ({"proven_at": NOON}, {"provider": "web", "community": filled.community}):
        IdentityFactory.create(user=user, platform_id=f"id-{word}", name=f"Account {word}", **fields)
    token = f"token-of-{word}"
    invitation = Invitation.objects.create(
        community=filled.community,
        email=f"invited@{word}.example.org",
        name=f"Invited {word}",
        digest=hashlib.sha256(token.encode()).hexdigest(),
        created_at=NOON,
        expires_at=timezone.now() + A_YEAR,
    )
    Mail.objects.create(
        community=filled.community,
        user=user,
        kind="account/email/invitation",
        status="abandoned",
        last_error=word,
        created_at=NOON,
    )
    return {
        "session_id": session.pk,
        "author_id": filled.callers["creator"].user.pk,
        "member_id": person.pk,
        "platform_id": f"id-{word}",
        "user_id": person.user_id,
        "authenticator_id": authenticator.pk,
        "invitation_id": invitation.pk,
        "invitation_token": token,
        "signed": recipients.unsubscribe_url(_reader(person)).split("/")[-2],
    }


def _reader(person: Member) -> recipients.Reader:
    address_hash = keyed_hash(person.email, community_id=person.community_id)
    return recipients.Reader(person.community_id, person.pk, address_hash)


def _mails_and_pictures(filled: FilledCommunity, person: Member, word: str) -> Ids:
    community = filled.community
    MailRefusal.objects.create(community=community, address_hash=f"hash-{word}", refused_at=NOON)
    MailSum.objects.create(community=community, day=NOON.date(), mails=1)
    return {"name": pictures.copied(community.pk, f"{_url(word)}picture.png").name}


def _access(filled: FilledCommunity, person: Member, word: str) -> Ids:
    key = filled.community.api_keys.get(user=filled.callers["other creator"].user)
    source = VerifiedSourceFactory.create(community=filled.community, label=f"Source {word}", target=word)
    check = SourceCheckFactory.create(source=source, identity__user=person.user, identity__name=word)
    SourceToken.objects.create(identity=check.identity, sealed=word.encode())
    request = IdempotentRequest.objects.create(
        claim=hashlib.sha256(word.encode()).hexdigest(), fingerprint=word, body=word.encode(), expires_at=NOON
    )
    return {
        "key_id": key.pk,
        "apikey_id": key.pk,
        "verifiedsource_id": source.pk,
        "idempotentrequest_id": request.pk,
        "group_id": Group.objects.create(name=word).pk,
    }


def _script(word: str) -> list[dict[str, Any]]:
    options = [{"value": f"{each} {word}", "score_values": {word: 1}} for each in ("One", "Two")]
    return [
        {"type": "single_punch", "name": "which", "prompt": f"Which {word}?", "options": options},
        {"type": "open_text", "name": "why", "prompt": f"Why {word}?"},
    ]


def _projects(filled: FilledCommunity, person: Member, word: str) -> Ids:
    """A project of the creator that is open to all, a draft, and a project with a running conversation."""
    web = {"delivery": {"audience": {"participation": "open_web"}}}
    make = filled.callers["creator"].make_open
    made = make(
        *_script(word), name=f"Survey {word}", scoring={"enabled": True, "buckets": [{"name": word}]}, **web
    )
    spoken = make(
        {"type": "content_block", "prompt": f"Hello {word}"}, *_script(word), name=f"Talk {word}", **web
    )
    draft = filled.callers["creator"].make(*_script(word), name=f"Draft {word}")
    which, why = (block for block in made["script"]["blocks"] if block["name"] in ("which", "why"))
    project = surveys.Project.objects.get(pk=made["id"])
    surveys.Project.objects.filter(pk=spoken["id"]).update(share_results=True)
    code = new_short_code()
    surveys.Project.objects.filter(pk=project.pk).update(short_code=code)
    surveys.ScriptDraft.objects.create(
        project=project, user=person.user, blocks=f'["{word}"]', revision=1, saved_at=NOON
    )
    surveys.PublicMessage.objects.create(project=project, channel_id=word)
    surveys.SummaryMessage.objects.create(project=project, opening=1, channel_id=word)
    surveys.ShownFigures.objects.create(project=project, sealed=word.encode())
    surveys.Dashboard.objects.create(project=project, title=word, block_ids=[which["id"]])
    surveys.QuotaCount.objects.create(project=project, key=word[:32], filled=1)
    surveys.ProofCount.objects.create(project=project, day=date(2026, 1, 31), asked=1)
    ProjectGrant.objects.create(member=person, project_id=project.pk, level="read")
    reminder = surveys.Reminder.objects.create(
        project=project, planned_by=person.user, due_at=timezone.now() + A_YEAR, error=word
    )
    job = surveys.Generation.objects.create(
        community=filled.community, request={"intent": word}, status="failed", error=word, created_at=NOON
    )
    return {
        "project_id": int(made["id"]),
        "slug": project.slug,
        "code": code,
        "token": surveys.Project.objects.get(pk=spoken["id"]).results_token,
        "draft_id": int(draft["id"]),
        "talk_id": int(spoken["id"]),
        "block_id": which["id"],
        "card": f"question-{which['id']}",
        "text_id": why["id"],
        "option_id": which["options"][0]["id"],
        "job_id": job.pk,
        "reminder_id": reminder.pk,
    }


def _responses(filled: FilledCommunity, person: Member, word: str) -> Ids:
    """A completed response of the person, and a running conversation."""
    creator, ids = filled.callers["creator"], filled.ids
    body = {"member_id": str(person.pk)}
    response = creator.post(f"/projects/{ids['project_id']}/conversations", body).json()["id"]
    answer = {"block_id": ids["block_id"], "option_id": ids["option_id"]}
    creator.post(f"/conversations/{response}/answers", answer)
    value = f"Answer {word}"
    done = creator.post(
        f"/conversations/{response}/answers", {"block_id": ids["text_id"], "value": value}
    ).json()
    assert done["status"] == "completed", done
    running = creator.post(f"/projects/{ids['project_id']}/conversations", {}).json()["id"]
    creator.post(f"/conversations/{running}/answers", answer)
    talk = creator.post(f"/projects/{ids['talk_id']}/conversations", {}).json()["id"]
    link = creator.post(f"/projects/{ids['project_id']}/links", body).json()["id"]
    surveys.UnsentAnswer.objects.create(conversation_id=running, block_id=ids["text_id"], text=word)
    project = surveys.Project.objects.get(pk=ids["project_id"])
    analysis = surveys.Analysis.objects.create(
        project=project, revision=0, changes=0, created_at=NOON, status="failed", error=f"Error {word}"
    )
    surveys.ResultsCount.objects.create(
        project=project, part=word, revision=0, changes=0, created_at=NOON, status="failed", error=word
    )
    surveys.ResponseFile.objects.create(
        project=project, sealed=b"x" * 40, row_count=1, created_at=NOON, status="failed", error=word
    )
    surveys.Codebook.objects.create(block_id=ids["text_id"], project=project, version=1)
    theme = surveys.Theme.objects.create(block_id=ids["text_id"], title=f"Theme {word}", since=1)
    surveys.Reading.objects.create(
        conversation_id=response,
        block_id=ids["text_id"],
        themes=[theme.pk],
        quote=value,
        version=1,
        generated_by="local",
    )
    surveys.ResponseDeletion.objects.create(
        response_id=running, project=project, deletes_at=timezone.now() + A_YEAR
    )
    place = {"community_id": filled.community.pk, "project_id": project.pk}
    for fields in ({"scope": word}, {"scope": f"other {word}"}):
        surveys.FiredAction.objects.create(project=project, action="xp", **fields)
    surveys.DeletedResponse.objects.create(response_id=uuid4(), changed_in=1, due_at=NOON, **place)
    surveys.SealedGifts.objects.create(due_at=NOON, sealed=word.encode(), **place)

    return {
        "response_id": UUID(response),
        "template_id": "event-feedback",
        "conversation_id": UUID(running),
        "talking_id": UUID(talk),
        "link_id": UUID(link),
        "analysis_id": analysis.pk,
        "theme_id": theme.pk,
    }


def _rewards(filled: FilledCommunity, person: Member, word: str) -> Ids:
    filled.callers["admin"].post(f"/members/{person.pk}/xp", {"amount": 5, "note": f"Note {word}"})
    EarnedAchievementFactory.create(member=person, number=1, name=f"Badge {word}", image_url=_url(word))
    achievement = Achievement.objects.create(
        community=filled.community,
        number=FIRST_ID + filled.community.pk % 1000,
        name=f"Achievement {word}",
        image_url=_url(word),
        role_id=word,
    )
    grant = RoleGrant.objects.create(
        member=person,
        community=filled.community,
        role_id=f"role-{word}",
        project_name=word,
        created_at=NOON,
    )
    return {
        "achievement_id": achievement.pk,
        "achievement_number": achievement.number,
        "rolegrant_id": grant.pk,
    }


def _webhooks(filled: FilledCommunity, person: Member, word: str) -> Ids:
    fields = {"community": filled.community, "url": _url(word), "project_ids": [filled.ids["project_id"]]}
    webhook = WebhookFactory.create(name=f"Hook {word}", **fields)
    deleted = WebhookFactory.create(
        name=f"Deleted {word}", is_active=False, was_active=True, deleted_at=timezone.now(), **fields
    )
    event = EventFactory.create(community=filled.community, body=f'{{"word": "{word}"}}')
    delivery = DeliveryFactory.create(
        webhook=webhook, event=event, status="abandoned", due_at=None, response_body=word
    )
    return {
        "webhook_id": webhook.pk,
        "deleted_webhook_id": deleted.pk,
        "event_id": event.pk,
        "delivery_id": delivery.pk,
    }


def _chat(filled: FilledCommunity, person: Member, word: str) -> Ids:
    snapshot = {
        "id": str(filled.community.pk),
        "name": f"Server {word}",
        "bot_id": "1",
        "bot_role_ids": [],
        "roles": [],
        "channels": [],
    }
    ChatInstallation.objects.create(
        community=filled.community, status="connected", snapshot=snapshot, snapshot_at=NOON
    )
    task = ChatTask.objects.create(
        community=filled.community,
        kind="xp.grant_role",
        subject=f"0-{word}",
        status="abandoned",
        error=f"Error {word}",
        created_at=NOON,
    )
    return {"task_id": task.pk}


def _records(filled: FilledCommunity, person: Member, word: str) -> Ids:
    entry = AuditEntry.objects.create(
        id=uuid4(),
        community=filled.community,
        happened_at=NOON,
        source="admin",
        actor_name=f"Person {word}",
        action="project.updated",
        object_type="project",
        object_id=str(filled.ids["project_id"]),
        project_id=filled.ids["project_id"],
        object_name=f"Survey {word}",
        after={"name": f"Survey {word}"},
    )
    return {"auditentry_id": entry.pk, "entry_id": entry.pk}


@dataclass
class TwoCommunities:
    """A community and another one, with a browser and an API key for each role.

    `rows` are the first community's rows by table, before any request; `all_rows` are those of both.
    """

    own: FilledCommunity
    other: FilledCommunity
    browsers: dict[str, Client]
    keys: dict[str, str]
    rows: dict[str, set[str]]
    all_rows: dict[str, set[str]]

    def harmed_by(self, changes: Mapping[str, set[str]]) -> list[str]:
        """The tables in which the first community's rows were changed, or a new row names its objects."""
        return [
            table
            for table, rows in changes.items()
            if rows & self.rows[table]
            or any(self.names.search(row) for row in rows - self.all_rows[table] if table != "django_session")
        ]

    @cached_property
    def names(self) -> re.Pattern[str]:
        """Finds the first community's word, or an id of its objects."""
        ids = {str(value) for name, value in self.own.ids.items() if name not in FOR_ALL}
        return re.compile("|".join([self.own.word, *(rf"\b{re.escape(each)}\b" for each in sorted(ids))]))

    def hidden_from(self, role: str) -> tuple[str, ...]:
        """The words that no response to this role may contain."""
        if role == "superuser":
            return ()
        if role == "foreign admin":
            return (self.own.word,)
        return (self.other.word, self.own.word) if role in ("visitor", "nobody") else (self.other.word,)


@contextmanager
def _sequences_of_their_own() -> Iterator[None]:
    """Give the next rows of each table ids that no other table uses."""
    with connection.cursor() as cursor:
        names = [
            each["name"]
            for model in apps.get_models()
            for each in connection.introspection.get_sequences(cursor, model._meta.db_table)
        ]
        cursor.execute("SELECT schemaname || '.' || sequencename, last_value FROM pg_sequences")
        before = dict(cursor.fetchall())
        for number, name in enumerate(sorted(names)):
            cursor.execute("SELECT setval(%s, %s)", [name, FIRST_ID + 100_000 * (number + 1)])
    yield
    with connection.cursor() as cursor:
        for name in names:
            last = before[f"public.{name}"]
            cursor.execute("SELECT setval(%s, %s, %s)", [name, last or 1, last is not None])


@contextmanager
def two_communities() -> Iterator[TwoCommunities]:
    """Both communities with callers of all roles. Afterwards the sequences continue where they were."""
    with _sequences_of_their_own():
        own = filled_community("quokkavale", number=731_000_000_000_001)
        rows = dump()
        other = filled_community("wombatmoor", number=732_000_000_000_002)
        outsiders = {role: _outsider(role, own.community) for role in ("nobody", "superuser")}
        callers = {**own.callers, **outsiders, "foreign admin": other.callers["admin"]}
        browsers = {role: Client(REMOTE_ADDR=new_address()) for role in ROLES}
        for role, caller in callers.items():
            sign_in(browsers[role], caller.user, at=time.time() + AN_HOUR)  # stays fresh through all tests
        keys = {role: caller.secret for role, caller in callers.items()}
        yield TwoCommunities(own, other, browsers, keys, rows, dump())


def _outsider(role: str, community: Community) -> Caller:
    """Staff who are no member of a community. They have a key of it all the same."""
    caller = Caller("admin", community=community)
    community.members.filter(user=caller.user).delete()
    superuser = role == "superuser"
    User.objects.filter(pk=caller.user.pk).update(is_staff=True, is_superuser=superuser, name=role)
    caller.user.refresh_from_db()
    return caller
