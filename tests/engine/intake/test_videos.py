"""Addresses of videos, and of their players (rule 3.198)."""

from urllib.parse import parse_qs, urlsplit

import pytest

from surveys.engine.intake import videos
from surveys.engine.intake.reader import read_blocks
from surveys.engine.intake.videos import VIMEO, YOUTUBE, Video
from surveys.engine.script import Script

ID = "aqz-KE-bpKQ"


@pytest.mark.parametrize(
    ("address", "video"),
    [
        (f"https://www.youtube.com/watch?v={ID}", Video(YOUTUBE, ID)),
        (f"https://m.youtube.com/watch?list=PL1&v={ID}&t=1m30s", Video(YOUTUBE, ID, start=90)),
        (f"https://youtu.be/{ID}?si=abc&t=42", Video(YOUTUBE, ID, start=42)),
        (f"https://youtube.com/shorts/{ID}", Video(YOUTUBE, ID)),
        (f"https://www.youtube-nocookie.com/embed/{ID}?start=7", Video(YOUTUBE, ID, start=7)),
        (f"HTTPS://YouTube.com/live/{ID}?t=soon", Video(YOUTUBE, ID)),
        ("https://vimeo.com/76979871", Video(VIMEO, "76979871")),
        ("https://vimeo.com/76979871/8272103f6e#t=1h2s", Video(VIMEO, "76979871", "8272103f6e", 3602)),
        ("https://player.vimeo.com/video/76979871?h=8272103f6e", Video(VIMEO, "76979871", "8272103f6e")),
    ],
)
def test_a_video_is_read_from_the_address_of_its_page_or_its_player(address, video):
    """Rule 3.198."""
    assert videos.read(address) == video
    assert videos.read(video.address) == video


@pytest.mark.parametrize(
    "address",
    [
        f"http://www.youtube.com/watch?v={ID}",
        f"https://www.youtube.com/watch?v={ID}x",
        f"https://www.youtube.com/playlist?list={ID}",
        f"https://www.youtube.com/@club/{ID}",
        f"https://youtu.be/{ID}/more",
        f"https://youtube.com.example/watch?v={ID}",
        f"https://ada:secret@www.youtube.com/watch?v={ID}",
        f"https://www.youtube.com:8443/watch?v={ID}",
        f'https://www.youtube.com/watch?v="{ID[1:]}',
        "https://vimeo.com/channels/staffpicks",
        "https://vimeo.com/76979871/unlisted",
        "https://vimeo.com/76979871/8272103f6e/more",
        "https://example.org/film.mp4",
        "https://[vimeo.com/1",
        "https://vimeo.com:port/1",
        "film",
        "",
    ],
)
def test_other_addresses_are_no_videos(address):
    """Rule 3.198."""
    assert videos.read(address) is None
    assert videos.link(address) == ""


@pytest.mark.parametrize(
    ("video", "path", "asked"),
    [
        (
            Video(YOUTUBE, ID, start=90),
            f"/embed/{ID}",
            {"cc_load_policy": "1", "cc_lang_pref": "pt", "hl": "pt-BR", "start": "90", "autoplay": "1"},
        ),
        (
            Video(VIMEO, "7", "8272103f6e"),
            "/video/7",
            {"texttrack": "pt", "h": "8272103f6e", "dnt": "1", "autoplay": "1"},
        ),
    ],
)
def test_a_player_has_captions_in_the_language_of_the_page(video, path, asked):
    """Rule 6.440."""
    player = urlsplit(video.player("pt-BR"))

    assert f"{player.scheme}://{player.netloc}" == video.origin
    assert player.path == path
    assert asked.items() <= {key: value for key, [value] in parse_qs(player.query).items()}.items()


@pytest.mark.parametrize(
    ("address", "code", "message"),
    [
        (
            "https://example.org/film.mp4",
            "invalid",
            "`video_url` must be the https address of one video on YouTube or Vimeo.",
        ),
        (7, "invalid_type", "`video_url` must be text, not a number."),
    ],
)
def test_another_address_is_refused_by_the_name_of_the_field(address, code, message):
    """Rule 3.198."""
    sent = [{"type": "content_block", "prompt": "Look", "video_url": address}]
    [violation] = read_blocks(sent, path="blocks").violations

    assert (violation.field, violation.code, violation.message) == ("blocks[0].video_url", code, message)


def test_an_emptied_field_is_no_video():
    sent = [{"type": "content_block", "prompt": "Look", "video_url": ""}]
    [block] = read_blocks(sent, path="blocks").blocks

    assert block.video_url is None
    assert videos.origins(Script((block,)).videos) == frozenset()
