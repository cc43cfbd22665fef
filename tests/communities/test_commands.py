"""Commands that create communities, keys and members (rule 12.3)."""

import json
from io import StringIO

import pytest
from allauth.account.models import EmailAddress
from django.core.management import CommandError, call_command

from communities.models import ApiKey, AuditEntry, Community, CommunitySettings, Member, User
from tests.factories import StaffFactory
from tests.support.api_requests import ask
from tests.support.caller import Caller

pytestmark = pytest.mark.django_db


def say(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


def told(*words: str) -> dict[str, str]:
    """With --json: one object, and nothing else."""
    answer = json.loads(say(*words, "--json"))
    assert isinstance(answer, dict)
    return answer


def test_a_community_with_everything() -> None:
    answer = told(
        *("create_community", "--name", "Chess", "--tier", "vip", "--id", "710000000000000009"),
        *("--credits", "7"),
    )

    community = Community.objects.get()
    assert answer == {"id": "710000000000000009"}
    assert (community.pk, community.name, community.tier) == (710_000_000_000_000_009, "Chess", "vip")
    assert community.bot_credits == 7
    assert CommunitySettings.objects.get().community == community


@pytest.mark.parametrize("named", ["ada", "ADA@example.org"])
def test_who_makes_a_community_is_its_admin(named: str) -> None:
    """Rule 12.203."""
    ada = StaffFactory.create(username="ada")
    EmailAddress.objects.create(user=ada, email="ada@example.org", verified=True)

    told("create_community", "--name", "Chess", "--admin", named)

    assert [(each.user, each.access) for each in Member.objects.all()] == [(ada, "admin")]
    assert AuditEntry.objects.get(action="community.created").actor_id == ada.pk


@pytest.mark.parametrize("named", ["nobody", "unproven@example.org"])
def test_an_unknown_admin_makes_no_community(named: str) -> None:
    EmailAddress.objects.create(user=StaffFactory.create(), email="unproven@example.org", verified=False)

    with pytest.raises(CommandError, match="neither a user name nor"):
        say("create_community", "--name", "Chess", "--admin", named)

    assert not Community.objects.exists()


def test_a_community_without_an_admin_says_so() -> None:
    """Rule 12.203."""
    assert "Nobody is in it yet" in say("create_community", "--name", "Chess")


def test_a_community_with_a_name_alone() -> None:
    answer = told("create_community", "--name", "Chess")

    community = Community.objects.get()
    assert answer == {"id": str(community.pk)}
    assert (community.tier, community.bot_credits) == ("basic", 0)


@pytest.mark.parametrize(
    "wrong",
    [
        ["--tier", "gold"],
        ["--id", "0"],
        ["--id", "x"],
        ["--id", str(2**63)],
        ["--credits", "-1"],
        ["--name", " "],
        ["--name", "x" * 201],
    ],
)
def test_a_community_that_cannot_be(wrong: list[str]) -> None:
    with pytest.raises(CommandError):
        say("create_community", "--name", "Chess", *wrong)

    assert Community.objects.count() == 0


def test_the_id_of_another_community_is_refused() -> None:
    told("create_community", "--name", "Chess", "--id", "5")

    with pytest.raises(CommandError, match="5 is the id of another community"):
        say("create_community", "--name", "Another", "--id", "5")


def test_a_member_is_created_with_a_user() -> None:
    community = told("create_community", "--name", "Chess")["id"]

    answer = told("create_member", "--community", community, "--name", "Ada", "--access", "creator")

    member = Member.objects.get()
    assert answer == {"id": str(member.pk), "user_id": str(member.user_id)}
    assert (str(member.community_id), member.access, member.user.name) == (community, "creator", "Ada")
    assert member.joined_at is not None


def test_a_members_access_is_member() -> None:
    community = told("create_community", "--name", "Chess")["id"]
    told("create_member", "--community", community, "--name", "Ada")

    assert Member.objects.get().access == "member"


@pytest.mark.parametrize("role", ["admin", "creator", "member"])
def test_a_key_is_created_with_a_new_owner(role: str) -> None:
    community = told("create_community", "--name", "Chess")["id"]

    answer = told("create_api_key", "--community", community, "--role", role, "--name", "Website")

    key = ApiKey.objects.get()
    assert set(answer) == {"id", "key"}
    assert (answer["id"], key.name) == (str(key.pk), "Website")
    assert Member.objects.get(user=key.user).access == role
    assert ask("GET", f"/v1/communities/{community}", key=answer["key"]).status_code == 200


def test_a_key_is_an_admins_unless_said_otherwise() -> None:
    community = told("create_community", "--name", "Chess")["id"]
    told("create_api_key", "--community", community)

    assert Member.objects.get().access == "admin"


def test_a_key_is_created_for_an_existing_member() -> None:
    community = told("create_community", "--name", "Chess")["id"]
    member = told("create_member", "--community", community, "--name", "Ada", "--access", "creator")

    told("create_api_key", "--community", community, "--member", member["id"])

    assert ApiKey.objects.get().user_id == int(member["user_id"])
    assert Member.objects.count() == 1


def test_where_there_is_no_such_community_or_member() -> None:
    elsewhere = told("create_member", "--community", str(Caller().community.pk), "--name", "Ada")["id"]
    community = told("create_community", "--name", "Chess")["id"]
    before = ApiKey.objects.count(), Member.objects.count()

    for words in (
        ["create_member", "--community", "1", "--name", "Ada"],
        ["create_api_key", "--community", "1"],
        ["create_api_key", "--community", community, "--member", elsewhere],
        ["create_member", "--community", community, "--name", " "],
        ["create_member", "--community", community, "--name", "x" * 201],
        ["create_api_key", "--community", community, "--name", "x" * 201],
        ["create_api_key", "--community", community, "--name", " "],
    ):
        with pytest.raises(CommandError):
            say(*words)

    assert (ApiKey.objects.count(), Member.objects.count()) == before


def test_without_json_there_are_words_for_people() -> None:
    assert "Created community 5 (Chess)." in say("create_community", "--name", "Chess", "--id", "5")
    assert "Created member" in say("create_member", "--community", "5", "--name", "Ada")
    assert "cq_live_" in say("create_api_key", "--community", "5")


# The first superuser


@pytest.fixture
def password(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("ADMIN_PASSWORD", "seventeen lighthouses")
    return "seventeen lighthouses"


def test_a_superuser_is_made_who_signs_in_with_an_address(password: str) -> None:
    """Rule 12.540."""
    say("create_admin", "--email", "Ada@Example.org", "--name", "Ada")

    ada = User.objects.get()
    assert (ada.name, ada.email, ada.is_staff, ada.is_superuser) == ("Ada", "ada@example.org", True, True)
    assert ada.check_password(password)
    assert EmailAddress.objects.filter(
        user=ada, email="ada@example.org", verified=True, primary=True
    ).exists()


def test_a_superuser_who_exists_is_left_alone(password: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule 12.540."""
    say("create_admin", "--email", "ada@example.org")
    monkeypatch.setenv("ADMIN_PASSWORD", "eighteen lighthouses")

    answer = say("create_admin", "--email", "ADA@example.org")

    assert answer == "ada@example.org is a superuser already. Nothing was changed.\n"
    assert User.objects.get().check_password(password)


@pytest.mark.parametrize("weak", ["short", "password", "ada@example.org", "colloquy-admin"])
def test_a_weak_password_makes_no_superuser(weak: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule 12.540."""
    monkeypatch.setenv("ADMIN_PASSWORD", weak)

    with pytest.raises(CommandError, match="The password cannot be used"):
        say("create_admin", "--email", "ada@example.org")

    assert not User.objects.exists()


def test_an_address_of_somebody_else_makes_no_superuser(password: str) -> None:
    member = StaffFactory.create(is_superuser=False)
    EmailAddress.objects.create(user=member, email="ada@example.org", verified=True)

    with pytest.raises(CommandError, match="belongs to an account that is no active superuser"):
        say("create_admin", "--email", "ada@example.org")

    assert User.objects.get() == member


@pytest.mark.parametrize(
    ("words", "sentence"),
    [(["--email", "ada"], "--email ada is not a mail address"), ([], "--email is missing")],
)
def test_without_a_terminal_a_missing_value_is_named(
    words: list[str], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", StringIO())

    with pytest.raises(CommandError, match=sentence):
        say("create_admin", *words)


def test_a_terminal_is_asked_for_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule 12.540."""
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda _: "ada@example.org")
    typed = iter(["seventeen lighthouses", "seventeen lighthouse"])
    monkeypatch.setattr("getpass.getpass", lambda _: next(typed))

    with pytest.raises(CommandError, match="The two passwords differ"):
        say("create_admin")

    typed = iter(["seventeen lighthouses"] * 2)
    say("create_admin")

    assert User.objects.get().check_password("seventeen lighthouses")
