"""Addresses of pictures: permitted ones, fetched ones, and the pictures for respondents (rule 7.15)."""

from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from communities.models import Picture
from communities.services.pictures import places
from communities.services.tenants.communities import change_community
from surveys.models import Block, Project
from tests.support.caller import CHOICE, SAYING, TEXT, Caller, faults
from tests.support.moments import NOON
from tests.support.pictures import copied, foreign_pictures
from xp.services import catalogue

pytestmark = pytest.mark.django_db
AUTHOR = "https://author.example/a.png"
OPEN_WEB = {"delivery": {"audience": {"participation": "open_web"}}}
REFUSED = [
    ("http://author.example/a.png", "invalid"),
    ("https://ann:secret@author.example/a.png", "not_allowed"),
    ("https://ann@author.example/a.png", "not_allowed"),
    ("https://127.0.0.1/a.png", "not_allowed"),
    ("https://0x7f000001/a.png", "not_allowed"),
    ("https://[::1]/a.png", "not_allowed"),
    ("https://intranet/a.png", "not_allowed"),
    ("https://author.example:25/a.png", "not_allowed"),
    ("data:image/png;base64,AAAA", "invalid"),
]


@pytest.fixture
def caller() -> Caller:
    return Caller("admin")


def wanted() -> set[str]:
    """The addresses that a worker will fetch."""
    return set(Picture.objects.filter(due_at__isnull=False).values_list("address", flat=True))


# --- Writing ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("address", "code"), REFUSED)
def test_an_address_that_pictures_may_not_have_is_refused_wherever_it_is_written(
    address: str, code: str, caller: Caller
) -> None:
    """Rule 3.158."""
    made = caller.make(TEXT)
    script = f"/projects/{made['id']}/script"
    block = made["script"]["blocks"][0]["id"]
    invitation = {"invitation": {"image_url": address, "thumbnail_url": address}}

    answers = {
        "new": caller.post("/projects", {"name": "A", "type": "convo", "script": {"blocks": [
            {**TEXT, "image_url": address, "thumbnail_url": address}]}}),
        "script": caller.put(script, {"blocks": [{**TEXT, "image_url": address, "thumbnail_url": address}]}),
        "block": caller.patch(f"{script}/blocks/{block}", {"image_url": address}),
        "invitation": caller.patch(f"/projects/{made['id']}", {"delivery": invitation}),
        "rewards": caller.patch(f"/projects/{made['id']}", {"rewards": {"achievement_image_url": address}}),
    }  # fmt: skip

    assert {name: faults(answer) for name, answer in answers.items()} == {
        "new": {("script.blocks[0].image_url", code), ("script.blocks[0].thumbnail_url", code)},
        "script": {("blocks[0].image_url", code), ("blocks[0].thumbnail_url", code)},
        "block": {("image_url", code)},
        "invitation": {
            ("delivery.invitation.image_url", code),
            ("delivery.invitation.thumbnail_url", code),
        },
        "rewards": {("rewards.achievement_image_url", code)},
    }
    assert wanted() == set()


def test_what_was_stored_earlier_stays_readable_and_in_place(caller: Caller) -> None:
    made = caller.make(TEXT, SAYING)
    path = f"/projects/{made['id']}/script"
    Block.objects.filter(project_id=made["id"], name="q0").update(thumbnail_url="https://localhost/b.png")
    Project.objects.filter(pk=made["id"]).update(revision=99)

    read = caller.get(path).json()
    written = caller.put(path, {"blocks": [*read["blocks"], CHOICE]})

    assert read["blocks"][0]["thumbnail_url"] == "https://localhost/b.png"
    assert written.status_code == 200, written.content


