"""Staff see what members earned and describe achievements, but cannot edit the ledger."""

import pytest
from django.contrib.auth.models import Permission
from django.db.models import Model
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from communities.models import Member, User
from tests.factories import CommunityFactory, MemberFactory
from tests.support.moments import NOON
from tests.support.xp.ledger import Kind, award, chain, standing
from xp.models import Achievement, EarnedAchievement, RoleGrant, Standing, XpEntry
from xp.services import achievements, roles

pytestmark = pytest.mark.django_db

MODELS = [XpEntry, Standing, Achievement, EarnedAchievement, RoleGrant]
READ_ONLY = [XpEntry, Standing, EarnedAchievement, RoleGrant]


@pytest.fixture
def staff(client: Client) -> Client:
    user = User.objects.create_superuser(username="staff", password=None, name="Marit")
    client.force_login(user)
    return client


def earned(name: str = "Ann") -> Member:
    """A member with a row of each kind."""
    member = MemberFactory.create(user__name=name, nick=name)
    award(member, 30)
    achievements.define(community_id=member.community_id, name="Marathon")
    achievements.grant(member_id=member.pk, number=1, name="Marathon", image_url=None, project_id=5, at=NOON)
    roles.grant(member_id=member.pk, role_id="77", project_id=5, project_name="Club evening", at=NOON)
    return member


def address(model: type[Model], page: str, *args: object) -> str:
    return reverse(f"admin:xp_{model.__name__.lower()}_{page}", args=args)


def listed(staff: Client, model: type[Model], **query: str) -> str:
    response = staff.get(address(model, "changelist"), query)
    assert response.status_code == 200
    return response.content.decode()


def reset(staff: Client, *chosen: Member) -> str:
    response = staff.post(
        address(Standing, "changelist"),
        {"action": "reset", "_selected_action": [each.pk for each in chosen]},
        follow=True,
    )
    return response.content.decode()


@pytest.mark.parametrize("model", MODELS)
def test_each_model_is_listed_searched_and_shown(staff: Client, model: type[Model]) -> None:
    member = earned()
    row = model._default_manager.get()

    assert "1 result" in listed(staff, model, q=str(member.community_id))
    assert "0 results" in listed(staff, model, q="nowhere")
    assert staff.get(address(model, "change", row.pk)).status_code == 200


@pytest.mark.parametrize("model", READ_ONLY)
def test_a_members_rows_are_found_by_name_and_community(staff: Client, model: type[Model]) -> None:
    ann, _ = earned("Ann"), earned("Ben")

    assert "1 result" in listed(staff, model, q="Ann")
    assert "1 result" in listed(staff, model, q=str(ann.community_id))


