"""Requests to the platforms, and the reading of their answers."""

from datetime import timedelta

import pytest
from pytest_django import Settings

from communities.identity_providers import chat, game_store, membership, oauth2, streaming, video
from communities.identity_providers.failures import BadProof, PlatformUnavailable, TokenRefused
from communities.identity_providers.profiles import Profile, clean
from communities.identity_providers.rules import RULES, answer
from communities.models import VerifiedSource
from tests.support.cases import try_each
from tests.support.identity_providers import visits
from tests.support.identity_providers.people import GAME_STORE_ID, STREAMING_ID, Person
from tests.support.identity_providers.server import Platforms
from tests.support.moments import NOON


def test_every_rule_is_known_to_some_platform_and_every_platform_knows_having_an_account() -> None:
    assert {rule for rules in RULES.values() for rule in rules} == set(VerifiedSource.Rule.values)
    assert all("has_account" in rules for rules in RULES.values())


def test_the_chat_platform_says_who_somebody_is_and_where(platforms: Platforms, nelly: Person) -> None:
    nelly.guilds = {"81384788765712384": ["41771983423143936"]}
    token = visits.tokens("chat").access

    member = chat.guild_member(token, "81384788765712384")

    assert chat.profile(token) == Profile(nelly.chat_id, "Nelly")
    assert chat.guild_ids(token) == {81384788765712384}
    assert member is not None
    assert member.role_ids == ("41771983423143936",)
    assert member.nick == "Nelly"
    assert (
        member.avatar_url
        == f"https://cdn.discordapp.com/avatars/{nelly.chat_id}/8342729096ea3675442027381ff50dfe.png"
    )
    assert str(member.joined_at) == "2023-04-26 06:26:56.936000+00:00"
    assert chat.guild_member(token, "5") is None


def test_somebody_in_more_servers_than_a_page_has_is_in_all_of_them(
    platforms: Platforms, nelly: Person
) -> None:
    nelly.guilds = {str(number): [] for number in range(1000, 1450)}

    assert chat.guild_ids(visits.tokens("chat").access) == set(range(1000, 1450))


@pytest.mark.parametrize(
    ("provider", "rule", "target", "grant"),
    [
        ("chat", "in_server", "77", {"guilds": {"77": []}}),
        ("video", "subscribes_to", "UC7", {"channels": {"UC7"}}),
        ("streaming", "follows", "123", {"followed": {"123"}}),
        ("streaming", "subscribes_to", "123", {"subscribed": {"123"}}),
        ("game_store", "owns", "440", {"games": {440}}),
        ("membership", "supports", "9", {"campaigns": {"9": "active_patron"}}),
        ("membership", "has_tier", "t1", {"campaigns": {"9": "active_patron"}, "tiers": {"9": ["t1"]}}),
    ],
)
def test_a_rule_holds_for_those_who_meet_it_alone(
    platforms: Platforms, nelly: Person, provider: str, rule: str, target: str, grant: dict[str, object]
) -> None:
    token = None if provider == "game_store" else visits.tokens(provider).access

    def holds() -> bool:
        return answer(
            rule=rule, target=target, provider=provider, platform_id=nelly.id_on(provider), token=token
        )

    before = holds()
    for name, value in grant.items():
        setattr(nelly, name, value)
    after = holds()

    assert (before, after) == (False, True)


def test_a_former_patron_supports_nobody(platforms: Platforms, nelly: Person) -> None:
    nelly.campaigns = {"9": "former_patron", "10": "active_patron"}
    token = visits.tokens("membership").access

    assert not membership.supports(token, "9")
    assert membership.supports(token, "10")


def test_a_private_list_of_games_owns_nothing(platforms: Platforms, nelly: Person) -> None:
    nelly.games, nelly.shows_games = {440}, False

    assert not game_store.owns(GAME_STORE_ID, "440")


def test_having_an_account_is_known_without_asking(platforms: Platforms) -> None:
    assert answer(rule="has_account", target="", provider="video", platform_id="1", token=None)
    assert platforms.requests == []


def test_a_rule_of_another_platform_is_a_mistake_of_ours(platforms: Platforms) -> None:
    with pytest.raises(ValueError, match="game_store does not know the rule follows"):
        answer(rule="follows", target="1", provider="game_store", platform_id="1", token=None)


