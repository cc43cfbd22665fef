"""A worker fetches a picture once for each community, and stores a file of ours (rule 7.15)."""

import base64
import io
import struct
import time
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from PIL import Image
from pytest_django import Settings

from communities.models import Community, Picture
from communities.services.pictures import copies, encoding, fetching
from tests.factories import CommunityFactory
from tests.support.caller import Caller
from tests.support.picture_host import PictureHost
from tests.support.pictures import GPS, drawn, photo_of_home

pytestmark = pytest.mark.django_db
SCAN = b"\xff\xda"  # the marker of a scan in a JPEG


@pytest.fixture
def club() -> Community:
    return CommunityFactory.create()


def fetched(club: Community, address: str) -> Picture:
    """The row of an address after a worker's run."""
    copies.want(community_id=club.pk, addresses=[address])
    fetching.fetch_due(at=timezone.now())
    return Picture.objects.get(community=club, address=address)


def content_of(row: Picture) -> bytes:
    assert row.content is not None
    return bytes(row.content)


def test_a_picture_is_fetched_once_and_kept_for_every_page(host: PictureHost, club: Community) -> None:
    row = fetched(club, host.serve("/a.png", drawn(size=(40, 20))))
    fetching.fetch_due(at=timezone.now())

    assert host.asked == ["/a.png"]
    assert (row.width, row.height, row.content_type) == (40, 20, "image/png")
    assert (row.due_at, row.leased_until, row.problem) == (None, None, "")
    copy = copies.in_community(club.pk, [row.address])[row.address]
    assert copy.path == f"/pictures/{row.name}"
    assert len(row.name) >= 20


def test_no_copy_tells_where_and_by_what_a_photo_was_taken(host: PictureHost, club: Community) -> None:
    sent = photo_of_home()
    assert Image.open(io.BytesIO(sent)).getexif().get_ifd(GPS)  # there is something to lose

    row = fetched(club, host.serve("/home.jpg", sent))

    kept = Image.open(io.BytesIO(content_of(row)))
    assert not kept.getexif()
    assert set(kept.info) <= {"jfif", "jfif_version", "jfif_unit", "jfif_density"}
    for word in (b"Exif", b"Camera", b"home"):
        assert word not in content_of(row)
    assert (row.width, row.height) == (20, 40)  # turned upright


@pytest.mark.parametrize("kind", ["PNG", "GIF", "WEBP"])
def test_other_formats_become_pictures_of_ours(kind: str, host: PictureHost, club: Community) -> None:
    row = fetched(club, host.serve("/a", drawn(kind, comment=b"Secret")))

    assert row.content_type == "image/png"
    assert b"Secret" not in content_of(row)


def test_large_pictures_are_scaled_down(host: PictureHost, club: Community) -> None:
    row = fetched(club, host.serve("/a.png", drawn(size=(3200, 1000))))

    assert (row.width, row.height) == (1600, 500)


def test_transparent_parts_stay_transparent() -> None:
    file = io.BytesIO()
    Image.new("RGBA", (4, 4), (0, 0, 0, 0)).save(file, "PNG")

    kept = encoding.encode(file.getvalue(), max_bytes=10_000)

    assert Image.open(io.BytesIO(kept.content)).getpixel((0, 0)) == (0, 0, 0, 0)


def _photo(*, more_scans: int) -> bytes:
    """A progressive JPEG whose last scan is repeated. Each scan is small, and decodes all pixels."""
    file = io.BytesIO()
    Image.new("RGB", (64, 64), "navy").save(file, "JPEG", progressive=True)
    photo = file.getvalue()
    scan = photo[photo.rindex(SCAN) : -2]
    return photo[:-2] + scan * more_scans + photo[-2:]


def test_a_photo_has_as_many_scans_as_programs_write() -> None:
    scans = _photo(more_scans=0).count(SCAN)

    kept = encoding.encode(_photo(more_scans=encoding.MAX_SCANS - scans), max_bytes=10_000)
    with pytest.raises(encoding.NotAPicture, match="too many scans"):
        encoding.encode(_photo(more_scans=encoding.MAX_SCANS - scans + 1), max_bytes=10_000)

    assert (kept.width, kept.height) == (64, 64)


