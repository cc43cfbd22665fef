"""Invitations by link, and the access to projects that invitations give."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.test import Client
from django.utils import timezone

from communities.ground.actors import Level
from communities.ground.errors import Conflict, Forbidden, InvalidRequest
from communities.ground.mail_addresses import keyed_hash
from communities.models import Invitation, Mail, MailRefusal, Member, ProjectGrant, User
from communities.services.inviting import invitations
from communities.services.inviting.invitations import Grant, InvitationOver, NoSuchInvitation
from communities.services.people import memberships, project_grants
from tests.factories import MemberFactory, UserFactory
from tests.support import mails
from tests.support.caller import TEXT, Caller
from tests.support.staff import Staff, hidden, signed_in, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]
READS = Grant(Level.READ)


@pytest.fixture
def boss() -> Caller:
    return Caller()


def link(boss: Caller, uses: int = 2, grant: Grant | None = READS) -> tuple[Invitation, str]:
    return invitations.make_link(actor=boss.actor, uses=uses, grant=grant, at=timezone.now())


def join(token: str, user: User | None = None) -> Member:
    return invitations.join_by_link(token=token, user=user or UserFactory.create(), at=timezone.now())


def ask(token: str, email: str = "grace@example.org") -> None:
    invitations.ask_by_link(token=token, email=email, at=timezone.now())


def levels() -> set[tuple[int, int | None, str]]:
    return set(ProjectGrant.objects.values_list("member_id", "project_id", "level"))


# --- Links ------------------------------------------------------------------------------------------------


def test_a_link_makes_so_many_people_members_with_its_access(boss: Caller) -> None:
    """Rules 1.86 and 1.87."""
    _, token = link(boss)

    joined = [join(token), join(token)]

    assert {each.access for each in joined} == {"member"}
    assert levels() == {(each.pk, None, "read") for each in joined}
    with pytest.raises(InvitationOver):
        join(token)


def test_a_holder_who_is_not_signed_in_proves_an_address_by_the_mail(boss: Caller) -> None:
    """Rule 1.87."""
    row, token = link(boss)
    client, address = Client(), f"/account/invitations/{token}/"

    asked = client.get(address)
    sent = client.post(address, {"email": "Grace@example.org"})
    page = mails.path_in(mails.written("grace@example.org")[-1])
    client.post(page, {"name": "Grace", "password1": "a long and odd passphrase 9"})

    assert "Send me the invitation" in text_of(asked)
    assert "A mail is on its way to Grace@example.org." in text_of(sent)
    member = Member.objects.get(user__email="grace@example.org")
    assert EmailAddress.objects.get(user=member.user).verified
    assert levels() == {(member.pk, None, "read")}
    row.refresh_from_db()
    assert row.uses_left == 1


def test_a_link_touches_no_invitation_that_an_address_has(boss: Caller) -> None:
    """Rule 1.87."""
    at = timezone.now()
    creator = invitations.invite(actor=boss.actor, email="grace@example.org", access="creator", at=at)
    row, token = link(boss)
    before = Mail.objects.count()

    ask(token)

    creator.refresh_from_db()
    row.refresh_from_db()
    assert (creator.revoked_at, row.uses_left, Mail.objects.count()) == (None, 2, before)


def test_a_link_says_nothing_about_an_address_that_refuses_mails(boss: Caller) -> None:
    """Rule 1.87."""
    _, token = link(boss)
    hashed = keyed_hash("grace@example.org", community_id=boss.community.pk)
    MailRefusal.objects.create(community=boss.community, address_hash=hashed, refused_at=timezone.now())

    before = Mail.objects.count()

    ask(token)

    assert Mail.objects.count() == before


def test_a_link_sends_20_mails_a_day(boss: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule 1.87."""
    monkeypatch.setattr(invitations, "MAX_MAILS_OF_LINK", 2)
    (row, token), (_, other) = link(boss, uses=5), link(boss, uses=5)
    ask(token, "a@example.org")
    ask(token, "b@example.org")

    for known_or_not in ("a@example.org", "c@example.org"):
        with pytest.raises(Conflict, match="This link has had many mails sent today"):
            ask(token, known_or_not)
    ask(other, "c@example.org")
    join(token)
    tomorrow = timezone.now() + timedelta(days=1, minutes=1)
    invitations.ask_by_link(token=token, email="d@example.org", at=tomorrow)

    row.refresh_from_db()
    assert row.uses_left == 1