def test_a_revoked_token_is_refused(platforms: Platforms) -> None:
    tokens = {provider: visits.tokens(provider).access for provider in ("chat", "streaming", "membership")}
    video_token = visits.tokens("video").access
    platforms.grants.revoke_all()

    with pytest.raises(TokenRefused):
        chat.in_server(tokens["chat"], "77")
    with pytest.raises(TokenRefused):
        streaming.follows(tokens["streaming"], STREAMING_ID, "1")
    with pytest.raises(TokenRefused):
        membership.supports(tokens["membership"], "1")
    with pytest.raises(TokenRefused):
        video.subscribes_to(video_token, "UC7")


def test_an_account_that_never_used_the_video_platform_subscribes_to_nothing(platforms: Platforms) -> None:
    token = visits.tokens("video").access
    error = {
        "error": {"code": 401, "errors": [{"domain": "youtube.header", "reason": "youtubeSignupRequired"}]}
    }
    platforms.scripted["/youtube/v3/subscriptions"] = (401, error, {})

    assert not video.subscribes_to(token, "UC7")


@pytest.mark.parametrize("reason", ["quotaExceeded", "rateLimitExceeded"])
def test_a_used_up_quota_is_no_refusal_of_the_person(platforms: Platforms, reason: str) -> None:
    token = visits.tokens("video").access
    error = {"error": {"code": 403, "errors": [{"reason": reason}]}}
    platforms.scripted["/youtube/v3/subscriptions"] = (403, error, {})

    with pytest.raises(PlatformUnavailable):
        video.subscribes_to(token, "UC7")


def test_a_permission_that_was_not_granted_asks_for_another_sign_in(platforms: Platforms) -> None:
    platforms.withheld = {"https://www.googleapis.com/auth/youtube.readonly", "guilds.members.read"}

    with pytest.raises(TokenRefused):
        video.subscribes_to(visits.tokens("video").access, "UC7")
    with pytest.raises(TokenRefused):
        chat.in_server(visits.tokens("chat").access, "77")


@pytest.mark.parametrize(
    ("scripted", "wait"),
    [
        ((429, {"message": "slow", "retry_after": 3.2}, {"Retry-After": "3.2"}), timedelta(seconds=4)),
        ((429, {}, {}), timedelta(minutes=1)),
        ((429, {}, {"Retry-After": "999999"}), timedelta(hours=1)),
        ((503, "down", {}), None),
        ((302, "", {"Location": "http://127.0.0.1:1/"}), None),
        ((200, "no JSON", {}), None),
        ((200, "x" * 1_100_000, {}), None),
    ],
)
def test_a_platform_that_gives_no_answer_is_unavailable(
    platforms: Platforms, scripted: tuple[int, object, dict[str, str]], wait: timedelta | None
) -> None:
    token = visits.tokens("chat").access
    platforms.scripted["/api/v10/users/@me"] = scripted

    with pytest.raises(PlatformUnavailable) as caught:
        chat.profile(token)

    assert caught.value.retry_after == wait


def test_a_platform_that_is_gone_is_unavailable(platforms: Platforms, settings: Settings) -> None:
    token = visits.tokens("chat").access
    platforms.__exit__(None, None, None)

    with pytest.raises(PlatformUnavailable):
        chat.profile(token)


def test_a_code_is_good_once_for_its_verifier_and_address(platforms: Platforms) -> None:
    def exchange(code: str, verifier: str = "a verifier", address: str = visits.CALLBACK) -> object:
        return oauth2.exchange("chat", code=code, redirect_uri=address, verifier=verifier, at=NOON)

    used = visits.code("chat")
    exchange(used)

    with pytest.raises(BadProof):
        exchange(used)
    with pytest.raises(BadProof):
        exchange(visits.code("chat"), verifier="another")
    with pytest.raises(BadProof):
        exchange(visits.code("chat"), address=f"{visits.CALLBACK}/")


def test_tokens_do_not_stand_in_tracebacks(platforms: Platforms) -> None:
    tokens = visits.tokens("chat")

    assert tokens.access not in repr(tokens)
    assert tokens.refresh not in repr(tokens)


@try_each(
    ("name", "cleaned"),
    [("Ann\0 \u202eB\n", "Ann B"), ("x" * 300, "x" * 200), (None, ""), ("\ud800", ""), (" ", "")],
)
def test_names_are_made_fit_for_the_database(name: object, cleaned: str) -> None:
    assert clean(name) == cleaned
