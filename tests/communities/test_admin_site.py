"""The admin site: it registers no admin that checks no community, and shows times in the community's zone."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib import admin
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.staticfiles import finders
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone

from communities.ground.actors import Actor
from communities.ground.errors import Conflict, Forbidden, Refusal
from communities.models import Community, Identity
from communities.services.people import memberships
from communities.staff.base import CommunityModelAdmin, OperationsModelAdmin
from communities.staff.texts import moment
from tests.factories import MemberFactory, StaffFactory
from tests.support.moments import NOON
from tests.support.staff import signed_in

TOKENS = ("--page", "--card", "--ink", "--soft", "--accent", "--on-accent", "--bad", "--good", "--line")


def test_an_admin_that_checks_no_community_cannot_be_registered() -> None:
    with pytest.raises(ImproperlyConfigured, match="must derive from CommunityModelAdmin"):
        admin.site.register(Identity, admin.ModelAdmin)
    with pytest.raises(ImproperlyConfigured):
        admin.site.register(Identity)


def test_every_registered_admin_checks_communities_or_is_for_operations() -> None:
    for model, registered in admin.site._registry.items():
        assert isinstance(registered, CommunityModelAdmin | OperationsModelAdmin), model


@pytest.mark.django_db
def test_visitors_are_sent_to_the_sign_in(client: Client) -> None:
    """Rule 12.10."""
    response = client.get(reverse("admin:index"))

    assert response.status_code == 302
    assert response["Location"].startswith(reverse("admin:login"))
    asked = client.get(response["Location"])
    assert asked["Location"] == f"{reverse('account_login')}?next=%2Fadmin%2F"
    assert "<h1>Sign in</h1>" in client.get(asked["Location"]).content.decode()


@pytest.mark.django_db
def test_staff_of_no_community_are_told_what_to_do() -> None:
    client = signed_in(StaffFactory.create(is_superuser=False))

    assert "You are not a member of a community yet" in client.get(reverse("admin:index")).content.decode()


@pytest.mark.django_db
def test_the_switcher_of_superusers_is_short_however_many_communities_there_are() -> None:
    Community.objects.bulk_create(Community(id=number, name=f"C{number}") for number in range(1, 100))
    client = signed_in(StaffFactory.create())

    page = client.get(reverse("admin:index")).content.decode()

    assert page.count("/admin/community/") == 30
    assert "All communities" in page


def test_a_moment_tells_its_zone_and_its_exact_time() -> None:
    assert moment(NOON) == (
        f'<time datetime="{NOON:%Y-%m-%dT%H:%M:%SZ}" title="UTC">{NOON.day} {NOON:%b %Y, %H:%M} UTC</time>'
    )
    assert moment(None) == "–"


def test_a_moment_that_the_zone_has_not_is_shown_in_utc() -> None:
    with timezone.override("Asia/Tokyo"):
        assert 'title="UTC">31 Dec 9999, 23:59 UTC' in moment(datetime(9999, 12, 31, 23, 59, tzinfo=UTC))


def tokens_of(css: str) -> list[dict[str, str]]:
    """The colours of the default theme, in light and in dark."""
    groups = re.findall(r":root \{([^}]*--page[^}]*)\}", css)
    return [dict(re.findall(r"(--[\w-]+): (#[0-9a-f]{6})", group)) for group in groups[:2]]


def test_the_admin_has_the_colours_of_the_respondents_pages() -> None:
    ours, theirs = (
        tokens_of(Path(str(finders.find(name))).read_text())
        for name in ("staff/staff.css", "surveys/survey.css")
    )

    assert len(ours) == len(theirs) == 2
    for own, other in zip(ours, theirs, strict=True):
        assert {name: own[name] for name in TOKENS} == {name: other[name] for name in TOKENS}


def test_no_template_of_the_admin_needs_an_inline_style_or_script() -> None:
    for template in (settings.BASE_DIR / "templates" / "staff").rglob("*.html"):
        source = template.read_text()
        assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", source), template
        for script in re.findall(r"<script[^>]*>", source):
            assert "src=" in script or "application/json" in script, template


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("refusal", "status"), [(Conflict("It is open: close it first."), 409), (Forbidden("Admins only."), 403)]
)
def test_what_a_service_refuses_unexpectedly_becomes_a_page_that_says_why(
    rf: RequestFactory, refusal: Refusal, status: int
) -> None:
    def view(request: HttpRequest) -> HttpResponse:
        raise refusal

    request = rf.get("/admin/surveys/project/1/script/")
    request.user, request.session = StaffFactory.create(), SessionStore()

    answer = admin.site.admin_view(view)(request)

    assert answer.status_code == status
    assert refusal.message in answer.content.decode()


@pytest.mark.django_db
def test_whom_an_admin_makes_a_creator_gets_into_the_admin_at_once() -> None:
    admin_here = MemberFactory.create(access="admin")
    member = MemberFactory.create(community=admin_here.community, access="member")
    actor = Actor(admin_here.user_id, "admin", admin_here.community_id, "basic")
    client = Client()
    client.force_login(member.user)
    at = NOON

    def answers() -> tuple[int, bool]:
        index = client.get(reverse("admin:index"), follow=True)
        return index.status_code, reverse("admin:index") in client.get(reverse("account")).content.decode()

    before = answers()
    memberships.change_access(actor=actor, member_id=member.pk, access="creator", at=at)
    as_creator = answers()
    memberships.change_access(actor=actor, member_id=member.pk, access="member", at=at)

    assert before == answers() == (403, False)
    assert as_creator == (200, True)
