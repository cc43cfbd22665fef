"""Visitors whose form carries the visit: in a frame of another site, and in a browser without cookies."""

import re

import pytest
from django.conf import settings
from django.test import Client

from tests.support.surveys import scenario
from tests.support.surveys.scenario import TEXT
from tests.support.surveys.visitor import Visitor

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis")]


class TestInAFrame:
    pytestmark = pytest.mark.usefixtures("in_no_hurry")

    def test_the_seal_carries_the_conversation_without_any_cookie(self):
        made = scenario.project(TEXT, {**TEXT, "prompt": "Second."})
        visitor = Visitor(made, is_framed=True).look()

        for words in ("one", "two"):
            visitor.client = Client(enforce_csrf_checks=True)
            visitor.send(value=words)

        assert "Thank you." in visitor.page
        assert made.conversations.get().completed_at is not None

    def test_no_cookie_is_set_and_any_site_may_show_it(self):
        visitor = Visitor(scenario.project(TEXT), is_framed=True).look().send(value="one")

        assert not visitor.client.cookies
        assert "frame-ancestors *" in visitor.response["Content-Security-Policy"]
        assert "X-Frame-Options" not in visitor.response

    def test_a_seal_cannot_be_turned_to_another_conversation(self):
        made = scenario.project(TEXT, TEXT)
        Visitor(made, is_framed=True).look().send(value="one")
        stolen = made.conversations.get().pk
        other = Visitor(made, is_framed=True).look()
        other.hidden["seal"] = re.sub(r"\.-\.", f".{stolen}.", other.hidden["seal"])

        other.send(value="as somebody else")

        assert made.conversations.count() == 1
        assert "as somebody else" in other.page

    @pytest.mark.parametrize("mode", ["transparent", "semi-private", "anonymous"])
    def test_the_page_says_that_the_site_around_could_see_the_answers(self, mode):
        """Rule 7.972."""
        made = scenario.project(TEXT, privacy_mode=mode)

        page = Visitor(made, is_framed=True).look().page
        told = "The site around this page could see these answers, too." in page

        assert told == (mode != "anonymous")
        assert "the site around" not in Visitor(made).look().page

    def test_a_private_survey_admits_nobody_by_cookie(self):
        made = scenario.project(TEXT, participation="private")
        visitor = Visitor(made, is_framed=True)
        visitor.client.force_login(scenario.member("Ann").user)

        assert visitor.look().status == 403


