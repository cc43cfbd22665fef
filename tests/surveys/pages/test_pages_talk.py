import re
import uuid
from datetime import timedelta
from html.parser import HTMLParser
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from markupsafe import escape

from communities.models import CommunitySettings
from surveys.engine.script import Continue, Scale
from surveys.models import Answer, Conversation, Project
from surveys.pages.respondent import visitors
from tests.support.pictures import copied
from tests.support.surveys import scenario
from tests.support.surveys.scenario import CHOICE, SAYING, TEXT
from tests.support.surveys.visitor import Visitor, conversation_cookie

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("in_no_hurry")]

LOGIC: list[dict[str, Any]] = [
    {**SAYING, "prompt": "Welcome.\nGlad you are here."},
    {**CHOICE, "prompt": "Which colour?", "name": "colour", "required": True},
    {**TEXT, "prompt": "Why [Colour]?", "precondition": 'NOT((Colour = "green"))'},
    {"type": "multi_punch", "options": ["a", "b", "c"], "prompt": "Which letters?", "min": 1, "max": 2},
    {"type": "open_numeric", "prompt": "How many?", "min": 0, "max": 10},
    {"type": "rating", "prompt": "How good?"},
    {"type": "ranking", "options": ["x", "y", "z"], "prompt": "In which order?", "rank_top_n": 2},
]


@pytest.fixture
def in_no_hurry(settings, redis):
    settings.LEAST_SECONDS_TO_FIRST_ANSWER = 0


def option(made, name, place):
    block = next(block for block in scenario.script(made).blocks if block.name == name)
    return block.options[place].id


def values(made):
    rows = Answer.objects.filter(conversation__project=made).order_by("block", "ordinal")
    return list(rows.values_list("block__prompt", "value"))


def test_looking_begins_nothing():
    made = scenario.project(SAYING, CHOICE)

    visitor = Visitor(made).look()

    assert visitor.status == 200
    assert "Prompt 0." in visitor.page
    assert Conversation.objects.count() == 0


def test_a_survey_is_walked_with_plain_forms():
    made = scenario.project(*LOGIC, thanks="That was kind.")
    visitor = Visitor(made).look()

    visitor.send("go")
    visitor.send(option=option(made, "colour", 0))
    assert "Which letters?" in visitor.page
    visitor.send(option=[option(made, "q3", 0), option(made, "q3", 2)])
    visitor.send(value="3,5")
    visitor.send(value="4")
    visitor.send(**{f"rank-{option(made, 'q6', 2)}": "1", f"rank-{option(made, 'q6', 0)}": "2"})

    assert "That was kind." in visitor.page
    assert values(made) == [
        ("Which colour?", "red"),
        ("Which letters?", "a"),
        ("Which letters?", "c"),
        ("How many?", "3.5"),
        ("How good?", "4"),
        ("In which order?", "1"),
        ("In which order?", "2"),
    ]
    assert made.conversations.get().completed_at is not None


def test_with_htmx_the_answer_is_the_next_step_and_what_was_said():
    made = scenario.project(*LOGIC)
    visitor = Visitor(made, htmx=True).look()
    visitor.send("go")

    visitor.send(option=option(made, "colour", 1))

    assert visitor.status == 200
    assert "<html" not in visitor.page
    assert "Why green?" in visitor.page
    assert 'hx-swap-oob="beforeend"' in visitor.page
    assert visitor.page.count("Which colour?") == 1


def test_back_shows_the_step_before_with_its_answer():
    made = scenario.project(*LOGIC)
    visitor = Visitor(made).look().send("go").send(option=option(made, "colour", 1))
    chosen = option(made, "colour", 1)

    visitor.send("back")

    assert "Which colour?" in visitor.page
    assert visitor.has_control(f'value="{chosen}"[^>]* checked')


def test_a_missing_answer_is_told_at_the_field_and_on_top():
    made = scenario.project({**CHOICE, "required": True})
    visitor = Visitor(made).look()

    visitor.send()

    assert visitor.status == 422
    assert visitor.page.count("This question needs an answer.") == 2
    assert 'id="summary"' in visitor.page


def test_what_was_typed_is_kept_beside_the_error():
    made = scenario.project({"type": "open_numeric", "min": 1, "max": 10})
    visitor = Visitor(made).look()

    visitor.send(value="eleven & more")

    assert visitor.status == 422
    assert 'value="eleven & more"' in visitor.page


