"""A person with data in every part of a community, and the values that could identify them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import transaction
from django.db.models import Model

from communities.ground.actors import ActingKey, Actor
from communities.ground.audit_actions import Action
from communities.models import ApiKey, Community, Member, ProjectGrant, User
from communities.services.trail import audit
from surveys.models import Project, Reminder
from surveys.services.ai_work import draft_generation
from surveys.services.conversations import admission, gifts
from surveys.services.conversations import service as conversations
from surveys.services.drafts import service as drafts
from surveys.services.ground import anonymity
from surveys.services.people import service as people
from tests.factories import ApiKeyFactory, IdentityFactory, MemberFactory, UserFactory
from tests.support.caller import CHOICE, TEXT, Caller
from tests.support.moments import LUNCHTIME
from tests.support.surveys import scenario
from xp.models import RoleGrant, XpEntry
from xp.services import ledger

AT = LUNCHTIME.replace(microsecond=0)
USER_ID, MEMBER_ID = 7_770_001_117, 8_880_002_228
CHAT_ID, EXTERNAL_ID, NAME, NICK = "9990003339", "crm-55500055", "Ann Onymous", "Annikin"
EMAIL, USERNAME, AVATAR = "ann@harbour.example", "ann.at.harbour", "https://pictures.example/ann.png"
KEY_NAME, KEY_WORDS, KEY_PREFIX = "Key of the harbour", "For the harbour's page", "cq_live_HaRb0u"
DIGESTS = ("d1" * 32, "d2" * 32)
PASSWORD = "!a-password-that-nobody-knows"
WRITTEN, NOTE, DRAFTED = "Because of the sea.", "For help at the harbour", "Whence do the gulls come?"
ASKED = "Find out who feeds the gulls"
# The only remaining data of the person: the event that reports the erasure.
ERASED = {"webhooks_event": {str(MEMBER_ID)}}
GIVES_XP: dict[str, Any] = {
    "type": "action_block",
    "prompt": "Well done.",
    "action_kind": "give_xp",
    "action_config": {"xp_amount": 7},
}
ROLE = {"action_kind": "give_role", "action_config": {"role_id": "1187", "fire_scope": "session"}}
AUDIENCE = {"delivery": {"audience": {"participation": "open_web"}}}
REWARDS = {"rewards": {"use_xp": True, "achievement_enabled": True, "discord_role_id": "1188"}}


@dataclass
class Person:
    """`told` are values that the interface shows, `kept` others; `running` is an open conversation.

    `private` are the data of their sign-in, which no community reads (rule 7.29).
    """

    member: Member
    projects: list[dict[str, Any]] = field(default_factory=list)
    running: list[Any] = field(default_factory=list)

    told = (
        *(str(USER_ID), str(MEMBER_ID), CHAT_ID, EXTERNAL_ID, NAME, NICK, AVATAR),
        *(KEY_NAME, KEY_WORDS, KEY_PREFIX, NOTE, DRAFTED, ASKED),
    )

    private = (EMAIL, USERNAME)

    @property
    def kept(self) -> list[str]:
        """Digests, and every hash of the person that an erasure finds: not those of anonymous projects."""
        own = Project.objects.filter(community=self.member.community_id).values_list("pk", flat=True)
        names = [f"user:{USER_ID}", f"external:{EXTERNAL_ID}"]
        hashes = [anonymity.respondent_hash(project_id=pk, who=name) for pk in own for name in names]
        return [*DIGESTS, PASSWORD, *self.private, *hashes]

    def traces(self, rows: dict[str, set[str]]) -> dict[str, set[str]]:
        """The tables of a dump that contain values of the person, with these values."""
        words = [*self.told, *self.kept]
        found = {table: {word for word in words if word in "\n".join(of)} for table, of in rows.items()}
        return {table: words for table, words in found.items() if words}


def person(community: Community) -> Member:
    user = UserFactory.create(
        pk=USER_ID, name=NAME, username=USERNAME, email=EMAIL, password=PASSWORD, last_login=AT
    )
    IdentityFactory.create(user=user, platform_id=CHAT_ID)
    return MemberFactory.create(
        pk=MEMBER_ID, community=community, user=user, nick=NICK, avatar_url=AVATAR, joined_at=AT
    )


def everywhere(caller: Caller) -> Person:
    """Answers in every privacy mode and in a poll, finished and not; XP, roles; keys, projects."""
    community = caller.community
    made = Person(person(community))
    user = made.member.user
    IdentityFactory.create(user=user, provider="web", platform_id=EXTERNAL_ID, community=community)
    key = ApiKeyFactory.create(
        community=community,
        user=user,
        name=KEY_NAME,
        description=KEY_WORDS,
        key_prefix=KEY_PREFIX,
        digest=DIGESTS[0],
        previous_digest=DIGESTS[1],
        created_at=AT,
    )
    Community.objects.filter(pk=community.pk).update(user_setup=user)
    for thing in (made.member, user, key):
        _noted_by_staff(caller.user, thing)
    _recorded(caller.actor, made.member, key)
    for privacy_mode in ("transparent", "semi-private", "anonymous"):
        survey = caller.make_open(
            *(GIVES_XP, CHOICE, GIVES_XP | ROLE, TEXT), privacy_mode=privacy_mode, **AUDIENCE, **REWARDS
        )
        _said(survey, 1, WRITTEN)
        gifts.settle(at=AT + timedelta(hours=2))  # later gifts wait
        made.running.append(_said(survey, 2))
        _begin(survey)
        made.projects.append(survey)
    poll = caller.make_open(CHOICE, type="poll", rewards={"use_xp": True}, **AUDIENCE)
    _said(poll, 0)
    made.projects.append(poll)
    _said(made.projects[0], 0, "By another name.", who=admission.external(external_id=EXTERNAL_ID))
    Project.objects.filter(pk__in=[made.projects[0]["id"], poll["id"]]).update(author=user)
    RoleGrant.objects.filter(role_id="1188").update(carried_out_at=AT)
    award(made.member, note=NOTE)
    drafts.keep(
        actor=Actor(USER_ID, "admin", community.pk, community.tier),
        project_id=int(poll["id"]),
        blocks=[TEXT | {"prompt": DRAFTED, "key": "new"}],
        revision=1,
        version=None,
        at=AT,
    )
    _wants_a_script(made.member, caller)
    ProjectGrant.objects.create(member=made.member, project_id=poll["id"], level="own")
    Reminder.objects.create(project_id=poll["id"], planned_by=user, due_at=AT)
    return made


def _wants_a_script(member: Member, caller: Caller) -> None:
    """AI is writing a script for the person's draft."""
    draft_generation.begin(
        actor=Actor(member.user_id, "admin", member.community_id, caller.community.tier),
        project_id=int(caller.make(TEXT)["id"]),
        intent=ASKED,
        at=AT,
    )


