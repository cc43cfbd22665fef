"""Videos in content blocks: what the page has before anybody plays them."""

import re

import pytest

from communities.models import CommunitySettings
from surveys.models import Project
from tests.support.pictures import copied
from tests.support.surveys import scenario
from tests.support.surveys.scenario import CHOICE, SAYING, TEXT
from tests.support.surveys.visitor import Visitor

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("in_no_hurry", "redis")]

VIDEO = {**SAYING, "prompt": "Look", "video_url": "https://youtu.be/aqz-KE-bpKQ?si=friend"}
PAGE = 'href="https://www.youtube.com/watch?v=aqz-KE-bpKQ"'
FRAMES = "frame-src https://player.vimeo.com https://www.youtube-nocookie.com"


@pytest.mark.parametrize("privacy_mode", Project.PrivacyMode.values)
def test_a_page_names_the_player_and_loads_nothing_of_it(privacy_mode):
    """Rules 6.440 and 6.441."""
    made = scenario.project(VIDEO, TEXT, privacy_mode=privacy_mode)
    CommunitySettings.objects.update_or_create(community=made.community, defaults={"locale": "de"})

    page = Visitor(made).look().page

    assert re.search(r'data-player="https://www\.youtube-nocookie\.com/embed/aqz-KE-bpKQ\?[^"]*hl=de', page)
    assert "YouTube erfährt deine IP-Adresse, sobald du es abspielst, und keine deiner Antworten." in page
    assert PAGE in page
    assert not re.search(r'(?:src|srcset|poster)="https:', page)
    assert "<iframe" not in page
    assert "friend" not in page


def test_the_picture_of_the_block_is_drawn_on_the_button_alone():
    """Rule 6.441."""
    address = "https://example.com/a.png"
    made = scenario.project({**VIDEO, "image_url": address, "image_alt": "The hall"})
    copied(made.community_id, address, width=1200, height=900)

    page = Visitor(made).look().page

    [box] = re.findall(r'<div class="video".*?</div>', page, re.DOTALL)
    assert 'alt="The hall"' in box
    assert page.count('alt="The hall"') == 1


@pytest.mark.parametrize("is_framed", [False, True])
def test_only_pages_of_a_script_with_videos_allow_players(is_framed):
    """Rule 6.442."""
    later = scenario.project(TEXT, VIDEO, {**SAYING, "video_url": "https://vimeo.com/1"})
    without = scenario.project(TEXT)

    policies = [
        Visitor(made, is_framed=is_framed).look().response["Content-Security-Policy"]
        for made in (later, without)
    ]

    ancestors = "*" if is_framed else "'none'"
    assert policies[0].endswith(f"frame-ancestors {ancestors}; {FRAMES}")
    assert policies[1].endswith(f"frame-ancestors {ancestors}")


def test_the_exchange_above_the_next_question_has_a_link():
    """Rule 6.441."""
    visitor = Visitor(scenario.project(VIDEO, TEXT)).look().send("go")

    [above] = re.findall(r'<ol id="history".*?</ol>', visitor.page, re.DOTALL)
    assert re.search(rf"<a [^>]*{re.escape(PAGE)}[^>]*>▶ Watch the video on YouTube</a>", above)


def test_texts_before_and_after_the_question_of_a_poll_have_a_link():
    """Rule 6.441."""
    made = scenario.project(VIDEO, CHOICE, {**VIDEO, "video_url": "https://vimeo.com/7"}, type="poll")
    visitor = Visitor(made).look()

    assert PAGE in visitor.page
    visitor.send(option=scenario.option_id(made, "q1", 0))
    assert 'href="https://vimeo.com/7"' in visitor.page
