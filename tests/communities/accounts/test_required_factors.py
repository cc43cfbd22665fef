"""A community that asks its staff for a second factor. `test_access` walks over all addresses."""

from __future__ import annotations

import re
import time
from typing import Any
from urllib.parse import urlencode

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import TOTP
from django.test import Client, RequestFactory
from django.urls import get_resolver, reverse

from communities import second_factors
from communities.accounts.middleware import OF_FACTORS
from communities.models import AuditEntry, CommunitySettings, User
from tests.factories import CommunityFactory, CommunitySettingsFactory, MemberFactory
from tests.support.accounts import sign_in
from tests.support.browsers import prove_factor
from tests.support.caller import Caller, faults, refusal
from tests.support.staff import Staff, send, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]
SECRET = "JBSWY3DPEHPK3PXP"
PAGE = "communities_communitysettings_change"
ASKS = "Harbour Chess Club asks for a second factor"
LIST = "/admin/surveys/project/"


@pytest.fixture
def staff() -> Staff:
    """An admin without a second factor, whose community asks for one."""
    staff = Staff()
    sign_in(staff.client, staff.user)
    CommunitySettings.objects.filter(pk=staff.community.pk).update(require_second_factor=True)
    return staff


def _add_app(user: User) -> None:
    TOTP.activate(user, SECRET)


def _prove(staff: Staff, *, by: str = "mfa") -> None:
    """The session was opened with the factor."""
    session = staff.client.session
    session["account_authentication_methods"] = [{"method": by, "type": "totp", "at": time.time()}]
    session["account_authentication_methods_user"] = str(staff.user.pk)
    session.save()


def _save(staff: Staff, **values: str) -> Any:
    """Send the community's form; of other fields nothing is changed."""
    page = staff.get(PAGE, staff.community.pk).content.decode()
    fields = dict(re.findall(r'<input type="(?:text|url|number)" name="([^"]*)" value="([^"]*)"', page))
    hidden = re.findall(r'<input type="hidden" name="(initial-[^"]*)" value="([^"]*)"', page)
    boxes = {name: "on" for name in ("use_xp", "use_leader_board") if f'name="{name}"' in page}
    choices = {"default_anonymous_mode": "no", "thank_you_type": "default"}
    return staff.post(PAGE, staff.community.pk, **{**fields, **dict(hidden), **boxes, **choices, **values})


def test_only_an_admin_with_a_second_factor_asks_for_it() -> None:
    staff = Staff()

    refused = _save(staff, require_second_factor="on")
    before = CommunitySettings.objects.get(pk=staff.community.pk).require_second_factor
    _add_app(staff.user)
    _save(staff, require_second_factor="on")

    assert "Staff need a second factor: You have no second factor yourself yet." in text_of(refused)
    assert f'<a href="{reverse("mfa_index")}">Set up a second factor</a>' in refused.content.decode()
    assert not before
    assert CommunitySettings.objects.get(pk=staff.community.pk).require_second_factor


def test_the_change_is_in_the_audit_trail() -> None:
    staff = Staff()
    _add_app(staff.user)

    _save(staff, require_second_factor="on")

    entry = AuditEntry.objects.get(action="settings.updated")
    assert (entry.before, entry.after) == (
        {"require_second_factor": False},
        {"require_second_factor": True},
    )


def test_by_the_interface_the_keys_owner_needs_a_second_factor() -> None:
    caller = Caller()
    change = {"require_second_factor": True}

    refused = caller.patch("/settings", change)
    _add_app(caller.user)
    changed = caller.patch("/settings", change)
    Authenticator.objects.all().delete()
    kept = caller.patch("/settings", {**change, "xp_name": "Tempi"})

    assert refusal(refused) == (400, "invalid_request")
    assert faults(refused) == {("require_second_factor", "not_allowed")}
    assert changed.json()["require_second_factor"] is True
    assert kept.json()["xp_name"] == "Tempi"  # what was on already needs nothing


@pytest.mark.parametrize("access", ["creator", "admin", "superuser", "member"])
def test_staff_without_a_second_factor_are_told_why_and_led_on(access: str, staff: Staff) -> None:
    somebody = staff.beside(access)
    somebody.post("switch_community", staff.community.pk)

    answer = somebody.client.get(LIST)

    assert answer.status_code == 403
    assert ASKS in text_of(answer)
    assert f'href="{reverse("mfa_index")}"' in answer.content.decode()


@pytest.mark.parametrize("access", ["creator", "admin", "superuser"])
def test_staff_with_a_second_factor_work_as_ever(access: str, staff: Staff) -> None:
    somebody = staff.beside(access)
    Authenticator.objects.create(user=somebody.user, type="webauthn", data={"credential": {}})
    _prove(somebody)
    somebody.post("switch_community", staff.community.pk)

    assert somebody.client.get(LIST).status_code == 200