def test_ranks_given_twice_are_told_and_kept():
    made = scenario.project({"type": "ranking", "options": ["x", "y"]})
    first, second = option(made, "q0", 0), option(made, "q0", 1)
    visitor = Visitor(made).look()

    visitor.send(**{f"rank-{first}": "1", f"rank-{second}": "1"})

    assert "Two items have the number 1." in visitor.page
    assert visitor.page.count("<option selected>1</option>") == 2


FACES = {
    "type": "opinion_scale",
    "min": 1,
    "max": 2,
    "scale": Scale(icon="emoji"),
    "options": [{"value": "1", "emoji": "😞"}, {"value": "2", "emoji": "😀"}],
}
LABELLED = {
    **FACES,
    "options": [{"value": "1", "emoji": "😞", "label": "Bad"}, {"value": "2", "emoji": "😀"}],
}
SAID, SIGN = "You: </span>", '<span aria-hidden="true">😞</span>'


@pytest.mark.parametrize(
    ("block", "value", "said"),
    [
        (
            FACES,
            "1",
            f'{SIGN} <span class="visually-hidden">disappointed face, 1 of 2</span>',
        ),
        (LABELLED, "1", f"{SIGN} <span>Bad</span>"),
        ({"type": "rating"}, "4", "<span>4 of 5 stars</span>"),
        ({"type": "nps"}, "9", "<span>9</span>"),
    ],
)
def test_the_past_shows_what_was_pressed(block, value, said):
    made = scenario.project(block, TEXT)

    visitor = Visitor(made).look().send(value=value)

    assert f"{SAID} {said}" in re.sub(r"\s+", " ", visitor.page).replace("</span><span", "</span> <span")


def test_the_past_shows_the_emoji_of_a_choice_with_its_words():
    made = scenario.project({**CHOICE, "options": [{"value": "good", "emoji": "☺"}, "bad"]}, TEXT)

    visitor = Visitor(made).look().send(option=option(made, "q0", 0))

    assert re.search(r"☺</span>\s*<span>good</span>", visitor.page)


def test_each_point_that_is_an_emoji_has_words_for_screen_readers():
    page = Visitor(scenario.project(FACES)).look().page

    assert re.findall(r'<span class="visually-hidden">([^<]*of 2)</span>', page) == [
        "disappointed face, 1 of 2",
        "grinning face, 2 of 2",
    ]


def test_the_results_of_emoji_have_words_for_screen_readers():
    made = scenario.project(FACES, type="poll", poll_results_mode="public")

    visitor = Visitor(made).look().send(value="2")

    spoken = '<span class="visually-hidden">grinning face, 2 of 2</span>'
    assert spoken in visitor.page.partition("data-results")[2]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "Put the items in order, or press “Skip”."),
        ({"required": True}, "Put the items in order."),
        ({"rank_top_n": 1}, "Choose your best 1, or press “Skip”."),
    ],
)
def test_an_untouched_ranking_is_not_taken_for_a_skip(fields, said):
    made = scenario.project({"type": "ranking", "options": ["x", "y"], **fields}, TEXT)
    visitor = Visitor(made).look()

    visitor.send()

    assert (visitor.status, f">{said}<" in visitor.page) == (422, True)
    assert made.conversations.count() == 0
    if not fields.get("required"):
        assert "Prompt 1." in visitor.send("skip").page


def test_the_count_of_questions_is_a_range_until_answers_decide():
    def count(visitor):
        (text,) = re.findall(r'id="count"[^>]*>(?:<span[^>]*>[^<]*</span>)?([^<]*)<', visitor.page)
        return text

    follow_up = {**TEXT, "precondition": 'NOT(colour = "red")'}
    colour = {**CHOICE, "name": "colour"}
    made = scenario.project(SAYING, colour, follow_up, {**follow_up, "type": "nps"}, SAYING, TEXT)
    red, green = option(made, "colour", 0), option(made, "colour", 1)
    short, long = Visitor(made).look(), Visitor(made).look()

    assert count(short) == ""  # a greeting is no question
    assert [count(short.send("go")), count(short.send(option=green))] == ["1 of 2 to 4", "1 of 2"]
    assert count(short.send("go")) == "2 of 2"
    long.send("go").send(option=red)
    assert [count(long), count(long.send(value="x")), count(long.send(value="3"))] == [
        "2 of 4",
        "3 of 4",
        "3 of 4",
    ]
    assert count(long.send("go")) == "4 of 4"


