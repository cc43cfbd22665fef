"""Uploaded pictures: encoded again, stored once, within limits, and deleted a month after their use."""

import base64
import io
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as values
from django.test import Client
from django.utils import timezone
from PIL import Image
from pytest_django import Settings

from communities.gate import throttling
from communities.models import AuditEntry, Community, Picture
from communities.services.pictures import copies, fetching, tidying, uploads
from tests.factories import CommunityFactory
from tests.support.caller import TEXT, Caller, faults
from tests.support.pictures import drawn, photo_of_home
from tests.support.staff import Staff

pytestmark = pytest.mark.django_db
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"/>'
MONTH = timedelta(days=30)


@pytest.fixture
def caller() -> Caller:
    return Caller("creator")


def upload(caller: Caller, file: bytes) -> Any:
    return caller.post("/pictures", {"content": base64.b64encode(file).decode()})


def test_a_picture_is_uploaded_and_its_address_shows_it(caller: Caller) -> None:
    """Rule 1.50."""
    sent = upload(caller, drawn(size=(40, 20)))

    assert sent.status_code == 201, sent.content
    url = sent.json()["url"]
    host = values.BASE_URL.partition("://")[2]
    row = Picture.objects.get()
    assert url == row.address == f"https://{host}/pictures/{row.name}"
    assert (sent.json()["width"], sent.json()["height"]) == (40, 20)
    served = Client().get(f"/pictures/{row.name}")
    assert (served.status_code, served["Content-Type"]) == (200, "image/png")
    made = caller.make(TEXT | {"image_url": url, "thumbnail_url": url})
    assert made["script"]["blocks"][0]["image_url"] == url
    assert copies.in_community(caller.community.pk, [url])[url].name == row.name
    assert Picture.objects.get().due_at is None  # nothing is fetched


def test_only_pixels_of_a_photo_are_stored_and_only_the_first_of_an_animation(caller: Caller) -> None:
    """Rule 1.51."""
    frames = [Image.new("P", (8, 8), n) for n in (1, 2)]
    animation = io.BytesIO()
    frames[0].save(animation, "GIF", save_all=True, append_images=frames[1:])

    photo = upload(caller, photo_of_home()).json()["url"]
    still = upload(caller, animation.getvalue()).json()["url"]

    stored = {row.address: bytes(row.content or b"") for row in Picture.objects.all()}
    for word in (b"Exif", b"Camera", b"home"):
        assert word not in stored[photo]
    assert getattr(Image.open(io.BytesIO(stored[still])), "n_frames", 1) == 1


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (SVG, "invalid"),
        (b"", "blank"),
        (b"GIF89a", "invalid"),
        (drawn("BMP"), "invalid"),
        (b"\x89PNG" + b"x" * 2_097_152, "too_large"),
    ],
)
def test_other_files_are_refused_by_the_name_of_the_field(content: bytes, code: str, caller: Caller) -> None:
    """Rule 1.51."""
    sent = upload(caller, content)

    assert sent.status_code == 400
    assert faults(sent) == {("content", code)}
    assert Picture.objects.count() == 0


def test_a_file_of_too_many_pixels_is_not_unfolded(caller: Caller) -> None:
    """Rule 1.51."""
    bomb = io.BytesIO()
    Image.new("1", (6000, 6000)).save(bomb, "PNG")

    sent = upload(caller, bomb.getvalue())

    assert faults(sent) == {("content", "invalid")}
    assert "more than 25,000,000" in sent.json()["message"]


@pytest.mark.parametrize("content", ["%%%", 5, None, "AAAA\nAAAA"])
def test_what_is_no_base64_is_refused(content: object, caller: Caller) -> None:
    sent = caller.post("/pictures", {"content": content})

    assert sent.status_code == 400
    assert {field for field, _ in faults(sent)} == {"content"}


def test_a_body_of_more_than_a_megabyte_is_a_picture_alone(caller: Caller) -> None:
    """Rule 11.12."""
    body = {"content": "A" * 1_200_000}

    assert caller.post("/pictures", body).status_code == 400
    assert caller.post("/projects", body).status_code == 413
    assert caller.post("/pictures", {"content": "A" * 3_200_000}).status_code == 413


def test_the_same_picture_is_stored_once(caller: Caller) -> None:
    """Rule 1.50."""
    first, again = (upload(caller, drawn(colour="teal")).json()["url"] for _ in range(2))
    other = upload(Caller("admin"), drawn(colour="teal")).json()["url"]

    assert first == again != other
    assert AuditEntry.objects.filter(community=caller.community, action="picture.uploaded").count() == 1


