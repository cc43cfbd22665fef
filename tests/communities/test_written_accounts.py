"""An account that a community has noted is a claim, until the account's owner proves it (rule 7.22)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.urls import reverse

from communities.identity_providers.chat import GuildMember
from communities.models import CommunitySettings, Identity, Member, User
from communities.services.chat import people
from communities.services.people import identities, platform_members
from communities.tasks import join_written
from surveys.models import Conversation
from tests.factories import IdentityFactory, MemberFactory, StaffFactory, UserFactory
from tests.support import browsers, mails, our_code
from tests.support.browsers import PASSWORD, invited, new_browser, person, sign_in, who
from tests.support.caller import TEXT, Caller, refusal
from tests.support.concurrency import run_together
from tests.support.moments import LUNCHTIME, NOON
from tests.support.ways_to_sign_in import WAYS

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]

X = "820000000000000042"
MARIT = {"platform_id": X, "nick": "Marit of ours"}
NEW = {"name": "Eve", "password1": PASSWORD}


@pytest.fixture
def attacker() -> Caller:
    return Caller("admin")


@pytest.fixture
def other() -> Caller:
    """The admin of a community that has written the same account down."""
    caller = Caller("admin")
    add(caller)
    return caller


def add(caller: Caller, **fields: Any) -> dict[str, Any]:
    answer = caller.post("/members", MARIT | fields)
    assert answer.status_code == 201, answer.content
    return answer.json()


def prove(at: Any = NOON) -> Identity:
    """The owner of the account signs in with it, and the worker joins the noted accounts."""
    identity = identities.sign_in(provider="chat", platform_id=X, name="Marit Solberg", at=at)
    join_written(user_id=identity.user_id)
    return Identity.objects.get(pk=identity.pk)


def act(caller: Caller, *roles: str) -> Any:
    """The owner of the account acts in a community's chat."""
    listed = GuildMember(roles, "Marit", None, NOON)
    return people.known(
        community_id=caller.community.pk, platform_id=X, name="marit", listed=listed, at=LUNCHTIME
    )


def members_of(caller: Caller) -> list[dict[str, Any]]:
    return caller.get(f"/members?platform_id={X}").json()["data"]


# --- One tenant's word ----------------------------------------------------------------------------------


def test_an_invitation_of_a_claimed_account_opens_nothing_in_another_community(attacker, other):
    """Rule 7.25."""
    private = other.post("/projects", {"name": "Ours", "type": "convo", "script": {"blocks": [TEXT]}}).json()
    other.post(f"/projects/{private['id']}/open")
    claimed = add(attacker)
    browser = new_browser()

    browser.post(invited(attacker.actor, member_id=int(claimed["id"]), email="eve@example.org"), NEW)

    eve = User.objects.get(pk=who(browser))
    assert list(eve.memberships.values_list("community_id", flat=True)) == [attacker.community.pk]
    assert attacker.get(f"/members/{claimed['id']}").json()["platform_id"] is None
    assert "Why?" not in browser.get(private["info"]["web_url"]).content.decode()
    owner = prove()
    assert owner.user_id != eve.pk
    assert [each["user_id"] for each in members_of(other)] == [str(owner.user_id)]


def test_a_signed_in_reader_of_an_invitation_takes_over_no_claimed_account(attacker, other):
    """Rule 7.25."""
    claimed, eve = add(attacker), person("Eve", "eve@example.org")
    browser = new_browser()
    sign_in(browser, "eve@example.org")
    browsers.prove(browser)
    path = invited(attacker.actor, member_id=int(claimed["id"]), email="eve@example.org")
    token = path.strip("/").rsplit("/", 1)[-1]

    browser.post(reverse("account_invitation_merge", args=[token]))

    assert Member.objects.get(community=attacker.community, user=eve).access == "member"
    assert not Identity.objects.filter(user=eve).exists()
    assert members_of(attacker) == []


def test_communities_and_the_chat_share_no_user_by_an_unproven_account(attacker, other):
    """Rule 7.23."""
    added = add(attacker)
    third = Caller("admin")
    acting = act(third)

    user_ids = {added["user_id"], members_of(other)[0]["user_id"], str(acting.user_id)}

    assert len(user_ids) == 3


@pytest.mark.parametrize("known", [True, False])
def test_writing_an_id_gets_the_same_answer_whether_it_is_known_elsewhere_or_not(attacker, known):
    """Rule 7.30."""
    if known:
        elsewhere = Caller("admin")
        add(elsewhere)
        MemberFactory.create(user=prove().user, community=Caller().community)
    plain = attacker.post("/members", {"nick": "Ola"}).json()

    one = attacker.post("/members", MARIT)
    many = attacker.post("/members", {"members": [{"nick": "Kari"}, {"platform_id": "77", "nick": "Per"}]})
    taken = attacker.patch(f"/members/{plain['id']}", {"platform_id": X})
    changed = attacker.patch(f"/members/{plain['id']}", {"platform_id": "78"})

    assert [each.status_code for each in (one, many, taken, changed)] == [201, 201, 409, 200]
    assert (one.json()["name"], one.json()["platform_id"]) == (None, X)
    assert int(one.json()["user_id"]) > int(plain["user_id"])  # made just now