def test_an_optional_question_may_be_skipped():
    made = scenario.project(TEXT, {**TEXT, "prompt": "Next."})
    visitor = Visitor(made).look()
    assert 'value="skip"' in visitor.page

    visitor.send("skip")

    assert "Next." in visitor.page
    assert "Skipped" in visitor.page
    assert values(made) == []


def test_a_required_question_has_no_skip():
    made = scenario.project({**TEXT, "required": True})

    assert 'value="skip"' not in Visitor(made).look().page


def test_markup_in_words_of_authors_and_respondents_stays_text():
    nasty = '<script>alert("1")</script>'
    made = scenario.project({**TEXT, "prompt": nasty}, {**TEXT, "prompt": "You said [q0]. [Q0]"})
    visitor = Visitor(made).look()

    visitor.send(value=f'{nasty}"><b>')

    source = visitor.response.content.decode()
    assert nasty not in source
    assert escape(nasty) in source


def test_whoever_comes_back_is_welcomed_where_they_were():
    made = scenario.project(*LOGIC)
    visitor = Visitor(made).look().send("go").send(option=option(made, "colour", 1))

    visitor.look()

    assert "Welcome back" in visitor.page
    assert "Why green?" in visitor.page


def test_a_browser_that_lost_its_conversation_cookie_goes_on_too():
    made = scenario.project(*LOGIC)
    visitor = Visitor(made).look().send("go")
    del visitor.client.cookies["colloquy_conversation"]

    visitor.look()

    assert "Which colour?" in visitor.page
    assert made.conversations.count() == 1


def test_an_answer_sent_twice_counts_once():
    made = scenario.project(TEXT, {**TEXT, "prompt": "Next."})
    visitor = Visitor(made, htmx=True).look()
    form = dict(visitor.hidden)
    visitor.send(value="Hello")

    visitor.hidden = {**visitor.hidden, "block": form["block"]}
    visitor.send(value="Hello")

    assert "Next." in visitor.page
    assert values(made) == [("Prompt 0.", "Hello")]


def test_a_stale_form_shows_where_the_conversation_is():
    made = scenario.project(TEXT, {**TEXT, "prompt": "Second."}, {**TEXT, "prompt": "Third."})
    visitor = Visitor(made).look()
    stale = visitor.hidden["block"]
    visitor.send(value="one").send(value="two")

    visitor.hidden["block"] = stale
    visitor.send(value="changed in an old tab")

    assert "This page was out of date" in visitor.page
    assert "Third." in visitor.page
    assert [value for _, value in values(made)] == ["one", "two"]


@pytest.mark.parametrize("noun", ["survey", "poll"])
@pytest.mark.parametrize("delivery", [None, {"audience": {"participation": "open_web"}}])
def test_a_project_that_was_never_opened_does_not_say_that_it_was_closed(delivery, noun):
    made = scenario.project(
        CHOICE,
        type="poll" if noun == "poll" else "convo",
        status="inactive",
        opened_at=None,
        delivery=delivery,
    )

    visitor = Visitor(made).look()

    assert "Not open yet." in visitor.page
    assert "closed" not in visitor.page


def test_closing_while_answering_keeps_what_was_typed_in_sight():
    made = scenario.project(TEXT, {**TEXT, "prompt": "Second."})
    visitor = Visitor(made).look().send(value="one")
    made.status = "inactive"
    made.save()

    visitor.send(value="a long thought")

    assert "This survey is closed." in visitor.page
    assert "a long thought" in visitor.page
    assert "What you answered before is saved." in visitor.page
    assert values(made) == [("Prompt 0.", "one")]


@pytest.mark.parametrize("has_begun", [True, False])
def test_a_question_that_its_author_took_out_is_not_called_answered(has_begun):
    made = scenario.project(TEXT, TEXT)
    visitor = Visitor(made).look()
    if has_begun:
        visitor.send(value="one")
    visitor.hidden["block"] = "999999999"

    visitor.send(value="two")

    assert "The author has changed the questions." in visitor.page


def test_a_closed_survey_says_so():
    made = scenario.project(TEXT, status="inactive")

    visitor = Visitor(made).look()

    assert (visitor.status, "This survey is closed." in visitor.page) == (200, True)


