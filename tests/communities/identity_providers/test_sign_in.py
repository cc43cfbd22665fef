"""Signing in with each platform, over real HTTP to a server that enforces its rules."""

import dataclasses
from typing import Any

import jwt
import pytest
from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialAccount
from django.test import Client
from pytest_django import Settings

from communities.gate import throttling
from communities.models import Identity, Member, SourceToken, User
from communities.services.people import identities
from tests.factories import CommunityFactory, IdentityFactory, UserFactory
from tests.support.identity_providers import browser, identity, visits
from tests.support.identity_providers.people import Person
from tests.support.identity_providers.server import Platforms

OAUTH2 = ["chat", "video", "streaming", "membership"]
ALL = [*OAUTH2, "game_store"]

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("provider", ALL)
def test_people_sign_in_with_each_source(
    platforms: Platforms, nelly: Person, client: Client, provider: str
) -> None:
    response = browser.sign_in(client, provider)

    found = Identity.objects.get()
    assert (response.status_code, response["Location"]) == (302, "/account/")
    assert (found.provider, found.platform_id, found.name) == (provider, nelly.id_on(provider), "Nelly")
    assert browser.user_of(client) == found.user_id
    assert SourceToken.objects.exists() is (provider != "game_store")
    assert SocialAccount.objects.get().extra_data == {"name": "Nelly"}


@pytest.mark.parametrize("provider", ALL)
def test_a_second_sign_in_is_the_same_user(platforms: Platforms, provider: str) -> None:
    first, second = Client(), Client()

    browser.sign_in(first, provider)
    browser.sign_in(second, provider)

    assert browser.user_of(first) == browser.user_of(second) is not None
    assert User.objects.count() == 1


def test_the_server_of_a_community_makes_a_member(
    platforms: Platforms, nelly: Person, client: Client
) -> None:
    community = CommunityFactory.create()
    nelly.guilds = {str(community.pk): ["7"]}

    browser.sign_in(client, "chat")

    member = Member.objects.get()
    assert (member.community_id, member.user_id, member.role_ids) == (
        community.pk,
        browser.user_of(client),
        ["7"],
    )


def test_an_inactive_user_is_not_signed_in(platforms: Platforms, nelly: Person, client: Client) -> None:
    IdentityFactory.create(user=UserFactory.create(is_active=False), platform_id=nelly.chat_id)

    response = browser.sign_in(client, "chat")

    assert response["Location"] == "/account/login/"  # as for a wrong password
    assert browser.user_of(client) is None


def test_an_e_mail_address_takes_over_no_account(platforms: Platforms, nelly: Person, client: Client) -> None:
    owner = UserFactory.create(email=nelly.email)
    EmailAddress.objects.create(user=owner, email=nelly.email, verified=True, primary=True)

    browser.sign_in(client, "video")

    assert browser.user_of(client) not in (None, owner.pk)
    assert EmailAddress.objects.count() == 1
    assert not User.objects.filter(email=nelly.email).exclude(pk=owner.pk).exists()


def test_people_come_back_to_where_they_were(platforms: Platforms, client: Client) -> None:
    assert browser.sign_in(client, "chat", next="/s/poll?x=1")["Location"] == "/s/poll?x=1"


@pytest.mark.parametrize("place", ["https://evil.example/", "//evil.example/", "javascript:alert(1)"])
def test_nobody_is_sent_to_another_site(platforms: Platforms, client: Client, place: str) -> None:
    assert browser.sign_in(client, "chat", next=place)["Location"] == "/account/"


def test_the_authorize_page_is_asked_for_what_we_need_and_nothing_else(
    platforms: Platforms, client: Client
) -> None:
    query = visits.query_of(
        browser.leave(client, "chat", scope="guilds.join", auth_params="prompt=none", process="redirect")
    )

    assert query.pop("state") != ""
    assert len(query.pop("code_challenge")) == 43
    assert query == {
        "response_type": "code",
        "client_id": "our-client-id",
        "redirect_uri": "http://127.0.0.1:8000/account/sources/chat/callback/",
        "scope": "identify guilds guilds.members.read",
        "code_challenge_method": "S256",
    }


def test_a_forged_host_does_not_move_the_redirect(
    platforms: Platforms, client: Client, settings: Settings
) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    client.defaults["HTTP_HOST"] = "evil.example"

    query = visits.query_of(browser.leave(client, "streaming"))

    assert query["redirect_uri"] == "http://127.0.0.1:8000/account/sources/streaming/callback/"