def test_recovery_codes_and_an_account_of_a_platform_are_no_second_factor(staff: Staff) -> None:
    Authenticator.objects.create(user=staff.user, type="recovery_codes", data={"hashes": []})
    session = staff.client.session
    session["account_authentication_methods"] = [{"method": "socialaccount", "provider": "chat", "at": 1.0}]
    session.save()

    assert staff.client.get(LIST).status_code == 403


def test_a_post_is_refused_and_changes_nothing(staff: Staff) -> None:
    answer = staff.post(PAGE, staff.community.pk, name="Another name")

    staff.community.refresh_from_db()
    assert (answer.status_code, staff.community.name) == (403, "Harbour Chess Club")


def test_scripts_get_a_refusal_that_they_can_show(staff: Staff) -> None:
    project = Caller(community=staff.community).make()
    address = reverse("admin:surveys_project_script_export", args=[project["id"]])

    answer = send(staff.client, "get", address)
    part = staff.client.get(LIST, headers={"HX-Request": "true"})

    assert (answer.status_code, answer.json()["error"]) == (403, "forbidden")
    assert answer.json()["message"].startswith("Harbour Chess Club asks its staff for a second factor.")
    assert (part.status_code, part["HX-Refresh"]) == (403, "true")


def test_keys_and_the_set_up_ask_too_and_other_members_are_left_alone(staff: Staff) -> None:
    member = staff.beside("creator")
    member.user.memberships.update(access="member")

    for address in (reverse("account_keys"), reverse("account_setup", args=[staff.community.pk])):
        assert ASKS in text_of(staff.client.get(address))
    assert staff.client.get(reverse("account")).status_code == 200
    assert ASKS not in text_of(member.client.get(reverse("account_keys")))


def test_other_communities_stay_usable(staff: Staff) -> None:
    other = CommunityFactory.create(name="Zebra Club")  # not the first by name
    CommunitySettingsFactory.create(community=other)
    MemberFactory.create(community=other, user=staff.user, access="admin")

    refused = staff.client.get(LIST)
    keys = staff.client.get(reverse("account_keys"))
    staff.post("switch_community", other.pk)

    assert "Go to Zebra Club" in text_of(refused)
    assert reverse("admin:switch_community", args=[other.pk]) in refused.content.decode()
    assert "Zebra Club" in text_of(keys)
    assert ASKS not in text_of(keys)
    assert staff.client.get(LIST).status_code == 200
    assert staff.client.get(reverse(f"admin:{PAGE}", args=[staff.community.pk])).status_code == 403
    assert staff.client.get(reverse(f"admin:{PAGE}", args=[other.pk])).status_code == 200


def test_superusers_keep_the_pages_of_the_installation(staff: Staff) -> None:
    superuser = staff.beside("superuser")
    superuser.post("switch_community", staff.community.pk)

    assert superuser.get("communities_user_changelist").status_code == 200
    assert superuser.get("index").status_code == 403


