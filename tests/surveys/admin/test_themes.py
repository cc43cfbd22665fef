"""Themes for staff: on results, changed in a form, and told and put right with each answer."""

from __future__ import annotations

import re
from typing import Any

import pytest

from surveys.ai.provider import TextTheme
from surveys.models import Conversation, Project, Reading, Theme
from surveys.services.ai_work import codebook
from surveys.services.ai_work.codebook import ThemeChange
from tests.support.actors import superuser_actor
from tests.support.moments import NOON
from tests.support.staff import hidden, text_of
from tests.support.surveys.project_tabs import client_as, superuser, tab
from tests.support.surveys.read_answers import TITLES, read_survey, theme

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def client(kept_rows: Any) -> Any:
    return superuser()


@pytest.fixture
def made() -> Project:
    return read_survey()


def question(made: Project) -> int:
    return made.blocks.get(type="open_text").pk


def themes_page(made: Project) -> str:
    return tab(made.pk, "results_themes", question(made))


def answers_page(made: Project) -> str:
    return tab(made.pk, "results_answers", question(made))


def texts(response: Any) -> list[str]:
    return sorted(re.findall(r'<p class="text">(.*?)</p>', response.content.decode(), re.DOTALL))


def titles(made: Project) -> list[str]:
    return [each.title for each in codebook.live(block_id=question(made))]


def themes_of(made: Project, text: str) -> list[str]:
    names = dict(Theme.objects.values_list("pk", "title"))
    found = Reading.objects.get(conversation__answers__value=text, block_id=question(made))
    return [names[pk] for pk in found.themes]


def form_of(client: Any, made: Project, **changes: Any) -> dict[str, Any]:
    """The values of the form of themes, with changes; `fate_Price` is the choice for the theme Price."""
    page = client.get(themes_page(made))
    form = {name: hidden(page, name) for name in ("ticket", "version")}
    for each in codebook.live(block_id=question(made)):
        form |= {f"title_{each.pk}": each.title, f"description_{each.pk}": each.description}
        form[f"fate_{each.pk}"] = "keep"
    keys = {each.title: f"{each.pk}" for each in codebook.live(block_id=question(made))}
    for name, value in changes.items():
        part, _, key = name.partition("_")
        form[f"{part}_{keys.get(key, key)}"] = value
    return form


def rename_meanwhile(made: Project, old: str, new: str) -> None:
    """A colleague gives a theme another title."""
    book = codebook.read(project=made, block_id=question(made))
    codebook.change(
        project=made,
        block_id=question(made),
        themes=[ThemeChange(new if each.title == old else each.title, id=each.pk) for each in book.themes],
        merges=(),
        actor=superuser_actor(community_id=made.community_id),
        at=NOON,
    )


# --- The answers ------------------------------------------------------------------------------------------


def test_answers_tell_their_themes_and_their_sentiment(client: Any, made: Project) -> None:
    shown = text_of(client.get(answers_page(made)))

    assert "Slow and dear Price Speed · Negative" in shown
    assert "Nothing No theme · Neutral" in shown


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("theme=Price", ["Dear", "Slow and dear"]),
        ("theme=Price&sentiment=positive", ["Dear"]),
    ],
)
def test_answers_are_found_by_theme_and_sentiment(
    client: Any, made: Project, query: str, found: list[str]
) -> None:
    shown = client.get(f"{answers_page(made)}?{query.replace('Price', str(theme(made, 'Price')))}")

    assert texts(shown) == found


def test_a_response_tells_the_themes_of_its_answer(client: Any, made: Project) -> None:
    response = Conversation.objects.get(project=made, answers__value="Slow and dear")

    shown = text_of(client.get(tab(made.pk, "response", response.pk)))

    assert "Slow and dear Price Speed · Negative" in shown


# --- Changing themes --------------------------------------------------------------------------------------


def test_themes_are_renamed_described_pinned_and_added_in_one_form(client: Any, made: Project) -> None:
    form = form_of(client, made, title_Price="Cost", description_Price="What it costs.", pinned_Price="on")
    form |= {"title_new1": "Staff", "description_new1": "Who serves."}

    response = client.post(themes_page(made), form)

    assert (response.status_code, titles(made)) == (302, ["Cost", "Speed", "Staff"])
    cost = Theme.objects.get(title="Cost")
    assert (cost.description, cost.is_pinned) == ("What it costs.", True)
    assert themes_of(made, "Dear") == ["Cost"]


def test_themes_are_merged_and_removed(client: Any, made: Project) -> None:
    form = form_of(client, made, fate_Speed=f"into-{theme(made, 'Price')}", title_Price="Price and speed")

    client.post(themes_page(made), form)

    assert titles(made) == ["Price and speed"]
    assert themes_of(made, "Slow and dear") == ["Price and speed"]

    client.post(themes_page(made), form_of(client, made, **{"fate_Price and speed": "remove"}))

    assert (titles(made), themes_of(made, "Dear")) == ([], [])


def test_the_page_says_what_the_next_analysis_reads_and_its_price(
    client: Any, made: Project, settings: Any
) -> None:
    settings.AI_PROVIDER = "anthropic"
    before = text_of(client.get(themes_page(made)))

    client.post(themes_page(made), {**form_of(client, made), "title_new0": "Staff"})

    assert "has no answers to read again, and costs nothing" in before
    after = text_of(client.get(themes_page(made)))
    assert "the next analysis of this project reads 3 answers, for 1 credit." in after


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"title_Price": "SPEED"}, "Another theme has this title."),
        ({"fate_Price": "remove", "fate_Speed": "into-PRICE"}, "Choose a theme that stays"),
    ],
)
def test_a_fault_is_said_at_its_field_and_changes_nothing(
    client: Any, made: Project, changes: dict[str, str], message: str
) -> None:
    changes = {name: value.replace("PRICE", f"{theme(made, 'Price')}") for name, value in changes.items()}
    form = {"title_new0": "", **form_of(client, made, **changes)}

    response = client.post(themes_page(made), form)

    page = response.content.decode()
    assert response.status_code == 422
    assert re.search(rf'<p class="error" id="[^"]*_error">[^<]*{message}', page), text_of(response)
    assert titles(made) == TITLES