@pytest.mark.parametrize("provider", ALL)
def test_a_sign_in_begins_by_post_alone(platforms: Platforms, client: Client, provider: str) -> None:
    page = client.get(f"/account/sources/{provider}/login/")

    assert page.status_code == 200
    assert b'<form method="post"' in page.content
    assert b"http-equiv" not in page.content
    assert "socialaccount_states" not in client.session


def test_a_sign_in_needs_the_token_of_our_form(platforms: Platforms) -> None:
    client = Client(enforce_csrf_checks=True)

    assert client.post("/account/sources/chat/login/").status_code == 403


@pytest.mark.parametrize("provider", [*ALL, "web", "google"])
def test_a_source_without_credentials_does_not_exist(client: Client, provider: str) -> None:
    login, callback = (f"/account/sources/{provider}/{part}/" for part in ("login", "callback"))

    assert {client.get(login).status_code, client.post(login).status_code} == {404}
    assert client.get(callback).status_code == 404


def test_the_sign_in_page_offers_what_is_configured(
    platforms: Platforms, client: Client, settings: Settings
) -> None:
    off = dataclasses.replace(settings.SIGN_IN_PROVIDERS["video"], client_id="", client_secret="")
    settings.SIGN_IN_PROVIDERS = settings.SIGN_IN_PROVIDERS | {"video": off}

    page = client.get("/account/login/?next=/s/poll").content.decode()

    assert "Continue with Discord" in page
    assert "Continue with YouTube" not in page
    assert page.count('name="next" value="/s/poll"') >= 4


def test_attempts_of_one_address_are_limited(
    platforms: Platforms, client: Client, monkeypatch: pytest.MonkeyPatch, redis: object
) -> None:
    monkeypatch.setattr("communities.accounts.providers.views.ATTEMPTS", 2)

    statuses = [client.post("/account/sources/chat/login/").status_code for _ in range(3)]

    assert statuses == [200, 200, 429]


def test_a_sign_in_does_not_count_against_its_address(
    platforms: Platforms, monkeypatch: pytest.MonkeyPatch, redis: object
) -> None:
    monkeypatch.setattr("communities.accounts.providers.views.ATTEMPTS", 2)

    users = [
        browser.user_of(each) for each in (Client(), Client(), Client()) if browser.sign_in(each, "chat")
    ]

    assert None not in users


# --- Each rule, broken once ---


def _refused(client: Client, response: Any, status: int = 400) -> bool:
    return (response.status_code, browser.user_of(client), User.objects.count()) == (status, None, 0)


@pytest.mark.parametrize("provider", ALL)
def test_a_state_of_another_session_is_refused(platforms: Platforms, client: Client, provider: str) -> None:
    back = browser.back_from(client, provider)

    thief = Client()

    assert _refused(thief, thief.get(back))


@pytest.mark.parametrize("provider", ALL)
def test_a_state_is_good_once(platforms: Platforms, client: Client, provider: str) -> None:
    back = browser.back_from(client, provider)
    first = client.get(back)
    client.logout()

    second = client.get(back)

    assert (first.status_code, second.status_code) == (302, 400)
    assert browser.user_of(client) is None


@pytest.mark.parametrize("provider", ALL)
def test_an_unknown_state_is_refused(platforms: Platforms, client: Client, provider: str) -> None:
    back = browser.back_from(client, provider)
    state = visits.query_of(back).get("state", "")

    assert _refused(client, client.get(back.replace(state, "another")))
    assert _refused(client, client.get(back.replace(f"state={state}", "")))


def test_a_state_of_another_source_is_refused(platforms: Platforms, client: Client) -> None:
    back = browser.back_from(client, "chat")

    assert _refused(client, client.get(back.replace("/chat/", "/streaming/")))


def test_a_state_of_before_somebody_signed_in_is_refused(platforms: Platforms, client: Client) -> None:
    back = browser.back_from(client, "chat")
    client.force_login(UserFactory.create(), backend="allauth.account.auth_backends.AuthenticationBackend")

    assert client.get(back).status_code == 400
    assert not Identity.objects.exists()


@pytest.mark.parametrize("provider", OAUTH2)
def test_a_code_of_another_attempt_is_refused(platforms: Platforms, client: Client, provider: str) -> None:
    """Without the verifier of this session, a stolen code is worth nothing."""
    thief = Client()
    stolen = visits.query_of(browser.back_from(client, provider))["code"]
    own = visits.query_of(browser.back_from(thief, provider))

    response = thief.get(f"/account/sources/{provider}/callback/", own | {"code": stolen})

    assert _refused(thief, response)