@pytest.mark.parametrize("end", ["demoted", "revoked", "expired"])
@pytest.mark.parametrize("grant", [READS, None])
def test_a_link_ends_with_its_sender_and_its_time(boss: Caller, end: str, grant: Grant | None) -> None:
    """Rule 1.86."""
    sender = boss.beside("admin")
    row, token = link(sender, grant=grant)
    at = timezone.now()
    match end:
        case "demoted":
            own = Member.objects.get(user=sender.user)
            memberships.change_access(actor=boss.actor, member_id=own.pk, access="creator", at=at)
        case "revoked":
            invitations.revoke(actor=boss.actor, invitation_id=row.pk, at=at)
        case "expired":
            Invitation.objects.filter(pk=row.pk).update(expires_at=at - timedelta(seconds=1))

    for use in (join, ask):
        with pytest.raises(InvitationOver):
            use(token)


def test_a_link_is_no_invitation_by_mail_and_the_other_way_round(boss: Caller) -> None:
    _, token = link(boss)
    at = timezone.now()
    invitations.invite(actor=boss.actor, email="grace@example.org", access="admin", at=at)
    mailed = mails.path_in(mails.written("grace@example.org")[-1]).split("/")[-2]

    with pytest.raises(NoSuchInvitation):
        invitations.accept(token=token, user=UserFactory.create(), at=at)
    for use in (join, ask):
        with pytest.raises(NoSuchInvitation):
            use(mailed)


def test_a_link_brings_back_nobody_whom_staff_removed(boss: Caller) -> None:
    """Rule 1.86."""
    _, token = link(boss)
    removed = MemberFactory.create(community=boss.community, left_at=timezone.now())

    with pytest.raises(Forbidden):
        join(token, removed.user)


@pytest.mark.parametrize("limit", ["MAX_MAILS", "UNCONFIRMED_MAILS_PER_COMMUNITY_AND_DAY"])
def test_the_limits_of_a_community_tell_nothing_about_an_address(
    boss: Caller, monkeypatch: pytest.MonkeyPatch, settings: Any, limit: str
) -> None:
    """Rule 1.87."""
    _, token = link(boss, uses=5)
    ask(token, "a@example.org")
    if limit == "MAX_MAILS":
        monkeypatch.setattr(invitations, limit, 1)
    else:
        setattr(settings, limit, 1)

    for known_or_not in ("a@example.org", "c@example.org"):
        with pytest.raises(Conflict, match="No mail can be sent now"):
            ask(token, known_or_not)


def test_a_link_gives_nobody_back_what_they_had_before_they_left_the_server(boss: Caller) -> None:
    """Rule 1.87."""
    _, token = link(boss)
    gone = MemberFactory.create(
        community=boss.community, access="admin", left_at=timezone.now(), left_server=True
    )

    member = join(token, gone.user)

    assert (member.pk, member.access, member.belongs) == (gone.pk, "member", True)


def test_a_present_member_keeps_their_role_and_gets_the_access(boss: Caller) -> None:
    _, token = link(boss)
    creator = boss.beside("creator")

    member = join(token, creator.user)

    assert member.access == "creator"
    assert levels() == {(member.pk, None, "read")}


@pytest.mark.parametrize(("role", "uses"), [("creator", 1), ("member", 1), ("admin", 0), ("admin", 201)])
def test_only_admins_make_links_for_1_to_200_people(boss: Caller, role: str, uses: int) -> None:
    """Rule 1.87."""
    maker = boss.beside(role) if role != "admin" else boss

    with pytest.raises((Forbidden, InvalidRequest)):
        link(maker, uses)


# --- Invitations by mail ----------------------------------------------------------------------------------


def test_an_invitation_by_mail_gives_access_to_a_project(boss: Caller) -> None:
    """Rule 1.86."""
    made = boss.make(TEXT)
    staff = Staff(community=boss.community)
    address = f"/admin/surveys/project/{made['id']}/share/people/"
    sent = {"do": "mail", "emails": "grace@example.org", "level": "edit", "uses": "1"}

    staff.client.post(address, {**sent, "ticket": hidden(staff.client.get(address), "ticket")})
    token = mails.path_in(mails.written("grace@example.org")[-1]).split("/")[-2]
    member = invitations.accept(token=token, user=UserFactory.create(), at=timezone.now())

    assert levels() == {(member.pk, int(made["id"]), "edit")}