def test_nothing_but_what_the_community_wrote_is_told_of_a_claimed_account(attacker):
    """Rule 7.28."""
    owner = prove()
    User.objects.filter(pk=owner.user_id).update(email="marit@example.org", last_login=NOON)
    claimed = add(attacker)

    found = [attacker.get(f"/members?search={words}").json()["data"] for words in ("Solberg", "marit@")]
    data = attacker.get(f"/members/{claimed['id']}/data").json()

    assert found == [[], []]
    assert data["user"] == {"id": claimed["user_id"], "name": None}
    assert data["identities"] == [{"provider": "chat", "platform_id": X}]
    assert "Solberg" not in str(data)


# --- Taking effect --------------------------------------------------------------------------------------


def test_signing_in_joins_what_all_communities_wrote(attacker, other):
    """Rule 7.24."""
    first, second = add(attacker), members_of(other)[0]
    attacker.post(f"/members/{first['id']}/xp", {"amount": 30})
    other.post(f"/members/{second['id']}/xp", {"amount": 40})

    owner = prove()

    here, there = members_of(attacker)[0], members_of(other)[0]
    assert here["user_id"] == there["user_id"] == str(owner.user_id)
    assert (here["id"], here["xp_total"], there["id"], there["xp_total"]) == (
        first["id"],
        30,
        second["id"],
        40,
    )
    assert (here["nick"], here["name"]) == ("Marit of ours", "Marit Solberg")
    identity = Identity.objects.get()
    assert (identity.community, identity.user_id) == (None, owner.user_id)


def test_answers_given_before_become_the_owners(attacker):
    claimed = add(attacker)
    made = attacker.post("/projects", {"name": "Q", "type": "convo", "script": {"blocks": [TEXT]}}).json()
    attacker.post(f"/projects/{made['id']}/open")
    begun = attacker.post(f"/projects/{made['id']}/conversations", {"member_id": claimed["id"]}).json()
    block = begun["step"]["block"]["id"]
    attacker.post(
        f"/projects/{made['id']}/conversations/{begun['id']}/answers", {"block_id": block, "value": "So"}
    )
    prove_first_elsewhere = identities.sign_in(provider="video", platform_id="v", name="M", at=NOON)

    identities.connect(
        user_id=prove_first_elsewhere.user_id, provider="chat", platform_id=X, name="M", at=NOON
    )
    identities.join_written(user_id=prove_first_elsewhere.user_id, at=NOON)

    assert Conversation.objects.get().user_id == prove_first_elsewhere.user_id
    assert members_of(attacker)[0]["user_id"] == str(prove_first_elsewhere.user_id)


def test_what_is_written_after_the_proof_takes_effect_by_acting_in_the_chat(attacker):
    """Rule 7.24."""
    owner = prove()
    claimed = add(attacker, access="creator")

    acting = act(attacker)
    join_written(user_id=acting.user_id, community_id=attacker.community.pk)

    assert acting.user_id == owner.user_id
    member = Member.objects.get(community=attacker.community, user=owner.user)
    assert member.access == "creator"
    assert not User.objects.filter(pk=claimed["user_id"]).exists()


def test_what_is_written_after_the_proof_takes_effect_on_a_private_page(attacker):
    owner, browser = prove(), Client()
    made = attacker.post("/projects", {"name": "Q", "type": "convo", "script": {"blocks": [TEXT]}}).json()
    attacker.post(f"/projects/{made['id']}/open")
    add(attacker)
    browser.force_login(owner.user)

    page = browser.get(made["info"]["web_url"]).content.decode()

    assert "Why?" in page
    assert members_of(attacker)[0]["user_id"] == str(owner.user_id)


def test_what_is_written_after_the_proof_takes_effect_by_joining(attacker):
    CommunitySettings.objects.filter(community=attacker.community).update(allow_sign_up=True)
    owner, browser = prove(), Client()
    add(attacker, access="creator")
    browser.force_login(owner.user)

    browser.post(reverse("account_join", args=[attacker.community.pk]))

    assert [(each["user_id"], each["access"]) for each in members_of(attacker)] == [
        (str(owner.user_id), "creator")
    ]


def test_acting_in_one_community_is_that_communitys_member(attacker, other):
    acting = act(other, "7")

    there = members_of(other)
    assert [each["user_id"] for each in there] == [str(acting.user_id)]
    assert acting.role_ids == {"7"}
    assert members_of(attacker) == []


def test_a_deactivated_owner_gets_nothing_joined(other):
    owner = identities.sign_in(provider="chat", platform_id=X, name="M", at=NOON)
    claimed = add(Caller("admin"))
    User.objects.filter(pk=claimed["user_id"]).update(is_active=False)

    identities.join_written(user_id=owner.user_id, at=NOON)

    assert User.objects.filter(pk=claimed["user_id"]).exists()


# --- What follows from an account -------------------------------------------------------------------------