def test_a_wrong_client_secret_is_refused(platforms: Platforms, client: Client, settings: Settings) -> None:
    wrong = dataclasses.replace(settings.SIGN_IN_PROVIDERS["chat"], client_secret="wrong")
    settings.SIGN_IN_PROVIDERS = settings.SIGN_IN_PROVIDERS | {"chat": wrong}

    assert _refused(client, browser.sign_in(client, "chat"))


def test_an_address_that_is_not_registered_is_refused_by_the_platform(
    platforms: Platforms, client: Client
) -> None:
    platforms.redirect_uris = {"http://127.0.0.1:8000/account/sources/chat/callback/"}

    assert browser.sign_in(client, "chat").status_code == 302
    with pytest.raises(AssertionError, match="redirect_uri is not registered"):
        browser.sign_in(Client(), "streaming")


@pytest.mark.parametrize("provider", ALL)
def test_somebody_who_cancels_reads_a_kind_page(platforms: Platforms, client: Client, provider: str) -> None:
    response = browser.sign_in(client, provider, person=None)

    assert _refused(client, response, 200)
    assert b"You have cancelled" in response.content


def test_an_error_of_the_platform_is_a_page_without_its_words(platforms: Platforms, client: Client) -> None:
    state = visits.query_of(browser.back_from(client, "chat"))["state"]
    answer = {"state": state, "error": "server_error", "error_description": "<b>call 0800</b>"}

    response = client.get("/account/sources/chat/callback/", answer)

    assert _refused(client, response)
    assert b"0800" not in response.content


@pytest.mark.parametrize(
    ("provider", "path"),
    [("chat", "/api/oauth2/token"), ("video", "/oauth2/v3/certs"), ("streaming", "/helix/users")],
)
def test_a_platform_that_is_down_is_told(
    platforms: Platforms, client: Client, provider: str, path: str
) -> None:
    platforms.scripted[path] = (503, "", {})

    assert _refused(client, browser.sign_in(client, provider), 503)


CLAIMS: dict[str, Any] = {
    "another nonce": {"nonce": "another"},
    "no nonce": {"nonce": None},
    "another audience": {"aud": "somebody-else"},
    "several audiences": {"aud": ["our-client-id", "somebody-else"]},
    "another authorized party": {"azp": "somebody-else"},
    "another issuer": {"iss": "https://evil.example"},
    "the real issuer in place of ours": {"iss": "https://accounts.google.com"},
    "expired": {"exp": 1_700_000_000},
    "of the future": {"iat": 4_000_000_000, "exp": 4_000_003_600},
    "nobody": {"sub": ""},
    "no subject": {"sub": None},
}


@pytest.mark.parametrize("change", CLAIMS.values(), ids=CLAIMS.keys())
def test_an_id_token_with_a_wrong_claim_is_refused(
    platforms: Platforms, client: Client, change: dict[str, Any]
) -> None:
    platforms.claims = lambda claims: {
        name: value for name, value in (claims | change).items() if value is not None
    }

    assert _refused(client, browser.sign_in(client, "video"))


def test_an_id_token_with_the_signature_of_another_key_is_refused(
    platforms: Platforms, client: Client
) -> None:
    platforms.signed_by = identity.key(2)

    assert _refused(client, browser.sign_in(client, "video"))


@pytest.mark.parametrize("algorithm", ["none", "HS256"])
def test_an_id_token_by_another_algorithm_is_refused(
    platforms: Platforms, client: Client, monkeypatch: pytest.MonkeyPatch, algorithm: str
) -> None:
    sign = identity.id_token
    secret = "" if algorithm == "none" else "our-client-secret-that-is-long-enough"

    def weak(claims: dict[str, Any], **_: Any) -> str:
        return sign(claims, signed_by=secret or None, algorithm=algorithm)

    def unsigned(claims: dict[str, Any], **_: Any) -> str:
        return jwt.encode(claims, "", algorithm="none", headers={"kid": identity.KEY_ID})

    monkeypatch.setattr(identity, "id_token", unsigned if algorithm == "none" else weak)

    assert _refused(client, browser.sign_in(client, "video"))


def _tampered(client: Client, **changes: str) -> dict[str, str]:
    """The game store's answer, with some fields changed."""
    fields = visits.query_of(browser.back_from(client, "game_store"))
    return fields | {name.replace("__", "."): value for name, value in changes.items()}