@pytest.mark.django_db(transaction=True)
def test_setting_one_up_leads_back_to_the_page(staff: Staff, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("allauth.mfa.totp.forms.auth.validate_totp_code", lambda *_: True)
    address = reverse(f"admin:{PAGE}", args=[staff.community.pk]) + "?from=mail"
    staff.client.get(address)
    staff.client.get(LIST, headers={"HX-Request": "true"})  # a part of some page

    shown = staff.client.post(reverse("mfa_activate_totp"), {"code": "123456"})

    assert "Your recovery codes" in text_of(shown)
    assert f'<a class="button second" href="{address}">Done</a>' in shown.content.decode()
    assert staff.client.get(address).status_code == 200


@pytest.mark.parametrize(
    ("headers", "back"),
    [
        ({"Referer": f"http://testserver{LIST}"}, f"http://testserver{LIST}"),
        ({"Referer": "https://evil.example/"}, None),
        ({}, None),
    ],
)
def test_after_a_form_the_way_back_is_its_page(
    headers: dict[str, str], back: str | None, staff: Staff
) -> None:
    staff.client.post(LIST, headers=headers)

    assert staff.client.session.get("wanted_before_second_factor") == back


def test_who_removes_the_last_factor_is_warned_where_it_matters(staff: Staff) -> None:
    _add_app(staff.user)
    warning = "Without one, you cannot open the staff pages of Harbour Chess Club."
    page = reverse("mfa_deactivate_totp")

    prove_factor(staff.client)
    alone = text_of(staff.client.get(page))
    passkey = Authenticator.objects.create(user=staff.user, type="webauthn", data={"name": "Phone"})
    one_of_two = text_of(staff.client.get(page))
    Authenticator.objects.filter(type="totp").delete()
    last_passkey = text_of(staff.client.get(reverse("mfa_remove_webauthn", args=[passkey.pk])))
    CommunitySettings.objects.update(require_second_factor=False)
    unasked = text_of(staff.client.get(reverse("mfa_remove_webauthn", args=[passkey.pk])))

    assert [warning in each for each in (alone, one_of_two, last_passkey, unasked)] == [
        True,
        False,
        True,
        False,
    ]


@pytest.mark.parametrize("factor", ["totp", "webauthn"])
def test_a_session_that_was_opened_without_the_factor_stays_out(factor: str, staff: Staff) -> None:
    """Rule 11.37: the person has a factor since, and this browser has not proven it."""
    Authenticator.objects.create(user=staff.user, type=factor, data={"secret": SECRET, "name": "Phone"})
    address = reverse(f"admin:{PAGE}", args=[staff.community.pk])

    refused = staff.client.get(address)
    posted = staff.post(PAGE, staff.community.pk, name="Another name")
    _prove(staff, by="password")
    still = staff.client.get(address)
    _prove(staff)

    way = "mfa_reauthenticate_webauthn" if factor == "webauthn" else "mfa_reauthenticate"
    assert (refused.status_code, posted.status_code, still.status_code) == (403, 403, 403)
    assert "You have one, and you signed in here without it. Please confirm it once" in text_of(refused)
    assert f'href="{reverse(way)}?next={address.replace("/", "%2F")}"' in refused.content.decode()
    assert staff.client.get(address).status_code == 200


def test_another_persons_proof_in_the_session_proves_nothing(staff: Staff) -> None:
    """Rule 11.37."""
    _add_app(staff.user)
    _prove(staff)
    session = staff.client.session
    session["account_authentication_methods_user"] = str(staff.user.pk + 1)
    session["second_factor_proven_by"] = staff.user.pk + 1
    session.save()

    assert staff.client.get(LIST).status_code == 403


@pytest.mark.django_db(transaction=True)
def test_the_session_that_adds_the_first_factor_goes_on_and_others_confirm_it(
    staff: Staff, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule 11.37."""
    monkeypatch.setattr("allauth.mfa.totp.forms.auth.validate_totp_code", lambda *_: True)
    older, stale = Client(), Client()
    sign_in(older, staff.user)
    sign_in(stale, staff.user, is_fresh=False)

    unconfirmed = stale.post(reverse("mfa_activate_totp"), {"code": "123456"})
    added = Authenticator.objects.filter(user=staff.user).exists()
    staff.client.post(reverse("mfa_activate_totp"), {"code": "123456"})

    assert (unconfirmed.status_code, added) == (302, False)
    assert staff.client.get(LIST).status_code == 200
    assert [each.get(LIST).status_code for each in (older, stale)] == [403, 403]


def test_adding_another_factor_proves_nothing_to_a_session_without_the_first(staff: Staff) -> None:
    """Rule 11.37."""
    _add_app(staff.user)
    request = RequestFactory().get("/")
    request.user, request.session = staff.user, staff.client.session
    Authenticator.objects.create(user=staff.user, type="webauthn", data={"credential": {}})

    second_factors.note_added(request, user_id=staff.user.pk)

    assert not second_factors.is_proven(request)


def test_recovery_codes_open_nothing_when_the_last_factor_is_gone(staff: Staff) -> None:
    """Rule 11.37: a session of before that keeps its proof is out, too."""
    _add_app(staff.user)
    _prove(staff)
    Authenticator.objects.create(user=staff.user, type="recovery_codes", data={"hashes": []})
    before = staff.client.get(LIST).status_code
    Authenticator.objects.filter(type="totp").delete()

    assert (before, staff.client.get(LIST).status_code) == (200, 403)


@pytest.mark.parametrize("name", sorted(OF_FACTORS))
def test_factors_change_only_in_sessions_that_have_proven_one(name: str, staff: Staff) -> None:
    """Rule 11.42."""
    path = reverse(name, args=[1] if name in ("mfa_edit_webauthn", "mfa_remove_webauthn") else [])
    first = staff.client.post(path)
    Authenticator.objects.all().delete()
    _add_app(staff.user)

    refused = staff.client.post(path)
    prove_factor(staff.client)
    proven = staff.client.post(path)

    confirm = f"{reverse('mfa_reauthenticate')}?{urlencode({'next': path})}"
    assert refused["Location"] == confirm
    assert confirm not in (first.get("Location"), proven.get("Location"))


def test_each_page_of_factors_asks_for_a_proof_or_shows_nothing() -> None:
    """Rule 11.42."""
    pages = {each for each in get_resolver("allauth.mfa.urls").reverse_dict if isinstance(each, str)}

    proving = {"mfa_authenticate", "mfa_trust", "mfa_reauthenticate", "mfa_reauthenticate_webauthn"}
    signed_out = {"mfa_login_webauthn", "mfa_signup_webauthn"}
    lists, absent = {"mfa_index", "mfa_list_webauthn"}, {"mfa_download_recovery_codes"}
    assert pages - OF_FACTORS <= proving | signed_out | lists | absent
    assert pages >= OF_FACTORS
