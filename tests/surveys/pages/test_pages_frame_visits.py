"""How a frame remembers its visitor: a partitioned cookie, or a token that the site around it keeps."""

import base64
import re
from datetime import timedelta
from urllib.parse import quote

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from surveys.pages.respondent import frames
from surveys.pages.respondent.frames import COOKIE, LIFETIME, PARAMETER
from surveys.services.links import addresses
from tests.support.surveys import personal_links, scenario
from tests.support.surveys.scenario import CHOICE, SAYING, TEXT
from tests.support.surveys.visitor import Visitor

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis", "in_no_hurry")]

SECOND = {**TEXT, "prompt": "Second."}


@pytest.fixture
def https(settings):
    settings.SESSION_COOKIE_SECURE = True


def handed(visitor):
    """The token for the site around; None if the page gives it none."""
    found = re.search(r'data-token="([^"]+)"', visitor.page)
    return found and found[1]


def known_by(visitor):
    return re.findall(r'data-known-by="(\w*)"', visitor.page)[0]


def back_with(token, made, **more):
    """A browser that keeps no cookies, at the frame whose address brings this token."""
    return Visitor(made, is_framed=True, **more).look(f"&{PARAMETER}={quote(token)}")


def token_for(made, *, slug=None, until=None, conversation_id=None, visitor_id="somebody"):
    return frames.token(
        visitor_id=visitor_id,
        conversation_id=conversation_id,
        link_id=None,
        slug=slug or made.slug,
        until=until or timezone.now() + LIFETIME,
    )