@pytest.mark.usefixtures("in_no_hurry")
class TestWithoutCookies:
    """A browser that keeps no cookies: the form carries the visit on the plain page too (rule 6.36)."""

    def test_the_form_carries_the_respondent_to_the_end(self):
        made = scenario.project(TEXT, {**TEXT, "prompt": "Second."})
        visitor = Visitor(made).look()

        for answer in ("one", "two"):
            visitor.client = Client(enforce_csrf_checks=True)
            visitor.send(value=answer)
            assert visitor.status == 200

        assert "Thank you." in visitor.page
        conversation = made.conversations.get()
        assert conversation.completed_at is not None
        assert [answer.value for answer in conversation.answers.order_by("block_id")] == ["one", "two"]

    def test_one_browser_stays_one_respondent(self):
        made = scenario.project(TEXT, max_completes_per_user=1)
        visitor = Visitor(made).look()
        first_form = dict(visitor.hidden)
        visitor.client = Client(enforce_csrf_checks=True)
        visitor.send(value="one")

        visitor.client, visitor.hidden = Client(enforce_csrf_checks=True), first_form
        visitor.send(value="again")

        assert "You have answered already." in visitor.page
        assert made.conversations.count() == 1

    def test_a_form_without_cookies_signs_nobody_in(self):
        visitor = Visitor(scenario.project(TEXT, TEXT)).look()
        visitor.client = Client(enforce_csrf_checks=True)

        visitor.send(value="one")

        assert set(visitor.client.cookies) <= {settings.CSRF_COOKIE_NAME}

    def test_a_form_of_another_site_does_not_carry_its_visitor(self):
        """Otherwise the site could read, under its own seal, what people answer here."""
        made = scenario.project(TEXT, TEXT)
        attacker = Visitor(made).look()
        victim = Visitor(made)

        for origin in ("https://evil.example", "null"):
            victim.headers, victim.hidden = {"Origin": origin}, dict(attacker.hidden)
            victim.send("back")
            assert victim.hidden["seal"].split(".")[0] != attacker.hidden["seal"].split(".")[0]
            victim.client.cookies.clear()

        assert not made.conversations.exists()

    def test_a_form_of_our_own_page_is_taken_with_its_origin(self):
        made = scenario.project(TEXT)
        visitor = Visitor(made).look()
        visitor.client, visitor.headers = Client(enforce_csrf_checks=True), {"Origin": "http://testserver"}

        visitor.send(value="one")

        assert made.conversations.get().completed_at is not None

    def test_beside_cookies_a_seal_names_nobody(self):
        made = scenario.project(TEXT, TEXT)
        attacker = Visitor(made)
        attacker.look()
        attacker.client = Client(enforce_csrf_checks=True)
        attacker.send(value="mine")
        victim = Visitor(made)
        victim.client.cookies[settings.SESSION_COOKIE_NAME] = "anything"
        victim.hidden = {"seal": attacker.hidden["seal"], "block": attacker.hidden["block"]}

        victim.send(value="secret")

        assert "colloquy_conversation" not in victim.client.cookies
        assert made.conversations.count() == 1

    def test_a_form_with_cookies_still_needs_its_csrf_token(self):
        made = scenario.project(TEXT)
        visitor = Visitor(made).look()
        del visitor.hidden["csrfmiddlewaretoken"]

        visitor.send(value="forged")

        assert not made.conversations.exists()
        assert "forged" in visitor.page

    def test_a_form_without_cookies_or_seal_is_shown_again_with_what_was_typed(self):
        made = scenario.project(TEXT)
        visitor = Visitor(made).look()
        visitor.client.cookies.clear()
        visitor.hidden["seal"] += "x"

        visitor.send(value="typed")

        assert "Please send this once more." in visitor.page
        assert "typed" in visitor.page
        assert not made.conversations.exists()

    def test_typed_text_is_kept_only_for_its_own_question(self):
        made = scenario.project(TEXT, {**TEXT, "prompt": "Second."})
        visitor = Visitor(made).look()
        visitor.client = Client(enforce_csrf_checks=True)
        visitor.send(value="one")
        visitor.client.cookies["colloquy_visitor"] = "of another page"

        visitor.send(value="for the second question")

        assert "Please send this once more." in visitor.page
        assert "for the second question" not in visitor.page

    def test_a_member_without_cookies_is_not_known(self):
        made = scenario.project(TEXT, participation="private")
        visitor = Visitor(made)
        visitor.client.force_login(scenario.member("Ann").user)
        visitor.look()
        visitor.client = Client(enforce_csrf_checks=True)

        visitor.send(value="one")

        assert visitor.status == 403
        assert not made.conversations.exists()


@pytest.mark.parametrize(
    ("sent", "theme", "kept"),
    [
        ("colloquy-theme=5", "5", "&amp;colloquy-theme=5"),
        ("colloquy-theme=9", "2", ""),
        ("colloquy-theme=5<script>", "2", ""),
        ("colloquy-accent=0a7d5a", "2", "&amp;colloquy-accent=0a7d5a"),
        ("colloquy-accent=red", "2", ""),
    ],
)
def test_the_site_around_a_frame_chooses_its_look(sent, theme, kept):
    """Rule 6.235."""
    made = scenario.project(TEXT, presentation={"theme_id": 2, "accent_color": "bf2352"})

    framed, plain = (
        Client().get(f"/s/{made.slug}?{query}").content.decode() for query in (f"embed=1&{sent}", sent)
    )

    assert f'data-theme="{theme}"' in framed
    assert f'action="/s/{made.slug}?embed=1{kept}"' in framed
    assert ("0a7d5a" in framed) == ("0a7d5a" in sent)
    assert ("bf2352" in framed) == (not kept)
    assert 'data-theme="2"' in plain
    assert f'action="/s/{made.slug}"' in plain