def _with_a_second_picture(photo: bytes) -> bytes:
    """The photo as a file that Pillow names MPO: a segment lists two pictures, and the second one follows."""
    first = struct.pack("<LLLHH", 0x030000, len(photo), 0, 0, 0)
    entries = first + struct.pack("<LLLHH", 0, len(photo), len(photo), 0, 0)
    fields = struct.pack("<HHL4s", 0xB000, 7, 4, b"0100") + struct.pack("<HHLL", 0xB001, 4, 1, 2)
    listed = struct.pack("<H", 3) + fields + struct.pack("<HHLL", 0xB002, 7, 32, 50) + struct.pack("<L", 0)
    index = b"MPF\x00II*\x00" + struct.pack("<L", 8) + listed + entries
    return photo[:2] + b"\xff\xe2" + struct.pack(">H", len(index) + 2) + index + photo[2:] + photo


@pytest.mark.parametrize("format_name", ["JPEG", "MPO"])
def test_each_name_of_a_jpeg_has_the_limits_of_a_jpeg(
    monkeypatch: pytest.MonkeyPatch, format_name: str
) -> None:
    """Rule 11.126."""
    photo = _photo(more_scans=0)
    many = _photo(more_scans=encoding.MAX_SCANS)
    if format_name == "MPO":
        photo, many = _with_a_second_picture(photo), _with_a_second_picture(many)

    assert Image.open(io.BytesIO(photo)).format == format_name
    assert encoding.encode(photo, max_bytes=10_000).content_type == "image/jpeg"
    with pytest.raises(encoding.NotAPicture, match="too many scans"):
        encoding.encode(many, max_bytes=10_000)
    monkeypatch.setattr(encoding, "MAX_MEMORY", 7 * 64 * 64 - 1)
    with pytest.raises(encoding.NotAPicture, match="for such a file"):
        encoding.encode(photo, max_bytes=10_000)