class TestTheToken:
    def test_a_survey_goes_on_where_it_was(self):
        made = scenario.project(TEXT, SECOND)
        first = Visitor(made, is_framed=True).look()
        first.send(value="one")

        later = back_with(handed(first), made)

        assert "Welcome back" in later.page
        assert "Second." in later.page
        assert made.conversations.count() == 1

    def test_it_goes_on_to_the_end_by_the_form(self):
        made = scenario.project(TEXT, SECOND)
        first = Visitor(made, is_framed=True).look()
        first.send(value="one")

        later = back_with(handed(first), made).send(value="two")

        assert "Thank you." in later.page
        assert scenario.counts(made) == {"answered": 2, "completed": 1, "listed": 1}

    def test_a_poll_shows_the_vote_that_was_given(self):
        made = scenario.poll(poll_results_mode="public", max_completes_per_user=1, change_poll=True)
        first = Visitor(made, is_framed=True).look()
        first.send(option=scenario.script(made).blocks[0].options[0].id)

        later = back_with(handed(first), made)

        assert "You have voted in this poll." in later.page
        assert "Your vote" in later.page
        assert "Change my vote" in later.page

    @pytest.mark.parametrize("privacy", ["semi-private", "anonymous"])
    def test_a_poll_takes_one_vote_also_from_a_page_that_was_open_before(self, privacy):
        made = scenario.poll(privacy_mode=privacy, max_completes_per_user=1)
        option = scenario.script(made).blocks[0].options[0].id
        first = Visitor(made, is_framed=True).look()
        second = back_with(handed(first), made)
        first.send(option=option)

        second.send(option=option)

        assert scenario.counts(made)["completed"] == 1

    def test_a_vote_is_changed_after_a_reload(self):
        made = scenario.poll(poll_results_mode="public", change_poll=True, max_completes_per_user=1)
        red, green = (option.id for option in scenario.script(made).blocks[0].options)
        first = Visitor(made, is_framed=True).look()
        first.send(option=red)

        later = back_with(handed(first), made).send("change").send(option=green)

        assert "Thank you." in later.page
        assert made.conversations.get().answers.get().option_id == green

    def test_a_vote_that_was_taken_back_is_handed_over_as_none(self):
        made = scenario.poll(change_poll=True, max_completes_per_user=1)
        first = Visitor(made, is_framed=True).look()
        first.send(option=scenario.script(made).blocks[0].options[0].id).send("retract")

        later = back_with(handed(first), made)

        assert "Prompt 0." in later.page
        assert not made.conversations.exists()

    def test_it_is_handed_over_at_the_start_and_when_the_visit_changes(self):
        made = scenario.project(TEXT, SECOND, {**TEXT, "prompt": "Third."})

        visitor = Visitor(made, is_framed=True, htmx=True).look()
        at_the_start = handed(visitor)
        begun = handed(visitor.send(value="one"))
        moved = handed(visitor.send(value="two"))
        back = back_with(begun, made)

        assert at_the_start
        assert begun
        assert moved is None
        assert (handed(back), known_by(back)) == (None, "token")

    def test_a_visitor_who_comes_back_counts_once_against_the_limit_of_their_address(self, settings):
        settings.CONVERSATIONS_PER_ADDRESS_AND_MINUTE = 1
        made = scenario.project(TEXT, SECOND)
        first = Visitor(made, is_framed=True).look()
        first.send(value="one")

        later = back_with(handed(first), made).send(value="two")

        assert "Thank you." in later.page

    def test_a_reload_keeps_the_order_of_options_before_the_first_answer(self):
        options = [f"option {n}" for n in range(12)]
        made = scenario.project({**CHOICE, "options": options, "randomize_options": True})
        first = Visitor(made, is_framed=True).look()

        later = back_with(handed(first), made)

        found = [re.findall(r"option \d+", each.page) for each in (first, later)]
        assert found[0] == found[1]

    def test_the_plain_page_takes_none(self):
        made = scenario.project(TEXT, SECOND)
        first = Visitor(made, is_framed=True).look()
        first.send(value="one")

        plain = Visitor(made).look(f"?{PARAMETER}={quote(handed(first))}")

        assert "Second." not in plain.page
        assert handed(plain) is None

    @pytest.mark.parametrize(
        ("destination", "known"), [("document", ""), ("iframe", "token"), (None, "token")]
    )
    def test_a_frame_opened_in_a_tab_of_its_own_takes_none(self, destination, known):
        made = scenario.project(TEXT, SECOND)
        first = Visitor(made, is_framed=True).look()
        first.send(value="one")
        other = Visitor(made, is_framed=True)
        headers = {"Sec-Fetch-Dest": destination} if destination else {}

        other._take(other.client.get(f"{other.address}&{PARAMETER}={quote(handed(first))}", headers=headers))

        assert known_by(other) == known
        assert ("Second." in other.page) is (known == "token")

    def test_the_address_of_a_form_counts_for_nothing(self):
        made = scenario.project(TEXT, SECOND)
        first = Visitor(made, is_framed=True).look()
        first.send(value="one")
        other = Visitor(made, is_framed=True).look()
        other.address += f"&{PARAMETER}={quote(handed(first))}"

        other.send(value="of somebody else")

        assert made.conversations.count() == 2

    def test_a_form_needs_its_seal_beside_a_token(self):
        made = scenario.project(TEXT, SECOND)
        first = Visitor(made, is_framed=True).look()
        first.send(value="one")
        forged = back_with(handed(first), made)
        forged.headers = {"Origin": "https://evil.example"}

        forged.send(value="two")

        assert scenario.counts(made)["answered"] == 1