def test_a_survey_that_opens_later_tells_the_moment():
    opens_at = timezone.now() + timedelta(days=2)
    made = scenario.project(TEXT, status="inactive", opens_at=opens_at)

    visitor = Visitor(made).look()

    assert "Not open yet." in visitor.page
    assert f"{opens_at:%H:%M} UTC" in visitor.page
    assert "data-local" in visitor.page


def test_whoever_has_answered_is_thanked_again():
    made = scenario.project(TEXT, max_completes_per_user=1)
    visitor = Visitor(made).look().send(value="one")

    visitor.look()

    assert "You have answered this already." in visitor.page
    assert "Answer again" not in visitor.page


def test_answering_again_begins_anew_where_it_is_allowed():
    made = scenario.project(TEXT)
    visitor = Visitor(made).look().send(value="one")

    visitor.send("again")
    visitor.send(value="two")

    assert sorted(value for _, value in values(made)) == ["one", "two"]


def test_at_the_limit_a_browser_without_the_conversation_is_told_too():
    made = scenario.project(TEXT, max_completes_per_user=1, privacy_mode="anonymous")
    visitor = Visitor(made).look().send(value="one")
    del visitor.client.cookies["colloquy_conversation"]

    visitor.look()

    assert "You have answered already." in visitor.page


@pytest.mark.parametrize("htmx", [False, True])
def test_what_was_said_on_an_anonymous_survey_leaves_the_browser_with_its_end(htmx):
    made = scenario.project(
        TEXT, {**TEXT, "prompt": "And?"}, privacy_mode="anonymous", thanks="That was kind."
    )
    visitor = Visitor(made, htmx=htmx).look().send(value="one")
    conversation = Conversation.objects.get()
    was_kept = str(conversation.pk) in conversation_cookie(visitor)
    sent = dict(visitor.hidden)

    visitor.send(value="two")
    is_thanked = "That was kind." in visitor.page
    kept = conversation_cookie(visitor)
    visitor.hidden = sent
    pressed_twice = visitor.send(value="two").page
    visitor.headers = {}
    later = visitor.look()

    assert (was_kept, is_thanked) == (True, True)
    for page in (pressed_twice, later.page):
        assert "You have answered this already." in page
        assert "This browser keeps nothing of your answers." in page
        assert not {"one", "two", "And?"} & set(re.split(r"[<>]", page))
    assert str(conversation.pk) not in kept + later.page
    assert str(visitors.ANSWERED) in kept
    assert later.response["Cache-Control"] == "private, no-store"
    assert (Conversation.objects.count(), len(values(made))) == (1, 2)
    assert "Answer again" in later.page
    assert 'name="value"' in visitor.send("again").page


def test_a_vote_that_can_be_changed_stays_in_the_browser_until_the_poll_closes():
    made = scenario.project(CHOICE, type="poll", privacy_mode="anonymous", change_poll=True)
    visitor = Visitor(made).look().send(option=scenario.script(made).blocks[0].options[0].id)
    is_changeable = "Change my vote" in visitor.look().page
    Project.objects.update(change_poll=False)

    visitor.look()

    assert is_changeable
    assert str(visitors.ANSWERED) in conversation_cookie(visitor)
    assert "You have voted in this poll." in visitor.look().page


@pytest.mark.parametrize(
    ("privacy_mode", "told"),
    [
        ("transparent", "Everybody in the community can see the answers that you give here."),
        (
            "semi-private",
            "Only the author and the community’s admins can see the answers that you give here.",
        ),
        ("anonymous", "Your answers are anonymous: nothing that we store joins them to you."),
    ],
)
@pytest.mark.parametrize("kind", ["convo", "poll"])
def test_strangers_read_who_can_see_their_answers(privacy_mode, told, kind):
    page = Visitor(scenario.project(CHOICE, privacy_mode=privacy_mode, type=kind)).look().page

    assert told in page
    assert "Not you?" not in page


def test_a_private_survey_asks_for_a_sign_in():
    made = scenario.project(TEXT, participation="private")

    visitor = Visitor(made).look()

    assert visitor.status == 403
    assert "Please sign in first." in visitor.page
    assert 'name="robots" content="noindex"' in visitor.page


