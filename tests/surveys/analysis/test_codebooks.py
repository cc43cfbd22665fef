"""Codebooks and readings: changed by staff, told with each answer, gone with it (rules 10.21 to 10.26)."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from django.db import connection

from surveys.ai.provider import TextExample, TextReading, TextTheme
from surveys.models import Answer, Conversation, Project, Reading, Theme
from surveys.services.ai_work import codebook, readings
from surveys.services.ground import anonymity
from tests.support.caller import CHOICE, TEXT, Caller
from tests.support.moments import NOON
from tests.support.surveys import scenario
from tests.support.surveys.analyses import (
    Reads,
    analysed,
    connected,
    connecting,  # noqa: F401
    give,
    rich,
    several,
    survey,
    texts_of,
    themes,
    wrote,
)

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def scene(kept_rows: None) -> tuple[Caller, Project, str]:
    caller = rich()
    project = survey(caller, TEXT, CHOICE)
    wrote(project, "#slow -", "#slow #dear -", "#dear +", "#kind +", "nothing", "#slow")
    with connected(Reads()):
        analysed(caller, project)
    return caller, project, path_of(project)


@pytest.fixture
def read_project(scene: tuple[Caller, Project, str], connect: Any) -> tuple[Caller, Project, str]:
    """A project with six answers that an analysis has read, and the path of its codebook."""
    connect(Reads())
    return scene


def path_of(project: Project) -> str:
    return f"/projects/{project.pk}/blocks/{project.blocks.get(type='open_text').pk}/codebook"


def ids(caller: Caller, path: str) -> dict[str, int]:
    return {theme["title"]: theme["id"] for theme in caller.get(path).json()["themes"]}


def titles(caller: Caller, path: str) -> list[str]:
    return [theme["title"] for theme in caller.get(path).json()["themes"]]


def told(caller: Caller, project: Project) -> list[tuple[str, list[str] | None, str | None]]:
    """The text of each response: the answer, its themes and its sentiment."""
    rows = caller.get(f"/projects/{project.pk}/responses").json()["data"]
    texts = [answer for row in rows for answer in row["answers"] if answer["option_id"] is None]
    return [(text["value"], text.get("themes"), text.get("sentiment")) for text in texts]


# --- Reading and changing ---------------------------------------------------------------------------------


def test_a_question_that_was_not_read_has_an_empty_codebook() -> None:
    caller = Caller()
    project = survey(caller, TEXT, CHOICE)

    assert caller.get(path_of(project)).json() == {"themes": [], "version": 0}


def test_the_codebook_tells_themes_with_their_ids(read_project: Any) -> None:
    caller, _, path = read_project

    response = caller.get(path)

    assert [(each["title"], each["description"], each["pinned"]) for each in response.json()["themes"]] == [
        ("Slow", "About slow.", False),
        ("Dear", "About dear.", False),
        ("Kind", "About kind.", False),
    ]
    assert response.headers["ETag"] == f'"{response.json()["version"]}"'


def test_only_open_questions_that_are_read_have_one() -> None:
    caller = Caller()
    name = {**TEXT, "name": "nickname", "section": "intro"}
    project = survey(caller, name, TEXT, CHOICE, {**TEXT, "format": "email"})
    blocks = {
        "an address": project.blocks.get(format="email").pk,
        "a choice": project.blocks.get(type="single_punch").pk,
        "the intro": project.blocks.get(section="intro", type="open_text").pk,
        "nothing": 9_999_999,
    }

    for which, block_id in blocks.items():
        path = f"/projects/{project.pk}/blocks/{block_id}/codebook"

        assert caller.get(path).status_code == 404, which
        assert caller.patch(path, {"themes": [{"title": "Price"}]}).status_code == 404, which


def test_a_renamed_theme_keeps_its_answers_and_is_told_at_once(read_project: Any, connect: Any) -> None:
    caller, project, path = read_project
    sent = caller.get(path).json()["themes"]
    sent[0]["title"] = "Waiting"

    changed = caller.patch(path, {"themes": sent})

    assert (changed.status_code, titles(caller, path)) == (200, ["Waiting", "Dear", "Kind"])
    assert told(caller, project)[0] == ("#slow -", ["Waiting"], "negative")
    provider = connect(Reads())
    assert themes(analysed(caller, project)) == {"Waiting": 3, "Dear": 2, "Kind": 1}
    assert provider.batches == []  # the name says nothing about the answers


def test_two_themes_can_exchange_their_titles(read_project: Any) -> None:
    caller, _, path = read_project
    sent = caller.get(path).json()["themes"]
    sent[0]["title"], sent[1]["title"] = sent[1]["title"], sent[0]["title"]

    assert caller.patch(path, {"themes": sent}).status_code == 200
    assert titles(caller, path) == ["Dear", "Slow", "Kind"]


def test_merged_themes_count_each_answer_once(read_project: Any, connect: Any) -> None:
    caller, project, path = read_project
    of = ids(caller, path)

    merged = caller.patch(path, {"merge": [{"from": [of["Dear"]], "into": of["Slow"]}]})

    assert [theme["title"] for theme in merged.json()["themes"]] == ["Slow", "Kind"]
    assert told(caller, project)[1] == ("#slow #dear -", ["Slow"], "negative")
    provider = connect(Reads())
    assert themes(analysed(caller, project)) == {"Slow": 4, "Kind": 1}
    assert provider.batches == []


def test_a_merged_theme_leaves_no_row_unless_an_analysis_may_still_name_it(
    read_project: Any, connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codebook, "MAX_MERGED", 3)
    caller, project, path = read_project

    def merge(count: int) -> list[int]:
        """Add as many themes, merge them into Slow, and return the ids of all merged themes with a row."""
        sent = caller.get(path).json()["themes"]
        caller.patch(path, {"themes": [*sent, *({"title": f"Again {n}"} for n in range(count))]})
        of = ids(caller, path)
        sources = [pk for title, pk in of.items() if title.startswith("Again")]
        assert caller.patch(path, {"merge": [{"from": sources, "into": of["Slow"]}]}).status_code == 200
        return sorted(set(Theme.objects.values_list("pk", flat=True)) - set(ids(caller, path).values()))

    assert merge(5) == []

    kept: list[list[int]] = []
    wrote(project, "#slow")

    def merging(batch: Any) -> Any:
        kept.extend(merge(2) for _ in range(3))
        return Reads().read(batch)

    connect(Reads(merging))
    analysed(caller, project)

    assert list(map(len, kept)) == [2, 3, 3]
    assert (kept[1][0], kept[2][0]) == (kept[0][-1], kept[1][-1])  # the oldest went first
    assert merge(1) == []


def test_an_answer_that_was_read_before_a_merge_counts_for_the_theme_that_stays(
    read_project: Any, connect: Any
) -> None:
    caller, project, path = read_project
    of = ids(caller, path)
    wrote(project, "#dear")

    def merging(batch: Any) -> Any:
        caller.patch(path, {"merge": [{"from": [of["Dear"]], "into": of["Kind"]}]})
        return Reads().read(batch)

    connect(Reads(merging))

    assert themes(analysed(caller, project)) == {"Slow": 3, "Kind": 4}


def test_themes_that_staff_remove_are_not_named_again_for_nothing(read_project: Any, connect: Any) -> None:
    """Rule 10.71."""
    caller, project, path = read_project
    caller.patch(path, {"themes": []})
    provider = connect(Reads())

    without = analysed(caller, project)
    wrote(project, "#slow")
    paid = analysed(caller, project)

    assert (without["credits_used"], paid["credits_used"]) == (0, 1)
    assert [list(batch.answers) for batch in provider.batches] == [["#slow"]]
    assert (provider.samples, themes(paid)) == ([], {})


def test_a_new_theme_has_all_answers_read_against_it_alone(read_project: Any, connect: Any) -> None:
    caller, project, path = read_project
    wrote(project, "#slow #nothing")
    sent = [*caller.get(path).json()["themes"], {"title": "Nothing", "pinned": True}]
    caller.patch(path, {"themes": sent})
    provider = connect(Reads())

    after = analysed(caller, project)

    against = [([theme.title for theme in batch.themes], len(batch.answers)) for batch in provider.batches]
    assert against == [(["Slow", "Dear", "Kind", "Nothing"], 1), (["Nothing"], 6)]
    assert themes(after) == {"Slow": 4, "Dear": 2, "Kind": 1, "Nothing": 1}


def test_a_new_description_has_all_answers_read_against_this_theme_again(
    read_project: Any, connect: Any
) -> None:
    caller, project, path = read_project
    sent = caller.get(path).json()["themes"]
    sent[0]["description"] = "Only what is slow at the till."
    caller.patch(path, {"themes": sent})
    provider = connect(Reads(lambda batch: [None] * len(batch.answers)))
    unread = analysed(caller, project)
    assert [[theme.title for theme in batch.themes] for batch in provider.batches] == [["Slow"]]
    assert themes(unread)["Dear"] == 2  # what could not be read again keeps its other themes


def test_a_codebook_that_was_changed_meanwhile_is_a_conflict(read_project: Any) -> None:
    caller, _, path = read_project
    read = caller.get(path)
    caller.patch(path, {"themes": read.json()["themes"][:2]})

    late = caller.patch(path, {"themes": []}, **{"If-Match": read.headers["ETag"]})

    assert late.status_code == 409
    assert titles(caller, path) == ["Slow", "Dear"]


def test_wrong_changes_name_their_field_and_change_nothing(read_project: Any) -> None:
    caller, _, path = read_project
    before = caller.get(path).json()
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"themes": [{"title": ""}]}, "themes[0].title"),
        ({"themes": [{"title": "x" * 81}]}, "themes[0].title"),
        ({"themes": [{"title": "Price; time"}]}, "themes[0].title"),
        ({"themes": [{"title": "Price\ntime"}]}, "themes[0].title"),
        ({"themes": [{"title": "Price\u202etime"}]}, "themes[0].title"),
        ({"themes": [{"title": "A"}, {"title": "a"}]}, "themes[1].title"),
        ({"themes": [{"id": 9_999_999, "title": "A"}]}, "themes[0].id"),
        ({"themes": [{"title": f"T{n}"} for n in range(25)]}, "themes"),
        ({"themes": "Price"}, "themes"),
        ({"merge": [{"from": [], "into": 1}]}, "merge[0].from"),
        ({"merge": [{"from": [9_999_998], "into": 9_999_999}]}, "merge[0].from[0]"),
        ({"merge": [{"from": [1]}]}, "merge[0].into"),
    ]

    for body, field in wrong:
        refused = caller.patch(path, body)

        assert refused.status_code == 400, body
        assert field in [each["field"] for each in refused.json()["violations"]], body
        assert caller.get(path).json() == before, body


def test_the_longest_texts_and_the_most_themes_are_taken(read_project: Any) -> None:
    caller, project, path = read_project
    wanted = [{"title": f"{n:02}" + "x" * 78, "description": "y" * 300} for n in range(codebook.MAX_THEMES)]

    changed = caller.patch(path, {"themes": wanted})

    assert (changed.status_code, len(changed.json()["themes"])) == (200, 24)
    row = caller.get(f"/projects/{project.pk}/responses").json()["data"][0]
    five = [theme["id"] for theme in changed.json()["themes"][:5]]
    put = caller.put(f"/responses/{row['id']}/blocks/{path.split('/')[4]}/reading", {"themes": five})
    assert (put.status_code, len(put.json()["answers"][0]["themes"])) == (200, 5)
    wanted[0]["description"] = "y" * 301
    assert caller.patch(path, {"themes": wanted}).status_code == 400


def test_titles_that_a_provider_names_are_one_line_without_semicolons(connect: Any) -> None:
    """Rule 10.72."""
    connect(Reads(name_by=lambda _sample: [TextTheme("Price;\u202e time\u2028 ❤\ufe0f ;")]))
    caller = rich()
    project = survey(caller)
    wrote(project, "dear")
    analysed(caller, project)

    assert titles(caller, path_of(project)) == ["Price, time ❤ ,"]
    sent = [{"title": "Heart ❤\ufe0f"}]
    assert caller.patch(path_of(project), {"themes": sent}).json()["themes"][0]["title"] == "Heart ❤\ufe0f"


def test_a_theme_is_not_merged_into_itself(read_project: Any) -> None:
    caller, _, path = read_project
    slow = ids(caller, path)["Slow"]

    assert caller.patch(path, {"merge": [{"from": [slow], "into": slow}]}).status_code == 400


# --- One answer -------------------------------------------------------------------------------------------


def test_responses_and_exports_tell_what_was_read(read_project: Any) -> None:
    caller, project, _ = read_project
    wrote(project, "#late")

    assert told(caller, project) == [
        ("#slow -", ["Slow"], "negative"),
        ("#slow #dear -", ["Slow", "Dear"], "negative"),
        ("#dear +", ["Dear"], "positive"),
        ("#kind +", ["Kind"], "positive"),
        ("nothing", [], "neutral"),
        ("#slow", ["Slow"], "neutral"),
        ("#late", None, None),  # not read yet
    ]
    sheet = caller.get(f"/projects/{project.pk}/responses/export?format=csv")
    rows = list(csv.DictReader(io.StringIO(b"".join(sheet.streaming_content).decode())))
    name = project.blocks.get(type="open_text").name
    assert [(row[f"themes.{name}"], row[f"sentiment.{name}"]) for row in rows] == [
        ("Slow", "negative"),
        ("Slow; Dear", "negative"),
        ("Dear", "positive"),
        ("Kind", "positive"),
        ("", "neutral"),
        ("Slow", "neutral"),
        ("", ""),
    ]


def test_staff_put_right_what_was_read_and_no_analysis_changes_it(read_project: Any, connect: Any) -> None:
    caller, project, path = read_project
    block_id = path.split("/")[4]
    row = caller.get(f"/projects/{project.pk}/responses").json()["data"][0]
    dear = ids(caller, path)["Dear"]

    put = caller.put(
        f"/responses/{row['id']}/blocks/{block_id}/reading", {"themes": [dear], "sentiment": "positive"}
    )

    assert put.status_code == 200
    assert (put.json()["answers"][0]["themes"], put.json()["answers"][0]["sentiment"]) == (
        ["Dear"],
        "positive",
    )
    assert put.json()["updated_at"] >= row["updated_at"]
    wrote(project, "#slow again")
    sent = caller.get(path).json()["themes"]
    caller.patch(path, {"themes": [*sent[:2], {**sent[2], "description": "New."}]})
    provider = connect(Reads())
    after = analysed(caller, project)
    assert themes(after) == {"Slow": 3, "Dear": 3, "Kind": 1}
    assert provider.batches[0].examples == [TextExample("#slow -", (1,), "positive")]


def test_a_wrong_correction_names_its_field(read_project: Any) -> None:
    caller, project, path = read_project
    row = caller.get(f"/projects/{project.pk}/responses").json()["data"][0]
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"sentiment": "positive"}, "themes"),
        ({"themes": [9_999_999]}, "themes[0]"),
        ({"themes": [1] * 6}, "themes"),
        ({"themes": [], "sentiment": "furious"}, "sentiment"),
    ]

    for body, field in wrong:
        refused = caller.put(f"/responses/{row['id']}/blocks/{path.split('/')[4]}/reading", body)

        assert refused.status_code == 400, body
        assert field in [each["field"] for each in refused.json()["violations"]], body


def test_a_response_without_this_answer_cannot_be_put_right(connect: Any) -> None:
    connect(Reads())
    caller = rich()
    project = survey(caller, CHOICE, TEXT)
    begun = scenario.say(scenario.begin(project), 0)
    block_id = project.blocks.get(type="open_text").pk

    path = f"/responses/{begun.conversation.pk}/blocks/{block_id}/reading"

    assert caller.put(path, {"themes": []}).status_code == 404


# --- Rows -------------------------------------------------------------------------------------------------


def test_a_reading_goes_with_its_answer_and_with_its_text(read_project: Any) -> None:
    _, project, _ = read_project
    first, second, *_others = Answer.objects.filter(block__project=project, block__type="open_text").order_by(
        "conversation"
    )

    Answer.objects.filter(pk=first.pk).update(value="Something else")
    Answer.objects.filter(pk=second.pk).delete()

    left = set(Reading.objects.values_list("conversation_id", flat=True))
    assert {first.conversation_id, second.conversation_id}.isdisjoint(left)
    assert len(left) == 4


def test_an_answer_that_changes_while_it_is_read_stays_unread(connect: Any) -> None:
    caller = rich()
    project = survey(caller)
    wrote(project, "#slow")

    def changing(batch: Any) -> Any:
        Answer.objects.update(value="#dear")
        return Reads().read(batch)

    connect(Reads(changing))
    assert texts_of(analysed(caller, project))["analysed_count"] == 0


def test_readings_of_anonymous_projects_outlive_the_settling_of_their_hour(connect: Any) -> None:
    connect(Reads())
    caller = rich()
    project = survey(caller, privacy_mode="anonymous")
    wrote(project, *several("#slow", 6))
    analysed(caller, project)
    read = Reading.objects.filter(conversation__project=project)
    assert read.count() == 6

    later = NOON.replace(year=NOON.year + 5)
    assert anonymity.settle(at=later) == 6

    assert read.count() == 6
    assert {tuple(themes or ()) for _, themes, _ in told(caller, project)} == {("Slow",)}


def test_a_project_that_is_deleted_leaves_no_reading(read_project: Any) -> None:
    caller, project, _ = read_project
    caller.post(f"/projects/{project.pk}/close")

    assert caller.delete(f"/projects/{project.pk}").status_code == 204

    connection.check_constraints()
    assert (Reading.objects.count(), Theme.objects.count()) == (0, 0)


def test_counts_are_of_what_an_analysis_covers(connect: Any) -> None:
    connect(Reads())
    caller = rich()
    project = survey(caller, TEXT, CHOICE)
    wrote(project, "#slow", "#slow")
    scenario.say(scenario.begin(project), "#slow", 0)

    assert themes(analysed(caller, project, "?status=completed")) == {"Slow": 1}
    assert themes(analysed(caller, project, "?status=partial")) == {"Slow": 2}
    assert themes(analysed(caller, project)) == {"Slow": 3}
    assert Conversation.objects.filter(project=project, completed_at=None).count() == 2


def test_an_answer_has_few_themes_after_many_changes(read_project: Any, connect: Any) -> None:
    caller, project, path = read_project
    block_id = int(path.split("/")[4])
    for n in range(2):
        sent = caller.get(path).json()["themes"]
        new = [{"title": f"Round {n} {place}"} for place in range(4)]
        caller.patch(path, {"themes": [*sent, *new]})
        connect(Reads(lambda batch: [TextReading(tuple(range(9)))] * len(batch.answers)))
        analysed(caller, project)

    most = max(len(row.themes) for row in Reading.objects.all())
    assert most == readings.MAX_THEMES_OF_ANSWER
    assert len(codebook.live(block_id=block_id)) == 11


# --- The local provider ----------------------------------------------------------------------------------


@pytest.fixture
def read_locally() -> tuple[Caller, Project, str]:
    """A project with answers about queues that the local provider has read, and the path of its codebook."""
    caller = Caller()
    project = survey(caller)
    wrote(project, "The queue was long", "a long queue")
    analysed(caller, project)
    return caller, project, path_of(project)


def test_the_local_provider_recognises_a_theme_by_its_phrases_under_any_title(read_locally: Any) -> None:
    """Rule 10.37."""
    caller, project, path = read_locally
    (theme,) = caller.get(path).json()["themes"]
    assert theme["title"] == "Waiting time"
    caller.patch(path, {"themes": [theme | {"title": "Door"}]})

    wrote(project, "we waited an hour")

    assert themes(analysed(caller, project)) == {"Door": 3}


def test_the_local_provider_recognises_a_theme_of_staff_by_the_phrases_of_one_it_knows(
    read_locally: Any,
) -> None:
    """Rule 10.37."""
    caller, project, path = read_locally
    sent = caller.get(path).json()["themes"]
    caller.patch(path, {"themes": [*sent, {"title": "Preise"}, {"title": "Zorblax"}]})

    wrote(project, "far too expensive", "the Zorblax broke")

    assert themes(analysed(caller, project)) == {"Waiting time": 2, "Preise": 1, "Zorblax": 1}


def test_the_local_provider_reads_an_answer_like_one_that_staff_put_right(read_locally: Any) -> None:
    """Rule 10.37."""
    caller, project, path = read_locally
    rows = caller.get(f"/projects/{project.pk}/responses").json()["data"]
    address = f"/responses/{rows[0]['id']}/blocks/{path.split('/')[4]}/reading"
    assert caller.put(address, {"themes": [], "sentiment": "positive"}).status_code == 200

    wrote(project, "the queue was long!")
    analysed(caller, project)

    assert told(caller, project) == [
        ("The queue was long", [], "positive"),
        ("a long queue", ["Waiting time"], None),  # in too few words to know their language
        ("the queue was long!", [], "positive"),
    ]


def test_what_staff_put_right_stays_when_a_model_takes_over(read_locally: Any, connect: Any) -> None:
    """Rule 10.27."""
    caller, project, path = read_locally
    rows = caller.get(f"/projects/{project.pk}/responses").json()["data"]
    address = f"/responses/{rows[0]['id']}/blocks/{path.split('/')[4]}/reading"
    right = ids(caller, path)["Waiting time"]
    caller.put(address, {"themes": [right], "sentiment": "positive"})
    give(caller.community, 5)

    connect(Reads(name_by=lambda _sample: [TextTheme("Door")]))
    analysed(caller, project)

    assert told(caller, project) == [
        ("The queue was long", ["Waiting time"], "positive"),
        ("a long queue", [], "neutral"),
    ]