def test_the_platform_is_asked_only_about_accounts_that_their_owner_has_proven(attacker, monkeypatch):
    """Rule 7.27."""
    asked: list[int] = []
    monkeypatch.setattr(platform_members, "_ask", lambda **about: asked.append(about["user_id"]))
    claimed = add(attacker)

    platform_members.refresh(community_id=attacker.community.pk, user_id=int(claimed["user_id"]), at=NOON)
    assert asked == []

    act(attacker)
    platform_members.refresh(
        community_id=attacker.community.pk, user_id=int(claimed["user_id"]), at=LUNCHTIME
    )
    assert asked == [int(claimed["user_id"])]


def test_a_member_who_acts_in_the_chat_is_neither_invited_nor_given_another_account(attacker):
    claimed = add(attacker)
    act(attacker)

    changed = attacker.patch(f"/members/{claimed['id']}", {"platform_id": "9"})

    assert refusal(changed) == (409, "conflict")
    assert mails.written("eve@example.org") == []
    with pytest.raises(Exception, match="has an account already"):
        invited(attacker.actor, member_id=int(claimed["id"]), email="eve@example.org")


# --- The database ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("comes_first", [True, False])
def test_the_database_refuses_a_way_to_sign_in_beside_an_unproven_account(way, comes_first):
    """Rule 7.26."""
    member = MemberFactory.create(user=UserFactory.create(password=""))
    claim = partial(IdentityFactory.create, user=member.user, community=member.community)
    if comes_first:
        WAYS[way](member.user)
    else:
        claim()

    with pytest.raises(IntegrityError, match="not proven"), transaction.atomic():
        claim() if comes_first else WAYS[way](member.user)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("way", WAYS)
def test_the_database_refuses_both_at_once(way):
    member = MemberFactory.create(user=UserFactory.create(password=""))

    results = run_together(
        lambda: IdentityFactory.create(user=member.user, community=member.community),
        lambda: WAYS[way](User.objects.get(pk=member.user_id)),
    )

    assert sum(isinstance(each, IntegrityError) for each in results) == 1


def test_a_proven_account_belongs_to_no_community_and_no_other_does():
    with pytest.raises(IntegrityError, match="identity_of_no_community_is_proven"), transaction.atomic():
        IdentityFactory.create(proven_at=None)
    with pytest.raises(IntegrityError, match="identity_of_no_community_is_proven"), transaction.atomic():
        IdentityFactory.create(provider="web")


@pytest.mark.django_db(transaction=True)
def test_two_first_sign_ins_at_once_take_one_written_account(attacker, other):
    add(attacker)

    owners = run_together(prove, prove, prove)

    assert len({each.user_id for each in owners}) == 1
    assert members_of(attacker)[0]["user_id"] == members_of(other)[0]["user_id"]


def test_superusers_set_a_password_only_after_the_claimed_account_has_left(attacker):
    """Rule 7.25."""
    claimed, root = add(attacker), Client()
    root.force_login(StaffFactory.create())
    address = reverse("admin:auth_user_password_change", args=[claimed["user_id"]])

    answer = root.post(
        address, {"password1": "a new secret 1", "password2": "a new secret 1", "usable_password": "true"}
    )

    assert answer.status_code == 302
    assert User.objects.get(pk=claimed["user_id"]).has_usable_password()
    assert members_of(attacker) == []


# --- All places --------------------------------------------------------------------------------------------

# These read all identities of one user, or one by its id, or leave the restriction to their callers.
WITHOUT_RESTRICTION = (
    ("communities/services/people/personal_data.py", "def erase_user"),
    ("communities/services/people/personal_data.py", "def erase_member"),
    ("communities/services/people/identities.py", "def _locked"),
    ("communities/services/tenants/verified_sources.py", "_REMEMBER"),
    ("surveys/services/people/merging.py", "def _move_accounts"),
)


def _uses_of_identities() -> Iterator[tuple[str, str]]:
    """Each function and module constant of our code that reads identities, with its source."""
    reads = ("Identity.objects", "communities_identity")
    for module in our_code.modules(*reads):
        for node in module.tree.body:
            text = module.text(node)
            if any(each in text for each in reads):
                yield module.path, text


def test_every_place_that_reads_identities_says_in_which_community_they_hold():
    careless = [
        f"{path}: {text.splitlines()[0]}"
        for path, text in _uses_of_identities()
        if not any(path == where and text.startswith(name) for where, name in WITHOUT_RESTRICTION)
        and not any(word in text for word in ("community", "pk=", "known", "proven"))
    ]

    assert careless == []


def test_every_way_to_sign_in_is_refused_by_a_trigger():
    """A new table of ways to sign in belongs into the migration and into `WAYS`."""
    assert EmailAddress._meta.db_table == "account_emailaddress"  # proves an address; a password comes after
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT tgrelid::regclass::text FROM pg_trigger WHERE tgname IN"
            " ('identity_of_who_signs_in_is_proven', 'password_is_for_proven_accounts',"
            " 'factor_is_for_proven_accounts') ORDER BY 1"
        )
        tables = [row[0] for row in cursor.fetchall()]
    assert tables == ["communities_identity", "communities_user", "mfa_authenticator"]