def test_a_question_has_at_most_24_themes(client: Any, made: Project) -> None:
    many = [TextTheme(f"Theme {n}", "", ()) for n in range(21)]
    codebook.add(project=made, block_id=question(made), named=many, provider="anthropic", unfit=0)
    form = form_of(client, made) | {"title_new0": "Staff", "title_new1": "Room", "title_new2": ""}

    refused = client.post(themes_page(made), form)
    taken = client.post(themes_page(made), {**form, "title_new1": ""})

    assert (refused.status_code, "at most 24 themes" in text_of(refused)) == (422, True)
    assert (taken.status_code, len(titles(made))) == (302, 24)
    assert "Merge or remove one to add another." in text_of(client.get(themes_page(made)))


def test_a_change_by_somebody_else_meanwhile_is_kept_and_so_is_what_was_typed(
    client: Any, made: Project
) -> None:
    form = form_of(client, made, title_Price="Cost", description_Speed="Queues.") | {"title_new0": "Staff"}
    rename_meanwhile(made, "Price", "Fees")

    response = client.post(themes_page(made), form)

    page = response.content.decode()
    assert (response.status_code, titles(made)) == (409, ["Fees", "Speed"])
    assert "changed while you had this form open" in text_of(response)
    assert "Stored now: “Fees”" in text_of(response)
    assert all(each in page for each in ('value="Cost"', "Queues.", 'value="Staff"'))

    again = {**form, "version": hidden(response, "version")}

    assert client.post(themes_page(made), again).status_code == 302
    assert titles(made) == ["Cost", "Speed", "Staff"]


def test_a_theme_that_came_meanwhile_is_kept_and_one_that_went_is_named(client: Any, made: Project) -> None:
    form = form_of(client, made, title_Price="Cost")
    codebook.remove(block_id=question(made), ids=[theme(made, "Price")])
    new = [TextTheme("Room", "", ())]
    codebook.add(project=made, block_id=question(made), named=new, provider="anthropic", unfit=0)

    response = client.post(themes_page(made), form)

    assert response.status_code == 409
    assert "Removed or merged meanwhile, with what you typed for it: “Cost”." in text_of(response)
    assert 'value="Room"' in response.content.decode()
    assert titles(made) == ["Speed", "Room"]


def test_a_form_that_is_sent_twice_adds_one_theme(client: Any, made: Project) -> None:
    form = form_of(client, made, title_Price="Cost") | {"title_new0": "Staff"}

    first = client.post(themes_page(made), form)
    second = client.post(themes_page(made), form)

    assert (first.status_code, second.status_code) == (302, 302)
    assert titles(made) == ["Cost", "Speed", "Staff"]


# --- Putting an answer right ------------------------------------------------------------------------------


def answer_page(made: Project, text: str = "Nothing") -> str:
    response = Conversation.objects.get(project=made, answers__value=text)
    return tab(made.pk, "results_answer", question(made), response.pk)


def test_an_answer_is_put_right_and_marked(client: Any, made: Project) -> None:
    response = client.post(
        f"{answer_page(made)}?theme=none", {"themes": [theme(made, "Speed")], "sentiment": "positive"}
    )

    assert response.status_code == 302
    assert response["Location"].startswith(f"{answers_page(made)}?theme=none#answer-")
    assert "Nothing Speed · Positive · put right by staff" in text_of(client.get(answers_page(made)))
    page = client.get(answer_page(made))
    assert "put right by staff" in text_of(page)
    assert page.content.decode().count("checked") == 2


def test_an_answer_has_at_most_five_themes_and_only_those_that_are_there(client: Any, made: Project) -> None:
    many = [TextTheme(f"Theme {n}", "", ()) for n in range(6)]
    codebook.add(project=made, block_id=question(made), named=many, provider="anthropic", unfit=0)
    ids = [theme(made, f"Theme {n}") for n in range(6)]

    too_many = client.post(answer_page(made), {"themes": ids, "sentiment": ""})
    gone = client.post(answer_page(made), {"themes": [ids[0], 99999999], "sentiment": ""})

    assert (too_many.status_code, "Choose at most 5 themes" in text_of(too_many)) == (422, True)
    assert (gone.status_code, "removed or merged meanwhile" in text_of(gone)) == (422, True)
    assert themes_of(made, "Nothing") == []


def test_answers_of_another_project_or_another_question_are_absent(client: Any, made: Project) -> None:
    other = read_survey()
    foreign = Conversation.objects.get(project=other, answers__value="Nothing").pk
    address = tab(made.pk, "results_answer", question(made), foreign)

    assert client.get(address).status_code == 404
    assert client.post(address, {"sentiment": ""}).status_code == 404
    assert not Reading.objects.filter(is_corrected=True).exists()


@pytest.mark.parametrize("page", [themes_page, answer_page])
def test_only_editors_change_what_was_read(made: Project, page: Any) -> None:
    client = client_as("creator", made)

    assert (client.get(page(made)).status_code, client.post(page(made), {}).status_code) == (403, 403)
