"""Our copies of pictures at their own addresses, and the fields for which we keep copies."""

import re
from datetime import timedelta

import pytest
from django.apps import apps
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone

from communities.models import Community, Picture
from communities.services.pictures import copies, places, tidying
from surveys.drawing import security
from tests.factories import CommunityFactory
from tests.support.pictures import copied, drawn
from xp.models import Achievement

pytestmark = pytest.mark.django_db
ADDRESS = "https://author.example/a.png"


@pytest.fixture
def club() -> Community:
    return CommunityFactory.create()


def test_a_copy_is_served_as_a_picture_and_nothing_else(club: Community) -> None:
    row = copied(club.pk, ADDRESS)

    response = Client().get(f"/pictures/{row.name}")

    assert response.content == drawn()
    headers = {name: response[name] for name in ("Content-Type", "Cache-Control", "ETag")}
    assert headers == {
        "Content-Type": "image/png",
        "Cache-Control": "public, max-age=31536000, immutable",
        "ETag": f'"{row.name}"',
    }
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert "Set-Cookie" not in response
    assert "Vary" not in response or "Cookie" not in response["Vary"]


def test_a_browser_that_has_it_gets_no_second_one(club: Community) -> None:
    row = copied(club.pk, ADDRESS)

    response = Client().get(f"/pictures/{row.name}", headers={"If-None-Match": f'"{row.name}"'})

    assert (response.status_code, response.content) == (304, b"")
    assert "immutable" in response["Cache-Control"]


def test_what_has_no_copy_is_not_found(club: Community) -> None:
    copies.want(community_id=club.pk, addresses=[ADDRESS])
    name = Picture.objects.get().name

    assert Client().get(f"/pictures/{name}").status_code == 404
    assert Client().get(f"/pictures/{'a' * 22}").status_code == 404
    assert Client().post(f"/pictures/{name}").status_code == 405


# --- Places -----------------------------------------------------------------------------------------


def test_every_column_with_an_address_of_a_picture_is_a_place() -> None:
    columns = {
        f"{model._meta.db_table}.{field.column}"
        for model in apps.get_models()
        for field in model._meta.concrete_fields
        if re.search("image|thumbnail|icon|picture|logo|background_url", field.name)
        and not field.name.endswith("_alt")
    }

    placed = {column for place in places.all_places() for column in place.columns}
    assert columns - placed == set()
    in_json = {"surveys_project.delivery", "surveys_project.presentation", "surveys_project.rewards"}
    assert placed - columns == in_json


def test_addresses_that_nobody_asked_for_are_asked_for(club: Community) -> None:
    Community.objects.filter(pk=club.pk).update(icon_url=ADDRESS)

    tidying.tidy(at=timezone.now())

    assert Picture.objects.get().address == ADDRESS
    assert Picture.objects.get().due_at is not None


def test_pictures_that_stand_nowhere_are_deleted_after_a_day(club: Community) -> None:
    Community.objects.filter(pk=club.pk).update(icon_url=ADDRESS)
    kept, gone = copied(club.pk, ADDRESS), copied(club.pk, f"{ADDRESS}?2")
    elsewhere = copied(CommunityFactory.create().pk, ADDRESS)
    now = timezone.now()

    tidying.tidy(at=now + timedelta(hours=23))
    assert Picture.objects.count() == 3
    tidying.tidy(at=now + timedelta(hours=25))

    assert set(Picture.objects.values_list("pk", flat=True)) == {kept.pk}
    assert {gone.pk, elsewhere.pk}.isdisjoint(Picture.objects.values_list("pk", flat=True))


def test_a_picture_stays_while_an_achievement_has_it(club: Community) -> None:
    Achievement.objects.create(community=club, number=1, name="Owl", image_url=ADDRESS)
    copied(club.pk, ADDRESS)

    tidying.tidy(at=timezone.now() + timedelta(days=30))

    assert Picture.objects.count() == 1


def test_no_more_than_one_row_is_written_for_an_address(club: Community) -> None:
    for _ in range(2):
        copies.want(community_id=club.pk, addresses=[ADDRESS, ADDRESS, None, ""])

    assert Picture.objects.count() == 1


def test_finding_copies_costs_one_statement_and_none_without_addresses(
    club: Community, django_assert_num_queries: object
) -> None:
    copied(club.pk, ADDRESS)

    with django_assert_num_queries(1):  # type: ignore[operator]
        assert set(copies.in_community(club.pk, [ADDRESS, None])) == {ADDRESS}
    with django_assert_num_queries(0):  # type: ignore[operator]
        assert copies.in_community(club.pk, [None, ""]) == {}


# --- The policy of pages ------------------------------------------------------------------------------


def _paths(patterns: list[URLPattern | URLResolver], before: str = "/") -> list[str]:
    """An address for every route of the site, with made-up arguments."""
    found: list[str] = []
    for pattern in patterns:
        route = str(pattern.pattern).strip("^$")
        if isinstance(pattern, URLResolver):
            found += _paths(pattern.url_patterns, before + route)
        else:
            found.append(re.sub(r"<[^>]*>", "1", before + route).replace("//", "/"))
    return found


def test_no_page_lets_a_browser_load_pictures_from_elsewhere() -> None:
    client = Client(raise_request_exception=False)
    allowed = {"img-src 'self' data:"}
    for path in {*_paths(list(get_resolver().url_patterns)), "/", "/docs", "/account/login/", "/nowhere"}:
        policy = client.get(path).headers["Content-Security-Policy"]
        assert {part.strip() for part in policy.split(";") if "img-src" in part} == allowed, path
    for policy in (security.SITE, security.FRAMED, security.FRAMED_BY_US):
        assert "img-src 'self' data:" in policy
        assert "https:" not in policy