class TestATokenThatCountsForNothing:
    """A visitor with such a token counts as new, and gets another token."""

    @pytest.mark.parametrize(
        "spoil",
        [
            lambda token: token[:-4] + "AAAA",
            lambda token: token[1:],
            lambda _token: "x",
            lambda _token: "\x00",
            lambda _token: "é" * 40,
            lambda _token: "=" * 100,
            lambda _token: "A" * 5000,
            lambda _token: base64.urlsafe_b64encode(b"0" * 200).decode(),
        ],
    )
    def test_a_forged_one(self, spoil):
        made = scenario.project(TEXT, SECOND)
        first = Visitor(made, is_framed=True).look()
        first.send(value="one")

        other = back_with(spoil(handed(first)), made)

        assert (other.status, known_by(other)) == (200, "")
        assert "Second." not in other.page
        assert handed(other)

    def test_one_of_another_project(self):
        made, other = scenario.project(TEXT, SECOND), scenario.project(TEXT, SECOND)
        first = Visitor(made, is_framed=True).look()
        first.send(value="one")

        visitor = back_with(handed(first), other)

        assert known_by(visitor) == ""
        assert "Second." not in visitor.page

    def test_one_that_names_a_conversation_of_another_project(self):
        made, other = scenario.project(TEXT, SECOND), scenario.project(TEXT, SECOND)
        Visitor(made, is_framed=True).look().send(value="one")
        token = token_for(other, conversation_id=made.conversations.get().pk)

        visitor = back_with(token, other)

        assert "Second." not in visitor.page

    @pytest.mark.parametrize(("left", "known"), [(timedelta(seconds=5), "token"), (timedelta(0), "")])
    def test_one_that_has_expired(self, left, known):
        made = scenario.project(TEXT)

        visitor = back_with(token_for(made, until=timezone.now() + left), made)

        assert known_by(visitor) == known

    def test_one_that_lasts_as_long_as_a_cookie(self):
        visitor = Visitor(scenario.project(TEXT), is_framed=True).look()

        until = int(re.findall(r'data-until="(\d+)"', visitor.page)[0])

        assert abs(until - (timezone.now() + LIFETIME).timestamp()) < 60
        assert LIFETIME.days == 365

    def test_one_of_a_conversation_that_is_gone(self):
        made = scenario.project(TEXT, SECOND)
        first = Visitor(made, is_framed=True).look()
        first.send(value="one")
        made.conversations.get().delete()

        later = back_with(handed(first), made)

        assert "Prompt 0." in later.page


class TestWhatATokenTells:
    def test_it_shows_neither_the_visitor_nor_the_conversation(self):
        made = scenario.project(TEXT, SECOND)
        visitor = Visitor(made, is_framed=True).look()
        visitor.send(value="one")
        conversation_id = made.conversations.get().pk

        told = base64.urlsafe_b64decode(handed(visitor))

        for secret in (str(conversation_id), conversation_id.hex, visitor.hidden["seal"].split(".")[0]):
            assert secret.encode() not in told
            assert secret not in handed(visitor)

    def test_two_projects_know_a_browser_as_two_visitors(self, https):
        one, other = scenario.project(TEXT), scenario.project(TEXT)
        visitor = Visitor(one, is_framed=True).look()
        elsewhere = Visitor(other, is_framed=True)
        elsewhere.client = visitor.client

        elsewhere.look()

        assert known_by(elsewhere) == ""
        assert elsewhere.hidden["seal"].split(".")[0] != visitor.hidden["seal"].split(".")[0]

    def test_on_an_anonymous_project_it_names_no_person_of_a_session(self):
        made = scenario.project(TEXT, SECOND, privacy_mode="anonymous")
        visitor = Visitor(made, is_framed=True)
        visitor.client.force_login(scenario.member("Ann").user)
        visitor.look().send(value="one")

        later = back_with(handed(visitor), made)

        assert "Prompt 0." in later.page
        assert "Ann" not in later.page

    @pytest.mark.parametrize("is_secure", [False, True])
    def test_the_site_around_reads_no_anonymous_answers(self, settings, is_secure):
        """Rule 7.821: it hands its visitor a visit of its own, or one that it was handed."""
        settings.SESSION_COOKIE_SECURE = is_secure
        made = scenario.project(SAYING, TEXT, SECOND, privacy_mode="anonymous")
        site = Visitor(made, is_framed=True).look().send("go")
        own = site.client.cookies[COOKIE].value if is_secure else handed(site)
        ann = back_with(own, made).send("go").send(value="my secret")
        given = [token for token in (own, handed(ann)) if token]

        read = [back_with(token, made).page for token in given]
        for token in given:
            site.client.cookies[COOKIE] = token
            read.append(site.look().page)

        assert "Second." in ann.page
        assert not any("my secret" in page for page in read)
        assert "Thank you." in ann.send(value="more").page

    def test_the_holder_of_a_token_is_not_let_in_where_its_visitor_is_not(self):
        made = scenario.project(TEXT, participation="private")

        visitor = back_with(token_for(made), made)

        assert visitor.status == 403