def test_an_invitation_to_a_deleted_project_gives_membership_alone(boss: Caller) -> None:
    """Rule 1.91."""
    made = boss.make(TEXT)
    grant = Grant(Level.OWN, int(made["id"]))
    _, token = link(boss, grant=grant)
    invitations.invite_all(
        actor=boss.actor, emails=["grace@example.org"], access="member", grant=grant, at=timezone.now()
    )
    mailed = mails.path_in(mails.written("grace@example.org")[-1]).split("/")[-2]

    boss.delete(f"/projects/{made['id']}")
    joined = join(token).user
    invited = UserFactory.create()
    invitations.accept(token=mailed, user=invited, at=timezone.now())

    assert levels() == set()
    people = [User.objects.get(pk=each.pk) for each in (joined, invited)]
    assert [each.may_enter_admin for each in people] == [False, False]
    assert Member.objects.filter(user__in=people, left_at=None).count() == 2


def test_access_that_was_taken_since_is_not_given_back(boss: Caller) -> None:
    """Rule 1.86."""
    user, at = boss.beside("member").user, timezone.now()
    member = Member.objects.get(user=user)
    invitations.invite_all(
        actor=boss.actor, emails=["grace@example.org"], access="member", grant=Grant(Level.OWN, 7), at=at
    )
    token = mails.path_in(mails.written("grace@example.org")[-1]).split("/")[-2]
    for level in (Level.READ, Level.NONE):
        project_grants.change(
            actor=boss.actor, member_id=member.pk, project_id=7, level=level, at=at + timedelta(minutes=1)
        )

    invitations.accept(token=token, user=user, at=at + timedelta(minutes=2))

    assert levels() == set()


def test_an_owner_who_is_no_admin_invites_nobody(boss: Caller) -> None:
    """Rule 1.86."""
    made = boss.make(TEXT)
    owner = Staff("creator", community=boss.community).given("own", int(made["id"]))
    address = f"/admin/surveys/project/{made['id']}/share/people/"

    page = text_of(owner.client.get(address))
    answer = owner.client.post(address, {"do": "link", "level": "own", "uses": "5", "ticket": "x"})

    assert "Admins of the community invite people" in page
    assert answer.status_code == 404
    assert not Invitation.objects.exists()


def test_pages_make_links_that_are_shown_once(boss: Caller) -> None:
    """Rule 1.87."""
    made = boss.make(TEXT)
    staff = Staff(community=boss.community)
    tokens = []
    for address, sent in (
        ("/admin/communities/member/invite/", {"action": "link"}),
        (f"/admin/surveys/project/{made['id']}/share/people/", {"do": "link", "level": "read"}),
    ):
        ticket = hidden(staff.client.get(address), "ticket")
        page = staff.client.post(address, {**sent, "uses": "3", "ticket": ticket}).content.decode()
        tokens.append(page.partition("/account/invitations/")[2].partition("/")[0])

    members = [join(token) for token in tokens]

    assert levels() == {(members[1].pk, int(made["id"]), "read")}
    listed = text_of(staff.client.get("/admin/communities/member/invite/"))
    assert listed.count("A link, for 2 more") == 2


def test_somebody_who_is_signed_in_joins_on_the_page(boss: Caller) -> None:
    _, token = link(boss)
    user = UserFactory.create(name="Grace")
    client, address = signed_in(user), f"/account/invitations/{token}/"

    page = client.get(address)
    client.post(address)

    assert "Join with this account" in text_of(page)
    assert Member.objects.filter(user=user, community=boss.community, left_at=None).exists()


@pytest.mark.parametrize(
    ("grant", "words"),
    [
        (Grant(Level.READ), "You could read the results of all its projects."),
        (Grant(Level.READ, 7), "You could read the results of one of its projects."),
        (Grant(Level.EDIT, 7), "You could change one of its projects."),
        (Grant(Level.OWN, 7), "One of its projects would be yours, too."),
        (None, ""),
    ],
)
def test_the_mail_and_the_page_say_what_is_given_besides(
    boss: Caller, grant: Grant | None, words: str
) -> None:
    """Rule 1.86."""
    at = timezone.now()
    invitations.invite_all(
        actor=boss.actor, emails=["grace@example.org"], access="member", grant=grant, at=at
    )
    mail = mails.written("grace@example.org")[-1]

    page = text_of(Client().get(f"/{mails.path_in(mail).lstrip('/')}"))

    for told in (" ".join(mail["text"].split()), page):
        assert (words in told) if words else ("one of its projects" not in told.lower())
