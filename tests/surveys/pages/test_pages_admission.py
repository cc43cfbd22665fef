"""The page for people whom its project does not admit, and their return."""

from __future__ import annotations

import html
import re
from typing import Any
from urllib.parse import urlencode

import pytest
from django.utils import timezone

from communities.gate import throttling
from communities.identity_providers import ProviderCredentials, rules
from communities.identity_providers.failures import PlatformUnavailable, TokenRefused
from communities.models import CommunitySettings, Member
from communities.services.people import platform_members
from surveys.models import Conversation, Project
from surveys.pages.respondent import kept_forms
from surveys.services.conversations import admission
from tests.factories import CommunitySettingsFactory, IdentityFactory, VerifiedSourceFactory
from tests.support.surveys import scenario
from tests.support.surveys.scenario import CHOICE, TEXT
from tests.support.surveys.visitor import Visitor

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("in_no_hurry", "redis")]
ROLE = "31"


def _project(
    *, participation: str = "private", privacy_mode: str = "transparent", **audience: Any
) -> Project:
    delivery = {"audience": {"participation": participation, **audience}}
    return scenario.project(
        {**TEXT, "prompt": "Why?"}, participation=participation, privacy_mode=privacy_mode, delivery=delivery
    )


def _signed_in(made: Project, person: Member) -> Visitor:
    visitor = Visitor(made)
    visitor.client.force_login(person.user)
    return visitor


def _links(visitor: Visitor) -> dict[str, str]:
    found = re.findall(
        r'<a class="button[^"]*" href="([^"]*)"[^>]*>([^<]*)</a>', visitor.response.content.decode()
    )
    return {html.unescape(label): html.unescape(address) for address, label in found}