@pytest.mark.usefixtures("https")
class TestThePartitionedCookie:
    def test_it_is_set_at_the_first_look_for_this_page_alone(self):
        made = scenario.project(TEXT)

        visitor = Visitor(made, is_framed=True).look()

        [cookie] = visitor.response.cookies.values()
        attributes = cookie.OutputString().split("; ")
        assert attributes[0].startswith(f"{COOKIE}=")
        assert {*attributes[1:]} >= {
            "HttpOnly",
            "Secure",
            "SameSite=None",
            "Partitioned",
            f"Path=/s/{made.slug}",
            "Max-Age=31536000",
        }

    def test_it_keeps_a_survey_and_nothing_is_handed_over(self):
        made = scenario.project(TEXT, SECOND)
        visitor = Visitor(made, is_framed=True).look()
        given = [handed(visitor), handed(visitor.send(value="one"))]

        visitor.look()

        assert "Welcome back" in visitor.page
        assert known_by(visitor) == "cookie"
        assert [*given, handed(visitor)] == [None, None, None]

    def test_it_changes_with_the_visit_alone(self):
        made = scenario.project(TEXT, SECOND, {**TEXT, "prompt": "Third."})
        visitor = Visitor(made, is_framed=True, htmx=True).look()

        set_by = [COOKIE in visitor.send(value=value).response.cookies for value in ("one", "two")]

        assert set_by == [True, False]

    def test_where_the_browser_keeps_none_the_first_form_shows_it(self):
        made = scenario.project(TEXT, SECOND)
        visitor = Visitor(made, is_framed=True).look()
        visitor.client = Client(enforce_csrf_checks=True)

        visitor.send(value="one")

        assert COOKIE not in visitor.response.cookies
        assert "Second." in back_with(handed(visitor), made).page

    def test_what_was_handed_over_never_becomes_a_cookie(self):
        """A site could send a visit of its own, to read somebody's answers on another site later."""
        made = scenario.project(TEXT, SECOND)

        visitor = back_with(token_for(made), made)
        visitor.send(value="one")

        assert not visitor.client.cookies

    def test_beside_it_a_token_and_a_seal_name_nobody(self):
        made = scenario.project(TEXT, SECOND)
        attacker = Visitor(made, is_framed=True).look()
        attacker.send(value="mine")
        token = token_for(made, conversation_id=made.conversations.get().pk)
        victim = Visitor(made, is_framed=True).look()

        victim.look(f"&{PARAMETER}={quote(token)}")
        victim.hidden["seal"] = attacker.hidden["seal"]
        victim.send(value="secret")

        assert made.conversations.count() == 2

    def test_a_form_of_another_site_is_refused_also_with_the_cookie(self):
        made = scenario.project(TEXT, SECOND)
        visitor = Visitor(made, is_framed=True).look()
        visitor.headers = {"Origin": "https://evil.example"}

        visitor.send(value="forged")

        assert not made.conversations.exists()

    def test_one_of_another_project_counts_for_nothing(self):
        made, other = scenario.project(TEXT, SECOND), scenario.project(TEXT)
        visitor = Visitor(other, is_framed=True)
        visitor.client.cookies[COOKIE] = token_for(other, slug=made.slug)

        visitor.look()

        assert known_by(visitor) == ""

    def test_a_personal_link_is_remembered(self):
        made = personal_links.private(TEXT, SECOND)
        link = personal_links.link_for(scenario.member("Ann"), made)
        visitor = Visitor(made, is_framed=True)
        visitor.look(f"&link={addresses.signed(link.pk)}").send(value="one")

        visitor.look()

        assert "Second." in visitor.page

    def test_the_plain_page_neither_sets_nor_reads_it(self):
        made = scenario.project(TEXT, SECOND)
        visitor = Visitor(made)
        visitor.client.cookies[COOKIE] = token_for(made)

        visitor.look()

        assert COOKIE not in visitor.response.cookies
        assert 'id="frame-visit"' not in visitor.page


def test_without_https_no_cookie_is_set():
    assert not settings.SESSION_COOKIE_SECURE

    visitor = Visitor(scenario.project(TEXT), is_framed=True).look().send(value="one")

    assert not visitor.client.cookies