@pytest.mark.parametrize("model", READ_ONLY)
def test_generated_rows_cannot_be_edited(staff: Client, model: type[Model]) -> None:
    earned()
    row = model._default_manager.get()

    responses = [
        staff.get(address(model, "add")),
        staff.post(address(model, "change", row.pk), {"note": "Never mind.", "xp_total": "9999"}),
        staff.post(address(model, "delete", row.pk), {"post": "yes"}),
        staff.post(
            address(model, "changelist"),
            {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"},
        ),
    ]

    assert [response.status_code for response in responses[:3]] == [403] * 3
    assert model._default_manager.values().get() == type(row)._default_manager.values().get(pk=row.pk)
    assert standing(Member.objects.get()).xp_total == 30


def test_entries_are_filtered_by_their_kind(staff: Client) -> None:
    ann = MemberFactory.create()
    award(ann, 30)
    award(ann, 5, Kind.POLL_VOTE)

    assert "1 result" in listed(staff, XpEntry, source_kind__exact="poll_vote", q=str(ann.pk))


def test_a_reset_takes_the_xp_of_the_chosen_members_and_records_who_did_it(staff: Client) -> None:
    ann, ben, cid = earned("Ann"), earned("Ben"), MemberFactory.create(user__name="Cid")
    award(cid, -1)

    page = reset(staff, ann, cid)

    entry = XpEntry.objects.get(source_kind=Kind.RESET)
    assert (entry.member_id, entry.delta, entry.actor) == (ann.pk, -30, User.objects.get(username="staff"))
    assert chain(ben) == [(30, 30)]
    assert chain(cid) == [(0, 0)]
    assert [standing(each).xp_total for each in (ann, ben, cid)] == [0, 30, 0]
    assert "Reset the XP of 1 of 2 members." in page


def test_a_reset_needs_more_than_the_view_permission(client: Client) -> None:
    ann = earned()
    viewer = User.objects.create_user(username="viewer", is_staff=True)
    viewer.user_permissions.add(Permission.objects.get(codename="view_standing"))
    client.force_login(viewer)

    reset(client, ann)

    assert "Reset XP to 0" not in listed(client, Standing)
    assert chain(ann) == [(30, 30)]


def test_staff_describe_a_number(staff: Client) -> None:
    community = CommunityFactory.create()
    described = {"community": community.pk, "number": 4, "name": "Fourth", "image_url": "", "role_id": ""}

    response = staff.post(address(Achievement, "add"), described)

    assert response.status_code == 302
    row = Achievement.objects.get()
    assert (row.number, row.name, row.image_url, row.role_id) == (4, "Fourth", None, None)


def test_a_new_achievement_without_a_number_gets_the_communitys_next(staff: Client) -> None:
    community = CommunityFactory.create()
    achievements.reserve(community_id=community.pk, numbers=[6])

    for name in ("Seventh", "Eighth"):
        response = staff.post(
            address(Achievement, "add"), {"community": community.pk, "number": "", "name": name}
        )
        assert response.status_code == 302

    assert list(Achievement.objects.order_by("number").values_list("number", "name")) == [
        (6, "Achievement 6"),
        (7, "Seventh"),
        (8, "Eighth"),
    ]
    assert "Leave empty to use" in staff.get(address(Achievement, "add")).content.decode()


def test_entries_by_deleted_staff_are_still_shown(staff: Client) -> None:
    entry = award(MemberFactory.create(), 5, actor_id=2**61)

    assert "1 result" in listed(staff, XpEntry, q=str(entry.pk))
    assert staff.get(address(XpEntry, "change", entry.pk)).status_code == 200


def test_a_number_is_described_once_and_begins_at_one(staff: Client) -> None:
    community = CommunityFactory.create()
    achievements.define(community_id=community.pk, number=4, name="Fourth")

    for number in (4, 0, -1):
        response = staff.post(
            address(Achievement, "add"), {"community": community.pk, "number": number, "name": "Again"}
        )
        assert response.status_code == 200, number

    assert Achievement.objects.get().name == "Fourth"


def test_an_achievement_can_be_renamed_but_not_renumbered_or_deleted(staff: Client) -> None:
    earned()
    row = Achievement.objects.get()

    staff.post(address(Achievement, "change", row.pk), {"number": 9, "name": "Long run"})
    refused = staff.post(address(Achievement, "delete", row.pk), {"post": "yes"})

    row.refresh_from_db()
    assert (row.number, row.name) == (1, "Long run")
    assert EarnedAchievement.objects.get().name == "Marathon"
    assert refused.status_code == 403


def test_roles_are_filtered_by_waiting_and_carried_out(staff: Client) -> None:
    earned("Ann")
    earned("Ben")
    RoleGrant.objects.filter(member__nick="Ben").update(carried_out_at=NOON)

    everything = listed(staff, RoleGrant, q="77")
    waiting = listed(staff, RoleGrant, q="77", progress="waiting")
    carried_out = listed(staff, RoleGrant, q="77", progress="carried_out")

    assert "Waits for a chat platform" in everything
    assert ["2 results" in everything, "1 result" in waiting, "1 result" in carried_out] == [True] * 3
    assert "icon-yes" in waiting
    assert "icon-no" in carried_out


@pytest.mark.parametrize("model", MODELS)
def test_a_list_costs_the_same_however_long(
    staff: Client, model: type[Model], django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for n in range(6):
        earned(f"Member {n}")

    with django_assert_max_num_queries(6):
        listed(staff, model)