ASSERTIONS = {
    "a claimed id of another host": {
        "openid__claimed_id": "https://evil.example/openid/id/76561197960435530",
        "openid__identity": "https://evil.example/openid/id/76561197960435530",
    },
    "an endpoint of another": {"openid__op_endpoint": "https://evil.example/openid/login"},
    "a return address of another": {"openid__return_to": "https://evil.example/"},
    "another identity than the claimed one": {"openid__identity": "http://127.0.0.1/openid/id/1"},
    "too little signed": {"openid__signed": "signed,op_endpoint,return_to,response_nonce,assoc_handle"},
    "another mode": {"openid__mode": "setup_needed"},
    "another namespace": {"openid__ns": "http://openid.net/signon/1.1"},
    "an old nonce": {"openid__response_nonce": "2020-01-01T00:00:00Zabc"},
    "a nonce of another form": {"openid__response_nonce": "abc"},
}


@pytest.mark.parametrize("is_signed", [True, False], ids=["confirmed", "unconfirmed"])
@pytest.mark.parametrize("changes", ASSERTIONS.values(), ids=ASSERTIONS.keys())
def test_an_assertion_that_is_not_for_us_is_refused(
    platforms: Platforms, client: Client, changes: dict[str, str], is_signed: bool, redis: object
) -> None:
    """Whether or not the platform confirms it."""
    fields = _tampered(client, **changes)
    if is_signed:
        fields["openid.sig"] = platforms.assertions.sign(fields)

    assert _refused(client, client.get("/account/sources/game_store/callback/", fields))


@pytest.mark.parametrize("signature", ["", "AAAA"])
def test_an_assertion_without_the_signature_of_the_platform_is_refused(
    platforms: Platforms, client: Client, signature: str, redis: object
) -> None:
    fields = _tampered(client, openid__sig=signature)

    assert _refused(client, client.get("/account/sources/game_store/callback/", fields))


@pytest.mark.parametrize("platform_id", ["7656119796043553", "765611979604355301", "x" * 17, "../../etc/pas"])
def test_a_claimed_id_of_another_form_is_refused(
    platforms: Platforms, client: Client, nelly: Person, platform_id: str
) -> None:
    """Even if the platform confirms it."""
    nelly.game_store_id = platform_id

    assert _refused(client, browser.sign_in(client, "game_store"))


def test_the_platform_does_not_confirm_another_person(
    platforms: Platforms, client: Client, redis: object
) -> None:
    other = f"{platforms.url}/openid/id/76561197960435531"

    fields = _tampered(client, openid__claimed_id=other, openid__identity=other)

    assert _refused(client, client.get("/account/sources/game_store/callback/", fields))


@pytest.mark.parametrize("is_down", [False, True], ids=["with Redis", "without Redis"])
def test_a_nonce_is_good_once_even_if_the_platform_forgets_it(
    platforms: Platforms, monkeypatch: pytest.MonkeyPatch, redis: object, is_down: bool
) -> None:
    platforms.assertions.confirms_again = True
    if is_down:
        monkeypatch.setattr(throttling.outage, "lasts", lambda: True)
    victim, thief = Client(), Client()
    first = visits.query_of(browser.back_from(victim, "game_store"))
    assert victim.get("/account/sources/game_store/callback/", first).status_code == 302
    own = visits.query_of(browser.leave(thief, "game_store"))
    state = visits.query_of(own["openid.return_to"])["state"]
    replayed = first | {"state": state, "openid.return_to": own["openid.return_to"]}
    replayed["openid.sig"] = platforms.assertions.sign(replayed)  # as if the platform had signed it

    response = thief.get("/account/sources/game_store/callback/", replayed)

    assert (response.status_code, browser.user_of(thief)) == (400, None)


def test_a_parameter_that_is_there_twice_is_refused(platforms: Platforms, client: Client) -> None:
    back = browser.back_from(client, "game_store")

    assert _refused(client, client.get(f"{back}&openid.identity=x"))


@pytest.mark.parametrize("process", ["login", "connect"])
def test_the_worker_joins_what_communities_wrote_about_the_account(
    platforms: Platforms, client: Client, monkeypatch: pytest.MonkeyPatch, process: str
) -> None:
    woken: list[tuple[str, dict[str, Any]]] = []
    if process == "connect":
        browser.sign_in(client, "video")
    monkeypatch.setattr("communities.ground.queue.wake", lambda task, **kwargs: woken.append((task, kwargs)))

    browser.sign_in(client, "chat", process=process)

    assert (identities.JOIN, {"user_id": browser.user_of(client)}) in woken