def test_a_worker_is_asked_for_every_picture_that_is_written(caller: Caller) -> None:
    """One address for each place: a place that nobody asks for leaves its address out."""
    at = {
        name: f"{AUTHOR}?{name}"
        for name in (
            *("block", "thumbnail", "option", "post", "corner", "badge", "own", "icon"),
            *("logo", "ground", "own-logo", "own-ground"),
        )
    }
    made = caller.make(
        {**TEXT, "image_url": at["block"]},
        {**CHOICE, "options": [{"value": "a", "image_url": at["option"]}]},
        delivery={"invitation": {"image_url": at["post"]}},
        rewards={"achievement_enabled": True, "achievement_image_url": at["badge"]},
    )
    project = f"/projects/{made['id']}"
    posted = caller.patch(project, {"delivery": {"invitation": {"thumbnail_url": at["corner"]}}})
    assert posted.status_code == 200, posted.content
    block = caller.patch(
        f"{project}/script/blocks/{made['script']['blocks'][0]['id']}", {"thumbnail_url": at["thumbnail"]}
    )
    assert block.status_code == 200, block.content
    catalogue.add_achievement(
        actor=caller.actor, number=70, name="Owl", image_url=at["own"], role_id=None, at=NOON
    )
    own = {"logo_url": at["own-logo"], "background_url": at["own-ground"]}
    assert caller.patch(project, {"presentation": own}).status_code == 200
    brand = {"logo_url": at["logo"], "background_url": at["ground"]}
    assert caller.patch("/settings", brand).status_code == 200
    change_community(actor=caller.actor, changes={"icon_url": at["icon"]}, at=NOON)

    assert wanted() == set(at.values())
    assert len(places.all_places()) == len(at) + 1  # what is earned has an address that stood elsewhere


def test_no_answer_ever_becomes_part_of_an_address(caller: Caller) -> None:
    address = "https://author.example/[q0].png?by=[UserName]"
    made = caller.make_open(TEXT, {**SAYING, "image_url": address}, privacy_mode="anonymous", **OPEN_WEB)
    begun = caller.post(f"/projects/{made['id']}/conversations").json()
    moved = caller.post(
        f"/conversations/{begun['id']}/answers", {"block_id": begun["step"]["block"]["id"], "value": "Secret"}
    )

    assert moved.json()["step"]["block"]["image_url"] is None
    assert wanted() == {address}


# --- Respondents -------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["anonymous", "semi-private", "transparent"])
def test_the_interface_gives_respondents_our_copy_and_authors_what_they_wrote(
    mode: str, caller: Caller
) -> None:
    made = caller.make_open(
        {**TEXT, "image_url": AUTHOR, "thumbnail_url": f"{AUTHOR}?2"}, privacy_mode=mode, **OPEN_WEB
    )
    path = f"/projects/{made['id']}/conversations"
    outro = Block.objects.get(project_id=made["id"], section="outro")
    Block.objects.filter(pk=outro.pk).update(image_url=AUTHOR)
    Project.objects.filter(pk=made["id"]).update(revision=99)
    before = caller.post(path).json()
    copy = copied(caller.community.pk, AUTHOR)

    begun = caller.post(path).json()
    answer = {"block_id": begun["step"]["block"]["id"], "value": "Because"}
    ended = caller.post(f"/conversations/{begun['id']}/answers", answer).json()

    url = f"{settings.BASE_URL}/pictures/{copy.name}"
    assert before["step"]["block"]["image_url"] is None
    assert begun["step"]["block"]["image_url"] == url
    assert begun["step"]["block"]["thumbnail_url"] is None
    assert ended["outro"][0]["image_url"] == url
    assert "author.example" not in str([before, begun, ended])
    script = caller.get(f"/projects/{made['id']}/script").json()
    assert script["blocks"][0]["image_url"] == AUTHOR


@pytest.mark.parametrize("mode", ["anonymous", "semi-private"])
def test_a_picture_that_changes_while_open_is_copied_too(mode: str, caller: Caller) -> None:
    made = caller.make_open({**TEXT, "image_url": AUTHOR}, privacy_mode=mode, **OPEN_WEB)
    copied(caller.community.pk, AUTHOR)
    block = made["script"]["blocks"][0]["id"]
    swapped = {"image_url": f"{AUTHOR}?2"}
    assert caller.patch(f"/projects/{made['id']}/script/blocks/{block}", swapped).status_code == 200

    waiting = _page(made)
    copy = copied(caller.community.pk, f"{AUTHOR}?2")
    drawn = _page(made)

    assert "<img" not in waiting
    assert f'src="/pictures/{copy.name}"' in drawn
    for page in (waiting, drawn):
        assert "author.example" not in page
        assert foreign_pictures(page) == []


def _page(made: dict[str, Any]) -> str:
    slug = Project.objects.get(pk=made["id"]).slug
    return Client().get(f"/s/{slug}").content.decode()