def award(member: Member, amount: int = 5, **fields: Any) -> XpEntry:
    return ledger.award(
        member_id=member.pk,
        community_id=member.community_id,
        amount=amount,
        kind=XpEntry.SourceKind.ADMIN_MANUAL,
        at=AT,
        **fields,
    )


def elsewhere() -> tuple[Caller, dict[str, Any]]:
    """The same person in another community: a membership, an answer, XP, a key, a name."""
    other = Caller()
    user = User.objects.get(pk=USER_ID)
    there = MemberFactory.create(community=other.community, user=user, nick="Stranger")
    IdentityFactory.create(user=user, provider="web", platform_id="another-name", community=other.community)
    ApiKeyFactory.create(
        community=other.community,
        user=user,
        name="Another key",
        key_prefix="cq_live_elsewh",
        digest="e1" * 32,
        created_at=AT,
    )
    survey = other.make_open(GIVES_XP, TEXT, name="Another survey", **AUDIENCE)
    _said(survey, "In another place.")
    award(there, note="In another place, too")
    return other, survey


def begin(survey: dict[str, Any], member_id: int = MEMBER_ID) -> Any:
    community_id = Project.objects.get(pk=survey["id"]).community_id
    who = admission.member(community_id=community_id, member_id=str(member_id))
    return _begin(survey, who=who)


def _begin(survey: dict[str, Any], who: Any = None) -> Any:
    project = Project.objects.get(pk=survey["id"])
    who = who or admission.person(community_id=project.community_id, user_id=USER_ID)
    return conversations.begin(project_id=project.pk, respondent=who, at=AT)


def _said(survey: dict[str, Any], *said: object, who: Any = None) -> Any:
    told = _begin(survey, who)
    for each in said:
        told = past_statements(told)
        told = scenario.say(told, each, at=AT)
    return past_statements(told)


def past_statements(told: Any) -> Any:
    while told.step is not None and not told.step.block.asks:
        told = scenario.go_on(told, at=AT)
    return told


def _noted_by_staff(staff: User, thing: Model) -> None:
    LogEntry.objects.create(
        user=staff,
        content_type=ContentType.objects.get_for_model(thing),
        object_id=str(thing.pk),
        object_repr=str(thing),
        action_flag=CHANGE,
        change_message=f"{thing}",
    )


def _recorded(admin: Actor, member: Member, key: ApiKey) -> None:
    """Entries of the audit trail: by the person, about them, and about their key."""
    by_them = Actor(USER_ID, "admin", member.community_id, "custom", ActingKey(key.pk, KEY_PREFIX))
    here = member.community_id
    about = {
        Action.WEBHOOK_PINGED: (by_them, audit.Subject(here, "webhook", 1, "The board")),
        Action.MEMBER_UPDATED: (admin, audit.Subject(here, "member", MEMBER_ID, NICK)),
        Action.API_KEY_UPDATED: (admin, audit.Subject(here, "api_key", key.pk, KEY_NAME)),
    }
    with transaction.atomic():
        for action, (actor, subject) in about.items():
            before, after = ({}, {}) if actor is by_them else ({"key_prefix": KEY_PREFIX}, {"nick": NICK})
            audit.record(actor=actor, action=action, on=subject, at=AT, before=before, after=after)


def erasing(caller: Caller) -> Callable[[], None]:
    """A call that erases the person."""
    return lambda: people.erase(actor=caller.actor, member_id=MEMBER_ID, at=AT)
