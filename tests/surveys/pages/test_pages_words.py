"""Words on a page: languages and directions, and texts for people who do not see emoji and pictures."""

import re
from html.parser import HTMLParser
from typing import Any

import pytest

from communities.models import CommunitySettings
from surveys.engine.script import Continue, Scale
from tests.support.pictures import copied
from tests.support.surveys import scenario
from tests.support.surveys.scenario import CHOICE, SAYING, TEXT
from tests.support.surveys.visitor import Visitor

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("in_no_hurry", "redis")]


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
        (
            {"type": "rating"},
            "4",
            '<span aria-hidden="true">4 of 5 ★</span> <span class="visually-hidden">4 of 5 stars</span>',
        ),
        ({"type": "nps"}, "9", "<span>9</span>"),
        ({"type": "open_text", "format": "date"}, "1990-05-01", "<span>1 May 1990</span>"),
    ],
)
def test_the_past_shows_what_was_pressed(block, value, said):
    made = scenario.project(block, TEXT)

    visitor = Visitor(made).look().send(value=value)

    assert f"{SAID} {said}" in re.sub(r"\s+", " ", visitor.page).replace("</span><span", "</span> <span")


def test_the_past_has_the_ranks_of_a_ranking_and_the_description_of_a_statement():
    """Rule 6.445."""
    ranking = {"type": "ranking", "rank_top_n": 2, "options": ["Italian", "Spanish", "French"]}
    made = scenario.project(ranking, {**SAYING, "prompt": "Noted.", "description": "See you."}, TEXT)
    ranks: dict[str, Any] = {
        f"rank-{scenario.option_id(made, 'q0', place)}": rank for rank, place in ((1, 2), (2, 0))
    }

    visitor = Visitor(made).look().send(**ranks).send("go")

    assert "<span>1. French\n2. Italian</span>" in visitor.page
    assert "Noted.\n\nSee you.</span>" in visitor.page


STARS = {"type": "rating", "prompt": "How good?"}


@pytest.mark.parametrize(("block", "read"), [(STARS, "4 of 5 ★"), (FACES, "😀"), ({"type": "nps"}, "9")])
def test_a_point_reads_alike_in_tokens_past_steps_and_the_review(block, read):
    """Rule 4.34."""
    value = {"rating": "4", "nps": "9"}.get(str(block["type"]), "2")
    asked = {**TEXT, "prompt": "You said [mark]. [Go](https://example.org/?q=[mark])"}
    made = scenario.project({**block, "name": "mark"}, asked, review=True)

    visitor = Visitor(made).look().send(value=value)
    assert f"You said {read}. " in visitor.page
    assert f'href="https://example.org/?q={value}"' in visitor.page
    assert re.search(rf">{read}</span>", visitor.page)
    visitor.send(value="Fine.")

    assert "Please look at your answers" in visitor.page
    assert re.search(rf"<dd>\s*<span[^>]*>{read}</span>", visitor.page)


@pytest.mark.parametrize(("block", "read"), [(STARS, ["1 of 5 ★", "5 of 5 ★"]), (FACES, ["😞", "😀"])])
def test_the_results_of_a_scale_read_like_its_control(block, read):
    """Rule 4.34."""
    made = scenario.project(block, type="poll", poll_results_mode="public")

    visitor = Visitor(made).look().send(value="2")

    bars = re.findall(r'<span aria-hidden="true">([^<]*)</span>', visitor.page.partition('class="bars"')[2])
    assert [bars[0], bars[-1]] == read
    cells = re.findall(r"<td>\s*<bdi>([^<]*)</bdi>", visitor.page)
    assert [cells[0], cells[-1]] == read


@pytest.mark.parametrize(
    ("prompt", "pause", "shown"),
    [
        ("A word.", 2, 2),
        ("word " * 20, 2, 6),
        ("word " * 20, 9, 9),
        ("字" * 40, 2, 7),
        ("w " * 1_500, 2, 300),
    ],
)
def test_a_timed_text_stays_as_long_as_reading_it_takes(prompt, pause, shown):
    """Rules 6.217 and 6.860."""
    made = scenario.project({**SAYING, "prompt": prompt, "continue_": Continue("pause", pause)}, TEXT)

    assert f'data-pause="{shown}"' in Visitor(made).look().page
    type(made).objects.update(consent="I agree.")
    assert "data-pause" not in Visitor(made).look().page


def test_each_point_that_is_an_emoji_has_words_for_screen_readers():
    page = Visitor(scenario.project(FACES)).look().page

    assert re.findall(r'<span class="visually-hidden">([^<]*of 2)</span>', page) == [
        "disappointed face, 1 of 2",
        "grinning face, 2 of 2",
    ]


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
    """Collects the Hebrew texts outside of elements with this language and a direction."""

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


@pytest.mark.parametrize(("locale", "lang"), [("he", "he"), (None, ""), ("en", ""), ("pt-BR", "")])
@pytest.mark.parametrize("kind", ["convo", "poll"])
def test_every_text_of_the_script_has_its_own_direction_and_no_false_language(kind, locale, lang):
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

    pages = [_Directions(each, lang) for each in seen]

    assert "data-is-over" in seen[-1]
    assert sum(each.count for each in pages) > 6 * len(seen)
    assert [each.bare for each in pages] == [[] for each in pages]


def test_pictures_have_a_text_for_those_who_do_not_see_them():
    address = "https://example.com/a.png"
    own = {"image_url": address, "thumbnail_url": address, "image_alt": "A <board>"}
    made = scenario.project({**TEXT, **own})
    copy = copied(made.community_id, address, width=304, height=576)

    page = Visitor(made).look().page

    found = (
        rf'<img class="picture tall" src="/pictures/{copy.name}" alt="A <board>"\s+width="152" height="288">'
    )
    assert re.search(found, page)
    assert re.search(r'<img class="thumbnail" src="[^"]+" alt=""\s', page)
