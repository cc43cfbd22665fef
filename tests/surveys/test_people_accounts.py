"""A person erases themselves: from one community, or everywhere with their account."""

from __future__ import annotations

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, Permission
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client

from communities.ground.errors import Conflict
from communities.models import AuditEntry, Identity, Invitation, Member, SourceCheck, User
from communities.services.mail import mails
from communities.services.mail.mails import Message
from communities.services.people import source_tokens
from surveys.models import Answer, Conversation, PersonalLink, Project, ResponseDeletion
from surveys.services.people import service as people
from tests.factories import ApiKeyFactory, IdentityFactory, MemberFactory, SourceCheckFactory, UserFactory
from tests.support.caller import Caller
from tests.support.dumps import dump
from tests.support.surveys import known_person
from tests.support.surveys.known_person import (
    AT,
    EMAIL,
    MEMBER_ID,
    NAME,
    USER_ID,
    WRITTEN,
    elsewhere,
    everywhere,
)

pytestmark = pytest.mark.django_db


def _with_an_account(caller: Caller) -> Client:
    """Ann has an account with everything that one can have, and is signed in."""
    user = User.objects.get(pk=USER_ID)
    user.is_staff = True
    user.set_password("correct horse battery staple")
    user.save()
    EmailAddress.objects.create(user=user, email=EMAIL, verified=True, primary=True)
    Authenticator.objects.create(user=user, type="totp", data={"secret": "s"})
    SocialAccount.objects.create(user=user, provider="video", uid="v-7770001117")
    account = IdentityFactory.create(user=user, provider="video", platform_id="v-7770001117", proven_at=AT)
    source_tokens.save(identity_id=account.pk, access="access", refresh="refresh", expires_at=None)
    SourceCheckFactory.create(identity=account, source__community=caller.community)
    mails.write(
        Message(EMAIL, "Hello", f"Dear {NAME}"), kind="account/email/new_sign_in", at=AT, user_id=user.pk
    )
    for accepted_by, created_by in ((user, None), (None, user)):
        Invitation.objects.create(
            community=caller.community,
            email=EMAIL if accepted_by else "bo@example.org",
            digest=f"digest of {accepted_by}",
            created_by=created_by,
            accepted_by=accepted_by,
            member_id=MEMBER_ID if accepted_by else None,
            created_at=AT,
            expires_at=AT,
        )
    project = Project.objects.filter(community=caller.community).latest("pk")
    Project.objects.filter(pk=project.pk).update(deleted_by=user)
    ResponseDeletion.objects.create(
        response_id="01890000-0000-7000-8000-000000000000",
        project=project,
        deletes_at=AT,
        requested_by=user,
    )
    other = Member.objects.exclude(pk=MEMBER_ID).filter(community=caller.community).latest("pk")
    for member_id, created_by in ((other.pk, user), (MEMBER_ID, None)):
        PersonalLink.objects.create(
            project=project, member_id=member_id, created_by=created_by, created_at=AT, expires_at=AT
        )
    ApiKeyFactory.create(community=caller.community, user=other.user, rotated_by=user)
    user.groups.add(Group.objects.create(name="editors"))
    user.user_permissions.add(Permission.objects.get(codename="view_user"))
    LogEntry.objects.create(user=user, action_flag=2, object_repr="Somebody")
    client = Client()
    client.force_login(user)
    key = client.cookies[settings.SESSION_COOKIE_NAME].value
    UserSession.objects.create(user=user, ip="127.0.0.1", session_key=key)
    return client


def test_who_erases_their_account_is_nowhere_in_the_whole_database() -> None:
    caller = Caller()
    ann = everywhere(caller)
    elsewhere()
    client = _with_an_account(caller)

    people.erase_account(user_id=USER_ID, at=AT)

    after = dump()
    assert ann.traces(after) == known_person.ERASED
    assert not [row for rows in after.values() for row in rows if "v-7770001117" in row]
    assert not Session.objects.exists()
    assert client.get("/account/").status_code == 302
    # What was answered stays, also in the community that only knew the answer.
    assert Answer.objects.filter(value=WRITTEN).exists()
    assert not Conversation.objects.filter(user__isnull=False).exists()


_REFERENCES = """
    SELECT conrelid::regclass::text, attname, confrelid::regclass::text
    FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND attnum = conkey[1]
    WHERE contype = 'f' AND confrelid = ANY(%s::regclass[])
"""