def test_an_upload_waits_a_second_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule 11.842."""
    monkeypatch.setattr(encoding, "SECONDS_TO_WAIT", 0.01)
    caller = Caller()
    content = base64.b64encode(_photo(more_scans=0)).decode()

    with encoding._one_at_a_time.held("", timeout=0, busy="", retry_after=1):
        refused = caller.post("/pictures", {"content": content})

    assert (refused.status_code, refused["Retry-After"]) == (503, "5")
    assert caller.post("/pictures", {"content": content}).status_code == 201


@pytest.mark.parametrize(
    ("kind", "mode", "options", "bytes_of_a_pixel"),
    [
        ("JPEG", "RGB", {}, 6),
        ("JPEG", "RGB", {"progressive": True}, 7),
        ("JPEG", "CMYK", {"progressive": True}, 12),
        ("PNG", "RGB", {}, 6),
        ("PNG", "RGBA", {}, 10),
        ("PNG", "LA", {}, 10),
        ("GIF", "P", {}, 6),
        ("WEBP", "RGB", {}, 20),
    ],
)
def test_formats_that_take_more_memory_have_fewer_pixels(
    monkeypatch: pytest.MonkeyPatch, kind: str, mode: str, options: dict[str, bool], bytes_of_a_pixel: int
) -> None:
    """Rule 11.126."""
    file = io.BytesIO()
    Image.new(mode, (10, 10)).save(file, kind, **options)

    monkeypatch.setattr(encoding, "MAX_MEMORY", 100 * bytes_of_a_pixel)
    kept = encoding.encode(file.getvalue(), max_bytes=10_000)
    monkeypatch.setattr(encoding, "MAX_MEMORY", 100 * bytes_of_a_pixel - 1)
    with pytest.raises(encoding.NotAPicture, match="10 by 10 pixels, which are more than 99 for such a file"):
        encoding.encode(file.getvalue(), max_bytes=10_000)

    assert (kept.width, kept.height) == (10, 10)


def _bomb() -> bytes:
    """A small file that unfolds to 36 million pixels."""
    file = io.BytesIO()
    Image.new("1", (6000, 6000)).save(file, "PNG")
    return file.getvalue()


SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><image href="https://author.example/a"/></svg>'
TOO_BIG = "The file is larger than 0.5 MB."


@pytest.mark.parametrize(
    ("served", "problem"),
    [
        ({"body": SVG, "headers": {"Content-Type": "image/svg+xml"}}, encoding._UNREADABLE),
        ({"body": b"<html>"}, encoding._UNREADABLE),
        ({"body": drawn()[:40]}, encoding._UNREADABLE),
        ({"body": drawn("BMP")}, encoding._UNREADABLE),
        ({"body": b""}, encoding._UNREADABLE),
        ({"body": _bomb()}, "The picture has 6,000 by 6,000 pixels, which are more than 25,000,000."),
        ({"body": b"x" * 600_000}, TOO_BIG),
        ({"status": 404}, "The host answered with the status 404."),
        ({"status": 302, "headers": {"Location": "ftp://a.example/"}},
         "The address must begin with https:// (or http://, if this installation allows it)."),
        ({"status": 302, "headers": {"Location": "/a"}}, "The address leads on too often."),
    ],
)  # fmt: skip
def test_what_is_no_picture_of_ours_is_given_up_with_the_reason(
    served: dict[str, Any], problem: str, host: PictureHost, club: Community, settings: Settings
) -> None:
    settings.PICTURE_BYTES = 524_288

    row = fetched(club, host.serve("/a", **served))

    assert (row.problem, row.due_at, row.content) == (problem, None, None)
    assert copies.in_community(club.pk, [row.address]) == {}
    state = copies.state(community_id=club.pk, address=row.address.replace("http:", "https:"))
    assert state.copy is None


def test_staff_read_why_a_picture_could_not_be_fetched(host: PictureHost, club: Community) -> None:
    address = "https://pictures.example.org/a.png"
    states = [copies.state(community_id=club.pk, address=address).note]
    copies.want(community_id=club.pk, addresses=[address])
    states.append(copies.state(community_id=club.pk, address=address).note)
    Picture.objects.update(problem="The host answered with the status 404.", due_at=None)
    states.append(copies.state(community_id=club.pk, address=address).note)

    assert states == [
        "The picture is fetched and shown once the address is saved.",
        "The picture is being fetched.",
        "The picture could not be fetched: The host answered with the status 404.",
    ]


def test_what_may_pass_is_tried_again_and_given_up_in_the_end(host: PictureHost, club: Community) -> None:
    at = timezone.now() + timedelta(seconds=1)
    copies.want(community_id=club.pk, addresses=[host.serve("/a", status=503)])

    waits = []
    for _ in range(5):
        fetching.fetch_due(at=at)
        due_at = Picture.objects.get().due_at
        waits.append(due_at and due_at - at)
        at = due_at or at

    assert waits == [*fetching.WAITS, None]
    assert host.asked == ["/a"] * 5
    host.serve("/a", drawn())
    assert fetched(club, f"{host.url}/a").content is not None  # written again, it is tried again


def test_a_picture_that_waits_too_long_for_others_is_tried_again(
    host: PictureHost, club: Community, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule 11.842."""
    monkeypatch.setattr(fetching, "SECONDS_TO_WAIT", 0.01)
    at = timezone.now() + timedelta(seconds=1)
    copies.want(community_id=club.pk, addresses=[host.serve("/a", drawn())])

    with encoding._one_at_a_time.held("", timeout=0, busy="", retry_after=1):
        fetching.fetch_due(at=at)
    waiting = Picture.objects.get()
    assert (waiting.due_at, waiting.leased_until) == (at + fetching.WAITS[0], None)

    fetching.fetch_due(at=at + fetching.WAITS[0])
    assert Picture.objects.get().content is not None


@pytest.mark.parametrize("location", ["https://[", "//", "https://a.example:port/", "\x00"])
def test_a_redirect_to_nonsense_is_a_failure_like_others(
    location: str, host: PictureHost, club: Community
) -> None:
    row = fetched(club, host.serve("/a", status=302, headers={"Location": location}))

    assert row.problem.startswith(("The host could not be reached", "The address "))
    assert row.leased_until is None


def test_a_host_that_drips_is_cut_off(
    host: PictureHost, club: Community, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "SECONDS", 0.3)
    started = time.monotonic()

    row = fetched(club, host.serve("/a", drawn(), drip=0.1))

    assert time.monotonic() - started < 2
    assert row.problem == "The host did not send the picture within 0.3 seconds."
    assert row.due_at is not None