def test_a_member_who_signed_in_is_let_in():
    made = scenario.project({**TEXT, "prompt": "Hello [UserName]."}, participation="private")
    member = scenario.member("Ann")
    visitor = Visitor(made)
    visitor.client.force_login(member.user)

    visitor.look()
    assert "Hello Ann." in visitor.page
    visitor.send(value="one")

    assert made.conversations.get().user_id == member.user_id


def test_somebody_signed_in_who_is_no_member_is_told_what_is_missing():
    made = scenario.project(TEXT, participation="private")
    stranger = scenario.member("Bo", number=2)
    visitor = Visitor(made)
    visitor.client.force_login(stranger.user)

    page = visitor.look().page

    assert "This is for members of Community 1." in page
    assert "You are signed in as Bo, who is not a member of it." in page


@pytest.mark.parametrize("address", ["/s/nothing-here", "/s/%00", "/s/a b", "/nowhere"])
def test_an_unknown_address_is_a_friendly_page(client, address):
    page = client.get(address)

    assert page.status_code == 404
    assert "We cannot find this page." in page.content.decode()


def test_cookies_are_signed_and_out_of_reach_of_scripts(settings):
    settings.SESSION_COOKIE_SECURE = True
    made = scenario.project(TEXT)
    visitor = Visitor(made).look().send(value="one")

    for name in ("colloquy_visitor", "colloquy_conversation"):
        cookie = visitor.client.cookies[name]
        assert (cookie["httponly"], cookie["secure"], cookie["samesite"]) == (True, True, "Lax")


def test_a_cookie_that_was_tampered_with_counts_as_none():
    made = scenario.project(TEXT)
    visitor = Visitor(made).look().send(value="one")
    visitor.client.cookies["colloquy_conversation"] = f"{uuid.uuid4()}:forged"
    visitor.client.cookies["colloquy_visitor"] = "somebody:forged"

    visitor.look()

    assert "Prompt 0." in visitor.page
    assert "already" not in visitor.page


def test_language_theme_and_branding_come_from_the_community_and_project():
    community = scenario.community()
    CommunitySettings.objects.update_or_create(community=community, defaults={"locale": "ar_EG"})
    made = scenario.project(
        TEXT, presentation={"theme_id": 3, "interviewer_id": 2, "branding": "Acme & Sons"}
    )

    visitor = Visitor(made).look()
    page = visitor.page

    assert '<html lang="en" dir="ltr" data-theme="3">' in page
    assert '<h1 lang="ar-EG" dir="auto">' in visitor.response.content.decode()
    assert "Acme & Sons" in page
    assert "Jonas" in page


HEBREW = "שלום"
SPOKEN: list[dict[str, Any]] = [
    {**SAYING, "prompt": HEBREW, "continue_": Continue(label=HEBREW)},
    {**CHOICE, "options": [HEBREW, f"{HEBREW} 2"], "prompt": HEBREW},
    {**CHOICE, "options": [HEBREW, f"{HEBREW} 2"], "prompt": HEBREW, "answer_style": "select_menu"},
    {"type": "ranking", "options": [HEBREW, f"{HEBREW} 2"], "prompt": HEBREW},
    {
        "type": "nps",
        "prompt": HEBREW,
        "scale": Scale(label_left=HEBREW, label_center=HEBREW, label_right=HEBREW),
    },
    {
        "type": "rating",
        "prompt": HEBREW,
        "min": 1,
        "max": 2,
        "options": [{"value": "1", "label": HEBREW}, {"value": "2", "label": HEBREW}],
    },
    {**TEXT, "prompt": HEBREW},
]


class _Directions(HTMLParser):
    """Collects the texts in Hebrew letters that no element with this language and a direction holds."""

    def __init__(self, source, lang):
        super().__init__()
        self.lang = lang
        self.open, self.bare, self.count = [], [], 0
        self.feed(source)

    def handle_starttag(self, tag, attributes):
        if tag not in ("input", "img", "meta", "link", "br"):
            self.open.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, text):
        inside = [attributes for tag, attributes in self.open if tag not in ("html", "head", "body")]
        if HEBREW in text and self.open[-1][0] != "title":
            self.count += 1
            own = [each for each in inside if each.get("dir") == "auto"]
            if not own or own[-1].get("lang") != self.lang:
                self.bare.append((text, self.get_starttag_text()))