def _references_to(rows: dict[str, list[int]]) -> dict[str, int]:
    """How many rows refer to these ones, by table and column; the rows are given as ids by their table."""
    found = {}
    with connection.cursor() as cursor:
        cursor.execute(_REFERENCES, [list(rows)])
        for table, column, referred in cursor.fetchall():
            cursor.execute(f"SELECT count(*) FROM {table} WHERE {column} = ANY(%s)", [rows[referred]])
            found[f"{table}.{column}"] = cursor.fetchone()[0]
    return found


def test_the_tests_person_stands_in_every_column_that_refers_to_people() -> None:
    """Whoever adds such a column adds it to the person, and so finds out what an erasure does with it."""
    caller = Caller()
    everywhere(caller)
    elsewhere()
    _with_an_account(caller)
    identities = Identity.objects.filter(user_id=USER_ID).values_list("pk", flat=True)
    members = Member.objects.filter(user_id=USER_ID).values_list("pk", flat=True)

    found = _references_to(
        {
            "communities_user": [USER_ID],
            "communities_member": list(members),
            "communities_identity": list(identities),
        }
    )

    assert len(found) > 25
    assert {name for name, count in found.items() if not count} == set()


def test_that_somebody_erased_themselves_is_recorded_without_their_name() -> None:
    caller = Caller()
    everywhere(caller)

    people.erase_account(user_id=USER_ID, at=AT)

    entry = AuditEntry.objects.get(action="member.erased")
    assert (entry.source, entry.actor_id, entry.object_id) == ("admin", None, None)  # they acted as staff
    assert entry.actor_pseudonym


def test_a_person_leaves_one_community_and_keeps_account_and_others() -> None:
    caller = Caller()
    everywhere(caller)
    other, _ = elsewhere()
    _with_an_account(caller)

    people.erase_membership(user_id=USER_ID, community_id=caller.community.pk, at=AT)

    assert not Member.objects.filter(pk=MEMBER_ID).exists()
    assert not Conversation.objects.filter(project__community=caller.community, user_id=USER_ID).exists()
    assert Member.objects.filter(user_id=USER_ID, community=other.community).exists()
    assert Conversation.objects.filter(project__community=other.community, user_id=USER_ID).exists()
    assert EmailAddress.objects.filter(user_id=USER_ID).exists()


def test_a_community_that_erases_a_person_leaves_them_the_account_that_they_sign_in_with() -> None:
    caller = Caller()
    known_person.person(caller.community)
    EmailAddress.objects.create(user_id=USER_ID, email=EMAIL, verified=True, primary=True)

    people.erase(actor=caller.actor, member_id=MEMBER_ID, at=AT)

    assert not Member.objects.filter(pk=MEMBER_ID).exists()
    assert User.objects.filter(pk=USER_ID).exists()


def test_an_account_of_a_source_alone_goes_with_the_last_community_that_erases_it() -> None:
    caller = Caller()
    known_person.person(caller.community)
    User.objects.filter(pk=USER_ID).update(password="!unusable")
    account = Identity.objects.get(user_id=USER_ID)
    SourceCheckFactory.create(identity=account, source__community=caller.community)
    SocialAccount.objects.create(user_id=USER_ID, provider="chat", uid=account.platform_id)
    source_tokens.save(identity_id=account.pk, access="access", refresh="", expires_at=None)

    people.erase(actor=caller.actor, member_id=MEMBER_ID, at=AT)

    assert not User.objects.filter(pk=USER_ID).exists()
    assert not SourceCheck.objects.exists()


@pytest.mark.parametrize("function", ["erase_account", "erase_membership"])
def test_the_only_admin_of_a_community_cannot_leave_it(function: str) -> None:
    caller = Caller()
    where = {"community_id": caller.community.pk} if function == "erase_membership" else {}

    with pytest.raises(Conflict, match="only admin of Chess club"):
        getattr(people, function)(user_id=caller.user.pk, at=AT, **where)

    MemberFactory.create(community=caller.community, access="admin")
    getattr(people, function)(user_id=caller.user.pk, at=AT, **where)
    assert not Member.objects.filter(user_id=caller.user.pk).exists()


def test_a_superuser_cannot_erase_themselves() -> None:
    root = UserFactory.create(is_superuser=True)

    with pytest.raises(Conflict, match="superuser"):
        people.erase_account(user_id=root.pk, at=AT)

    assert User.objects.filter(pk=root.pk).exists()


def test_somebody_of_no_community_goes_at_once() -> None:
    user = UserFactory.create()

    people.erase_account(user_id=user.pk, at=AT)

    assert not User.objects.exists()