def test_a_community_has_limits_in_bytes_and_in_a_day(
    caller: Caller, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule 1.53."""
    monkeypatch.setattr(uploads, "MAX_A_DAY", 1)
    size = upload(caller, drawn(colour="teal")).json()["size"]

    too_many = upload(caller, drawn(colour="red"))
    Picture.objects.update(fetched_at=timezone.now() - timedelta(days=2))
    settings.PICTURES_BYTES_PER_COMMUNITY = size + 10
    too_much = upload(caller, drawn(colour="red"))

    assert (too_many.status_code, too_much.status_code) == (409, 409)
    assert "within a day" in too_many.json()["message"]
    assert "take" in too_much.json()["message"]
    assert upload(Caller("admin"), drawn(colour="red")).status_code == 201


def test_refused_and_repeated_files_count(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule 1.920."""
    monkeypatch.setattr(throttling, "PICTURES_A_DAY", 3)
    same = drawn(colour="teal")
    sent = [upload(caller, file).status_code for file in (same, same, b"no picture")]
    assert sent == [201, 201, 400]
    assert upload(caller, same).status_code == 409
    assert sent_by(Staff("creator", community=caller.community), same).status_code == 409
    assert upload(Caller("admin"), same).status_code == 201


def test_one_person_leaves_files_to_others(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule 1.970."""
    monkeypatch.setattr(throttling, "PICTURES_A_DAY_OF_ONE", 2)
    sent = [upload(caller, b"no picture").status_code for _ in range(3)]

    assert sent == [400, 400, 409]
    assert sent_by(Staff("creator", community=caller.community), b"no picture").status_code == 400


def test_each_way_to_upload_counts_its_files() -> None:
    """Rule 1.970."""
    files = [
        path for app in ("communities", "surveys", "xp") for path in (values.BASE_DIR / app).rglob("*.py")
    ]
    ways = [text for text in map(Path.read_text, files) if "uploads.upload(" in text]
    readers = {path.name for path in files if "encoding.encode(" in path.read_text()}

    assert len(ways) == 2
    for text in ways:
        assert text.count("require_upload(") == text.count("uploads.upload(") == 1
        assert text.index("require_upload(") < text.index("uploads.upload(")
    assert readers == {"uploads.py", "fetching.py"}  # a worker fetches


def test_members_upload_nothing() -> None:
    """Rule 1.50."""
    assert upload(Caller("member"), drawn()).status_code == 403


def test_an_upload_stays_while_it_is_in_use_and_a_month_longer(caller: Caller) -> None:
    """Rule 1.52."""
    url = upload(caller, drawn(colour="teal")).json()["url"]
    unused = upload(caller, drawn(colour="red")).json()["url"]
    Community.objects.filter(pk=caller.community.pk).update(icon_url=url)
    at = timezone.now()

    tidying.tidy(at=at + MONTH - timedelta(hours=1))
    both = set(Picture.objects.values_list("address", flat=True))
    tidying.tidy(at=at + MONTH + timedelta(hours=1))
    used = set(Picture.objects.values_list("address", flat=True))
    Community.objects.filter(pk=caller.community.pk).update(icon_url=None)
    tidying.tidy(at=at + 2 * MONTH - timedelta(hours=2))
    kept = set(Picture.objects.values_list("address", flat=True))
    tidying.tidy(at=at + 2 * MONTH + timedelta(hours=2))

    assert (both, used, kept) == ({url, unused}, {url}, {url})
    assert Picture.objects.count() == 0


def test_writing_the_address_again_fetches_nothing(caller: Caller) -> None:
    url = upload(caller, drawn()).json()["url"]
    Picture.objects.update(fetched_at=timezone.now() - timedelta(days=2))

    caller.make(TEXT | {"image_url": url})
    fetching.fetch_due(at=timezone.now())

    row = Picture.objects.get()
    assert (row.due_at, row.problem, row.address) == (None, "", url)


def test_another_community_copies_an_upload_without_a_request(caller: Caller) -> None:
    url = upload(caller, drawn()).json()["url"]
    other = CommunityFactory.create()

    copies.want(community_id=other.pk, addresses=[url, f"{url}x"])
    for _ in range(2):
        fetching.fetch_due(at=timezone.now())

    own = Picture.objects.get(community=other, address=url)
    gone = Picture.objects.get(community=other, address=f"{url}x")
    assert (own.width, own.is_uploaded) == (40, False)
    assert own.name not in url
    assert gone.problem == "There is no such picture here any more. Upload it again."


# --- Pages for staff ----------------------------------------------------------------------------------


def sent_by(staff: Staff, file: bytes) -> Any:
    return staff.client.post("/admin/picture/upload/", file, content_type="application/octet-stream")


def test_staff_upload_a_file_as_it_is() -> None:
    """Rule 1.50."""
    staff = Staff("creator")

    sent = sent_by(staff, drawn())
    refused = sent_by(staff, SVG)

    address = Picture.objects.get().address
    assert sent.json() == {"address": address}
    assert refused.status_code == 400
    assert "no picture" in refused.json()["note"]
    state = staff.client.get("/admin/picture/", {"address": address}).json()
    assert state["picture"] == f"/pictures/{Picture.objects.get().name}"
    assert sent_by(Staff("member"), drawn()).status_code == 404
