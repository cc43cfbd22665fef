"""The key's community and its settings (rules 1.10 and 1.11)."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.conf.locale import LANG_INFO
from django.utils import timezone

from communities.ground import brands
from communities.models import Community, CommunitySettings, User
from communities.services.tenants.places import is_language_tag
from tests.factories import CommunityFactory
from tests.support.api_requests import ask
from tests.support.caller import Caller, faults, refusal

AS_EVER: dict[str, Any] = {
    "locale": None,
    "time_zone": "UTC",
    "default_anonymous_mode": "no",
    "use_xp": True,
    "xp_name": "XP",
    "xp_per_question": 10,
    "use_leader_board": True,
    "allow_sign_up": False,
    "require_second_factor": False,
    "allowed_origins": [],
    "thank_you_type": "default",
    "thank_you_custom_message": None,
    "thank_you_custom_label": None,
    "privacy_url": None,
    **dict.fromkeys(brands.FIELDS),
}


@pytest.fixture
def caller(db: None) -> Caller:
    return Caller()


@pytest.mark.django_db
def test_a_zone_that_an_earlier_request_has_left_behind_moves_no_time() -> None:
    community = CommunityFactory.create(created_date=datetime(2024, 5, 1, 9, tzinfo=UTC))
    timezone.activate("Asia/Tokyo")
    try:
        answer = Caller("member", community=community).get("")
    finally:
        timezone.deactivate()

    assert answer.json()["created_date"] == "2024-05-01T09:00:00Z"


def test_a_community_with_everything(db: None) -> None:
    user = User.objects.create(name="Ada")
    community = Community.objects.create(
        id=2**63 - 1,
        name="Harbour Chess Club",
        tier="vip",
        bot_credits=3,
        locale="en-GB",
        icon_url="https://example.org/icon.png",
        created_date=datetime(2024, 5, 1, 9, 0, 0, 123456, tzinfo=UTC),
        total_project_count=5,
        active_project_count=2,
        topics=["chess", "tea"],
        user_setup=user,
    )
    caller = Caller("member", community=community)

    answer = caller.get("")

    assert answer.json() == {
        "id": "9223372036854775807",
        "name": "Harbour Chess Club",
        "platform": "chat",
        "tier": "vip",
        "mode": "live",
        "bot_credits": 3,
        "locale": "en-GB",
        "icon_url": "https://example.org/icon.png",
        "created_date": "2024-05-01T09:00:00Z",
        "total_project_count": 5,
        "active_project_count": 2,
        "topics": ["chess", "tea"],
        "user_setup_id": str(user.pk),
    }


def test_the_communities_of_a_key_are_its_own(caller: Caller) -> None:
    Caller()

    answer = ask("GET", "/v1/communities", key=caller.secret)

    assert answer.json() == {
        "data": [caller.get("").json()],
        "pagination": {"page": 1, "per_page": 25, "total": 1, "has_more": False},
    }


def test_a_new_communitys_settings(caller: Caller) -> None:
    assert caller.get("/settings").json() == {"community_id": str(caller.community.pk), **AS_EVER}


def test_a_community_that_never_had_settings_has_those_of_a_new_one(caller: Caller) -> None:
    CommunitySettings.objects.all().delete()
    told = {"community_id": str(caller.community.pk), **AS_EVER}

    assert caller.get("/settings").json() == told
    assert caller.patch("/settings", {"xp_name": "Tempi"}).json() == {**told, "xp_name": "Tempi"}


def test_all_settings_change(caller: Caller) -> None:
    changes = {
        "allow_sign_up": True,
        "require_second_factor": False,  # `accounts/test_required_factors`
        "locale": "pt-BR",
        "time_zone": "America/Sao_Paulo",
        "default_anonymous_mode": "more_anonymous",
        "use_xp": False,
        "xp_name": "Tempi",
        "xp_per_question": 0,
        "use_leader_board": False,
        "thank_you_type": "custom",
        "thank_you_custom_message": "Thanks, and good luck.",
        "thank_you_custom_label": "Thanks",
        "privacy_url": "https://club.example/privacy",
        "logo_url": "https://club.example/logo.png",
        "accent_color": "FFee00",
        "background_color": "101040",
        "background_url": "https://club.example/back.png",
        "font": "rounded",
        "corners": "square",
        "allowed_origins": ["https://club.example", "https://play.club.example:8443"],
    }

    changed = caller.patch("/settings", changes).json()

    assert changed == caller.get("/settings").json() == {"community_id": str(caller.community.pk), **changes}


@pytest.mark.parametrize("locale", ["en", "EN-gb", "pt_BR", "zh-Hant-TW", "gsw", "yue-HK", "ckb"])
def test_the_tags_of_known_languages_are_accepted(caller: Caller, locale: str) -> None:
    assert caller.patch("/settings", {"locale": locale}).json()["locale"] == locale


@pytest.mark.parametrize("locale", ["xx", "xx-GB", "eng", "english", "en-", "e", "qaa", "in English"])
def test_tags_of_unknown_languages_are_refused(caller: Caller, locale: str) -> None:
    answer = caller.patch("/settings", {"locale": locale})

    assert faults(answer) == {("locale", "invalid")}
    assert "the tag of a known language, such as en or pt-BR." in answer.json()["message"]


def test_all_languages_that_django_knows_are_known() -> None:
    assert [tag for tag in LANG_INFO if not is_language_tag(tag)] == []


def test_all_settings_may_be_null(caller: Caller) -> None:
    never_null: dict[str, object] = {
        "time_zone": "UTC",
        "allow_sign_up": False,
        "require_second_factor": False,
    }
    never_null["allowed_origins"] = []
    nothing = dict.fromkeys(AS_EVER) | never_null

    assert caller.patch("/settings", nothing).json() == {"community_id": str(caller.community.pk), **nothing}


def test_only_settings_that_are_sent_change(caller: Caller) -> None:
    caller.patch("/settings", {"locale": "de"})

    assert caller.patch("/settings", {"use_xp": False}).json()["locale"] == "de"
    assert caller.patch("/settings").json()["use_xp"] is False


def test_the_community_of_settings_cannot_be_changed(caller: Caller) -> None:
    answer = caller.patch("/settings", {"community_id": "1"})

    assert answer.json()["community_id"] == str(caller.community.pk)


@pytest.mark.parametrize(
    ("field", "good"),
    [
        ("xp_per_question", 2**31 - 1),
        ("xp_name", "x" * 50),
        ("thank_you_custom_message", "x" * 4_000),
        ("thank_you_custom_label", "x" * 80),
        ("locale", "zh-Hant-TW"),
        ("locale", "de"),
        ("time_zone", "America/Argentina/Buenos_Aires"),
        ("time_zone", "UTC"),
        ("default_anonymous_mode", "yes"),
        ("thank_you_type", "form_standard"),
    ],
)
def test_settings_at_their_bounds(caller: Caller, field: str, good: object) -> None:
    assert caller.patch("/settings", {field: good}).json()[field] == good


@pytest.mark.parametrize(
    ("field", "bad", "code"),
    [
        ("xp_per_question", -1, "too_small"),
        ("xp_per_question", 2**31, "too_large"),
        ("xp_per_question", 1.5, "invalid_type"),
        ("xp_per_question", "10", "invalid_type"),
        ("xp_per_question", True, "invalid_type"),
        ("xp_name", "x" * 51, "too_long"),
        ("xp_name", 5, "invalid_type"),
        ("xp_name", {}, "invalid_type"),
        ("thank_you_custom_message", "x" * 4_001, "too_long"),
        ("thank_you_custom_label", "x" * 81, "too_long"),
        ("locale", "english please", "invalid"),
        ("locale", "de\nX", "invalid"),
        ("locale", "x" * 36, "invalid"),
        ("time_zone", "Oslo", "invalid"),
        ("time_zone", "../../etc/passwd", "invalid"),
        ("time_zone", "", "blank"),
        ("time_zone", None, "null"),
        ("use_xp", "yes", "invalid_type"),
        ("use_leader_board", 0, "invalid_type"),
        ("default_anonymous_mode", "maybe", "invalid_choice"),
        ("thank_you_type", "CUSTOM", "invalid_choice"),
        ("thank_you_type", [], "invalid_type"),
    ],
)
def test_settings_past_their_bounds(caller: Caller, field: str, bad: object, code: str) -> None:
    answer = caller.patch("/settings", {field: bad, "use_xp" if field != "use_xp" else "xp_name": None})

    assert refusal(answer) == (400, "invalid_request")
    assert faults(answer) == {(field, code)}
    assert caller.get("/settings").json()["use_xp"] is True


def test_all_violations_are_reported_at_once(caller: Caller) -> None:
    answer = caller.patch("/settings", {"xp_name": 1, "use_xp": 1, "locale": 1, "unknown": 1})

    assert {field for field, _ in faults(answer)} == {"xp_name", "use_xp", "locale"}
    assert answer.json()["message"].endswith("There are 2 more violations.")
    assert answer["X-Ignored-Fields"] == "unknown"