def test_a_redirect_is_followed_when_its_address_is_allowed(host: PictureHost, club: Community) -> None:
    host.serve("/b.png", drawn())

    row = fetched(club, host.serve("/a", status=302, headers={"Location": "/b.png"}))

    assert host.asked == ["/a", "/b.png"]
    assert row.content is not None


@pytest.mark.parametrize(
    "address", ["{host}/a.png", "https://127.0.0.1:{port}/a.png", "https://metadata.internal/"]
)
def test_private_addresses_are_not_fetched_from(
    address: str, host: PictureHost, club: Community, settings: Settings
) -> None:
    settings.PICTURES_ALLOW_PRIVATE_NETWORKS = False
    host.serve("/a.png", drawn())

    row = fetched(club, address.format(host=host.url, port=host.url.rpartition(":")[2]))

    assert host.asked == []
    assert row.content is None
    assert row.due_at is None


def test_a_name_that_resolves_to_this_machine_is_not_connected_to(
    host: PictureHost, club: Community, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PICTURES_ALLOW_PRIVATE_NETWORKS = False
    place = (2, ("127.0.0.1", int(host.url.rpartition(":")[2])))
    monkeypatch.setattr("communities.ground.addresses.resolve", lambda *_, **__: [place])

    row = fetched(club, f"https://pictures.example.org:{place[1][1]}/a.png")

    assert host.asked == []
    assert row.problem == "The host could not be reached, or has an address that is not public."


def test_another_picture_at_the_address_gets_another_name(host: PictureHost, club: Community) -> None:
    address = host.serve("/a.png", drawn(colour="teal"))
    first = fetched(club, address)
    Picture.objects.update(fetched_at=timezone.now() - timedelta(minutes=2))
    same = fetched(club, address)
    Picture.objects.update(fetched_at=timezone.now() - timedelta(minutes=2))
    host.serve("/a.png", drawn(colour="red"))

    other = fetched(club, address)

    assert host.asked == ["/a.png"] * 3
    assert same.name == first.name
    assert other.name != first.name


def test_two_communities_share_no_copy_and_no_name(host: PictureHost, club: Community) -> None:
    address = host.serve("/a.png", drawn())
    elsewhere = CommunityFactory.create()

    names = {fetched(each, address).name for each in (club, elsewhere)}

    assert len(names) == 2
    assert set(copies.find(community_ids=[club.pk], addresses=[address])) == {(club.pk, address)}


def test_all_pictures_of_a_community_have_a_bound(
    host: PictureHost, club: Community, settings: Settings
) -> None:
    first = fetched(club, host.serve("/a.png", drawn(colour="teal")))
    settings.PICTURES_BYTES_PER_COMMUNITY = first.size + 10

    second = fetched(club, host.serve("/b.png", drawn(colour="red")))

    assert second.content is None
    assert second.problem.startswith("The community's pictures take")
    assert fetched(CommunityFactory.create(), host.serve("/b.png", drawn(colour="red"))).content is not None


def test_a_community_has_only_so_many_pictures_fetched(
    host: PictureHost, club: Community, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "MAX_PICTURES", 1)
    fetched(club, host.serve("/a.png", drawn()))

    second = fetched(club, host.serve("/b.png", drawn()))

    assert host.asked == ["/a.png"]
    assert second.problem == "The community has 1 pictures already."


def test_a_community_has_one_picture_fetched_at_a_time(host: PictureHost, club: Community) -> None:
    copies.want(community_id=club.pk, addresses=[f"{host.url}/{n}" for n in range(3)])
    elsewhere = CommunityFactory.create()
    copies.want(community_id=elsewhere.pk, addresses=[f"{host.url}/a"])
    at = timezone.now()

    claimed = [fetching._claim(at=at) for _ in range(3)]

    assert {each.community_id for each in claimed if each} == {club.pk, elsewhere.pk}
    assert claimed[2] is None
    assert fetching._claim(at=at + fetching.LEASE) is not None  # its worker has died


def test_a_picture_that_ends_its_workers_is_given_up(host: PictureHost, club: Community) -> None:
    copies.want(community_id=club.pk, addresses=[host.serve("/a.png", drawn())])
    Picture.objects.update(attempt_count=len(fetching.WAITS) + 2)

    fetching.fetch_due(at=timezone.now())

    assert host.asked == []
    assert Picture.objects.get().due_at is None