@pytest.fixture
def tells(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let the chat platform answer with these roles."""

    def tell(*roles: str) -> None:
        def refresh(*, user_id: int, at: Any, **_more: object) -> None:
            Member.objects.filter(user_id=user_id).update(role_ids=list(roles), roles_told_at=at)

        monkeypatch.setattr(platform_members, "refresh", refresh)

    return tell


def test_somebody_unknown_is_led_to_the_sign_in_and_back() -> None:
    made = _project()

    visitor = Visitor(made).look()

    assert visitor.status == 403
    assert "This is for members of Community 1." in visitor.page
    assert _links(visitor) == {"Sign in": f"/account/login/?next=%2Fs%2F{made.slug}"}


def test_where_anybody_may_become_a_member_an_account_can_be_made() -> None:
    made = _project()
    CommunitySettingsFactory.create(community_id=1, allow_sign_up=True)
    visitor = Visitor(made).look()

    assert _links(visitor)["Make an account"] == f"/account/signup/?community=1&next=%2Fs%2F{made.slug}"
    CommunitySettings.objects.update(allow_sign_up=False)
    assert list(_links(visitor.look())) == ["Sign in"]


def test_where_anybody_may_become_a_member_somebody_signed_in_joins_and_is_back() -> None:
    made, stranger = _project(), scenario.member("Bo", number=2)
    CommunitySettingsFactory.create(community_id=1, allow_sign_up=True)
    visitor = _signed_in(made, stranger).look()
    address = _links(visitor)["Become a member"]

    joined = visitor.client.post(address, {"csrfmiddlewaretoken": _token(visitor, address)})

    assert address == f"/account/join/1/?next=%2Fs%2F{made.slug}"
    assert (joined.status_code, joined["Location"]) == (302, f"/s/{made.slug}")
    assert "Why?" in visitor.look().page


@pytest.mark.parametrize("elsewhere", ["https://evil.example/", "//evil.example", "/\\evil.example"])
def test_joining_leads_to_no_other_site(elsewhere: str) -> None:
    made, stranger = _project(), scenario.member("Bo", number=2)
    CommunitySettingsFactory.create(community_id=1, allow_sign_up=True)
    visitor = _signed_in(made, stranger)
    address = f"/account/join/1/?{urlencode({'next': elsewhere})}"

    joined = visitor.client.post(address, {"csrfmiddlewaretoken": _token(visitor, address)})

    assert joined["Location"] == "/account/"


def _token(visitor: Visitor, address: str) -> str:
    page = visitor.client.get(address).content.decode()
    return page.partition('name="csrfmiddlewaretoken" value="')[2].partition('"')[0]


def test_in_a_frame_the_sign_in_opens_in_a_window_of_its_own() -> None:
    visitor = Visitor(_project(), is_framed=True).look()

    assert re.search(r'href="/account/login/[^"]*" target="_blank" rel="noopener"', visitor.page)


@pytest.mark.parametrize(
    ("privacy_mode", "told"),
    [
        ("transparent", "Everybody in the community can see who answered what."),
        ("semi-private", "Only the authors and the community’s admins can see"),
        ("anonymous", "Your answers are anonymous"),
    ],
)
def test_somebody_signed_in_reads_in_whose_name_they_answer_and_who_can_see_it(
    privacy_mode: str, told: str
) -> None:
    made = _project(privacy_mode=privacy_mode)

    page = _signed_in(made, scenario.member("Ann")).look().page
    unknown = Visitor(_project(participation="open_web")).look().page

    assert "You answer as <b>Ann</b>." in page
    assert f'href="/account/logout/?next=%2Fs%2F{made.slug}"' in page
    assert told in page
    assert ("Your answers are anonymous" in page) is (privacy_mode == "anonymous")
    assert "You answer as" not in unknown


def test_a_missing_role_is_named_and_looked_for_again_by_a_button(tells: Any) -> None:
    tells("99")
    made, member = _project(required_role_ids=[ROLE]), scenario.member("Ann")
    visitor = _signed_in(made, member).look()
    told_first = (visitor.status, "A role is missing." in visitor.page, "Check again" in visitor.page)
    tells(ROLE)
    throttling.forget(admission.counted_as(community_id=1, user_id=member.user_id))

    visitor.send("check")

    assert told_first == (403, True, True)
    assert (visitor.status, "Why?" in visitor.page) == (200, True)


def test_looking_again_in_vain_says_so_again(tells: Any) -> None:
    tells("99")
    visitor = _signed_in(_project(required_role_ids=[ROLE]), scenario.member("Ann")).look()

    visitor.send("check")

    assert (visitor.status, "A role is missing." in visitor.page) == (403, True)


def test_wanted_sources_are_listed_with_a_way_to_connect_an_account(settings: Any) -> None:
    settings.SIGN_IN_PROVIDERS = {
        **settings.SIGN_IN_PROVIDERS,
        "video": ProviderCredentials("video", "id", "secret", "http://127.0.0.1:1"),
    }
    member = scenario.member("Ann")
    wanted = [
        VerifiedSourceFactory.create(community_id=1, label="Subscribers of the Harbour channel"),
        VerifiedSourceFactory.create(community_id=1, provider="game_store", rule="owns", label="Players"),
    ]
    made = _project(verified_source_ids=[source.pk for source in wanted])

    visitor = _signed_in(made, member).look()

    assert visitor.status == 403
    items = re.findall(r"<li>([^<]*)</li>", visitor.page)
    assert items == ["Subscribers of the Harbour channel", "Players"]
    # The game store has no credentials here, so there is nothing to connect.
    back = f"next=%2Fs%2F{made.slug}"
    assert _links(visitor) == {
        "Connect your YouTube account": f"/account/sources/video/login/?process=connect&{back}",
        "Sign in as somebody else": f"/account/logout/?{back}",
    }


def test_a_platform_that_cannot_be_asked_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_question: object) -> bool:
        raise PlatformUnavailable("down")

    monkeypatch.setattr(rules, "answer", fail)
    member = scenario.member("Ann")
    IdentityFactory.create(user=member.user, provider="video", platform_id="v1", proven_at=timezone.now())
    source = VerifiedSourceFactory.create(community_id=1)

    visitor = _signed_in(_project(verified_source_ids=[source.pk]), member).look()

    assert "could not ask the other site" in visitor.page


def test_a_permission_that_was_withdrawn_is_given_again(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_question: object) -> bool:
        raise TokenRefused("withdrawn")

    monkeypatch.setattr(rules, "answer", refuse)
    source = ProviderCredentials("video", "id", "secret", "http://127.0.0.1:1")
    settings.SIGN_IN_PROVIDERS = {**settings.SIGN_IN_PROVIDERS, "video": source}
    member = scenario.member("Ann")
    IdentityFactory.create(user=member.user, provider="video", platform_id="v1", proven_at=timezone.now())
    wanted = VerifiedSourceFactory.create(community_id=1)

    visitor = _signed_in(_project(verified_source_ids=[wanted.pk]), member).look()

    assert "Connect your YouTube account again" in _links(visitor)


def test_what_was_typed_survives_looking_again(tells: Any) -> None:
    tells("99")
    made, member = _project(required_role_ids=[ROLE]), scenario.member("Ann")
    Member.objects.update(role_ids=[ROLE], roles_told_at=timezone.now())
    visitor = _signed_in(made, member).look()
    Member.objects.update(role_ids=[])
    visitor.send(value="Because of the boats")
    for roles in (["99"], [ROLE]):
        tells(*roles)
        throttling.forget(admission.counted_as(community_id=1, user_id=member.user_id))
        visitor.send("check")

    assert "Because of the boats" in visitor.page
    assert "Because" not in visitor.client.cookies[kept_forms.COOKIE].value


def _typed_by_a_member_who_was_signed_out(made: Project, typed: dict[str, Any]) -> Visitor:
    visitor = _signed_in(made, scenario.member("Ann")).look()
    visitor.client.logout()
    return visitor.send(**typed)


@pytest.mark.parametrize("privacy_mode", ["transparent", "anonymous"])
def test_what_was_typed_before_the_sign_in_is_there_afterwards(privacy_mode: str) -> None:
    made = _project(privacy_mode=privacy_mode)
    visitor = _typed_by_a_member_who_was_signed_out(made, {"value": "Because of the boats"})
    refused = (visitor.status, "Because of the boats" in visitor.page)
    visitor.client.force_login(Member.objects.get().user)

    visitor.look()
    back = "Because of the boats" in visitor.page
    visitor.send(value="Because of the boats")

    assert (refused, back) == ((403, True), True)
    assert Conversation.objects.get().answers.get().value == "Because of the boats"
    assert visitor.client.cookies[kept_forms.COOKIE].value == ""


def test_what_was_typed_is_there_for_nobody_else() -> None:
    """Rule 7.970."""
    visitor = _typed_by_a_member_who_was_signed_out(_project(), {"value": "Because of the boats"})
    visitor.client.force_login(scenario.member("Ben").user)

    assert "Because of the boats" not in visitor.look().page

    visitor.client.force_login(Member.objects.order_by("pk")[0].user)
    assert "Because of the boats" in visitor.look().page


def test_chosen_options_are_kept_too() -> None:
    delivery = {"audience": {"participation": "private"}}
    made = scenario.project(CHOICE, participation="private", delivery=delivery)
    option = scenario.script(made).blocks[0].options[1].id
    visitor = _typed_by_a_member_who_was_signed_out(made, {"option": option})
    visitor.client.force_login(Member.objects.get().user)

    visitor.look()

    assert re.search(rf'value="{option}"[^>]* checked', visitor.page)


def test_a_long_text_is_shown_to_be_copied_where_no_cookie_can_hold_it() -> None:
    # Text that cannot be compressed much.
    text = "".join(chr(0x4E00 + (n * 7919) % 20000) for n in range(3000))
    visitor = _typed_by_a_member_who_was_signed_out(_project(), {"value": text})

    assert text in visitor.page
    assert kept_forms.COOKIE not in visitor.client.cookies


def test_what_was_typed_is_kept_for_its_own_page_alone() -> None:
    one, other = _project(), _project()
    visitor = _typed_by_a_member_who_was_signed_out(one, {"value": "Because of the boats"})
    foreign = Visitor(other)
    foreign.client.force_login(Member.objects.get().user)
    foreign.client.cookies[kept_forms.COOKIE] = visitor.client.cookies[kept_forms.COOKIE].value

    assert "Because of the boats" not in foreign.look().page