@pytest.mark.parametrize("locale", ["he", None])
@pytest.mark.parametrize("kind", ["convo", "poll"])
def test_every_text_of_the_script_has_its_own_direction_and_no_false_language(kind, locale):
    CommunitySettings.objects.update_or_create(community=scenario.community(), defaults={"locale": locale})
    blocks = SPOKEN if kind == "convo" else [SPOKEN[0], SPOKEN[1]]
    made = scenario.project(
        *blocks,
        type=kind,
        name=HEBREW,
        thanks=HEBREW,
        presentation={"branding": HEBREW},
        poll_results_mode="public",
    )
    visitor = Visitor(made).look()
    seen = [visitor.response.content.decode()]
    for block in scenario.script(made).blocks if kind == "convo" else scenario.script(made).blocks[1:]:
        options = [str(option.id) for option in block.options]
        sent = {
            "option": options[:1],
            "value": "2",
            **{f"rank-{each}": n + 1 for n, each in enumerate(options)},
        }
        visitor.send("answer" if block.asks else "go", **sent)
        seen.append(visitor.response.content.decode())

    pages = [_Directions(each, locale or "") for each in seen]

    assert "Finished" in seen[-1]
    assert sum(each.count for each in pages) > 6 * len(seen)
    assert [each.bare for each in pages] == [[] for each in pages]


def test_shuffled_options_stand_still_from_the_first_look_to_the_answer():
    options = [str(n) for n in range(12)]
    made = scenario.project(
        {"type": "multi_punch", "options": options, "randomize_options": True, "min": 1, "required": True}
    )
    visitor = Visitor(made)

    def order():
        return [line for line in visitor.page.split('class="text">') if line.split("<")[0] in options]

    visitor.look()
    before = [line.split("<")[0] for line in order()]
    visitor.send()
    after = [line.split("<")[0] for line in order()]

    assert before == after
    assert before != options


def test_a_project_without_questions_says_so():
    made = scenario.project(SAYING)
    Project.objects.filter(pk=made.pk).update(revision=made.revision)
    made.blocks.all().delete()

    assert Visitor(made).look().status == 200


def test_a_graded_answer_gets_its_word_with_a_sign_and_stays_on_reload():
    made = scenario.project({**CHOICE, "prompt": "Capital?"}, TEXT, scoring_enabled=True)
    right, wrong = option(made, "q0", 0), option(made, "q0", 1)
    made.blocks.filter(name="q0").update(
        correct_answer_ids=[right], when_correct="Well known, [answer].", when_incorrect="A pity."
    )
    Project.objects.filter(pk=made.pk).update(revision=99)

    visitor = Visitor(made).look().send(option=right)
    assert "That is right." in visitor.page
    assert "Well known, red." in visitor.page
    other = Visitor(made, htmx=True).look().send(option=wrong)

    assert "Not quite." in other.page
    assert "A pity." in other.page


def test_pictures_have_a_text_for_those_who_do_not_see_them():
    address = "https://example.com/a.png"
    own = {"image_url": address, "thumbnail_url": address, "image_alt": "A <board>"}
    made = scenario.project({**TEXT, **own})
    copy = copied(made.community_id, address, width=304, height=576)

    page = Visitor(made).look().page

    found = rf'<img class="picture" src="/pictures/{copy.name}" alt="A <board>"\s+width="152" height="288">'
    assert re.search(found, page)
    assert re.search(r'<img class="thumbnail" src="[^"]+" alt=""\s', page)


@pytest.mark.parametrize("place", [1, 40])
def test_an_answer_takes_few_statements_and_a_short_page_wherever_it_stands(place):
    made = scenario.project(*[{**CHOICE, "prompt": f"Prompt {n:02}."} for n in range(50)])
    visitor = Visitor(made, htmx=True).look()
    for n in range(place):
        visitor.send(option=option(made, f"q{n}", 0))

    with CaptureQueriesContext(connection) as answer:
        visitor.send(option=option(made, f"q{place}", 0))

    assert len([query for query in answer if query["sql"] not in ("BEGIN", "COMMIT")]) <= 4
    assert len(visitor.page) < 5_000


@pytest.mark.parametrize(("locale", "number"), [("en", "12500"), ("de", "12.5")])
def test_a_number_is_read_in_the_language_of_the_page(locale, number):
    made = scenario.project({"type": "open_numeric"})
    CommunitySettings.objects.update_or_create(community=made.community, defaults={"locale": locale})

    Visitor(made).look().send(value="12,500")

    assert [each.value for each in Answer.objects.all()] == [number]
