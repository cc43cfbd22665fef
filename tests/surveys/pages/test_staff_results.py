"""The results page for staff: who may open it, what it counts, and what is taken along."""

import re
from types import SimpleNamespace

import pytest
from django.test import Client
from django.urls import reverse

from communities.http.downloads import DownloadAborted
from communities.models import User
from surveys.models import Analysis
from surveys.services.results import figures
from tests.support.surveys import scenario
from tests.support.surveys.scenario import CHOICE, TEXT
from tests.support.surveys.staff import address, look, respond, staff_member, superuser

pytestmark = pytest.mark.django_db

SCALE = {"type": "rating", "prompt": "How was it?"}
PAGES = ["results", "analysis", "export"]


@pytest.fixture
def client():
    return superuser()


# --- Who --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES)
def test_a_stranger_is_asked_to_sign_in_where_the_admin_does(page):
    made = scenario.project(CHOICE)

    response = Client().get(address(made, page))

    assert response.status_code == 302
    assert response["Location"] == f"{reverse('admin:login')}?next={address(made, page)}"


@pytest.mark.parametrize("page", PAGES)
def test_nobody_but_staff_who_may_see_projects_gets_in(page):
    made = scenario.project(CHOICE)

    assert staff_member().get(address(made, page)).status_code == 403
    User.objects.all().delete()
    assert staff_member("view_project", is_staff=False).get(address(made, page)).status_code == 403


def test_staff_who_may_only_look_are_offered_no_more():
    made = scenario.project(TEXT)
    respond(made, "x")
    client = staff_member("view_project")

    seen = look(client, made)

    assert "Analyse" not in seen
    assert "Download the responses" not in seen
    assert client.post(address(made, "analysis")).status_code == 403
    assert client.get(address(made, "export")).status_code == 403


def test_pages_are_only_looked_at(client):
    made = scenario.project(TEXT)

    assert client.post(address(made)).status_code == 405
    assert client.post(address(made, "export")).status_code == 405
    assert client.put(address(made, "analysis")).status_code == 405


def test_a_forged_request_for_an_analysis_is_refused():
    made = scenario.project(TEXT)
    client = superuser(enforce_csrf_checks=True)

    assert client.post(address(made, "analysis")).status_code == 403
    assert not Analysis.objects.exists()


@pytest.mark.parametrize("page", PAGES)
def test_a_project_that_is_not_there_is_not_found(client, page):
    assert client.get(reverse(f"pages:staff-{page}", args=[10**30])).status_code == 404


def test_the_admins_page_of_a_project_leads_here(client):
    made = scenario.project(CHOICE)

    shown = client.get(reverse("admin:surveys_project_change", args=[made.pk])).content.decode()

    assert f'<a href="{address(made)}">' in shown


# --- What is told -----------------------------------------------------------------------------------


def test_the_page_tells_counts_and_charts_and_keeps_out_of_caches(client):
    made = scenario.project(CHOICE, SCALE, TEXT, name="Tea <b>or</b> coffee?")
    respond(made, 0, 4, "Tea.")
    respond(made, 0)

    response = client.get(address(made))
    seen = response.content.decode()

    assert response["Cache-Control"] == "private, no-store"
    assert "<dt>Responses</dt><dd>2</dd>" in seen
    assert "<dt>Completed</dt><dd>1 (50%)</dd>" in seen
    assert "1 left here" in seen
    assert "Tea &lt;b&gt;or&lt;/b&gt; coffee?" in seen
    assert '<th scope="row">green</th><td>0</td><td>0.00%</td>' in seen
    assert "4 of 1 to 5" in seen


def test_empty_projects_say_so(client):
    assert "This project has no questions yet." in look(client, scenario.project())
    empty = look(client, scenario.project(CHOICE))
    assert "Nobody has answered yet." in empty
    assert "Nobody has answered this yet." in empty
    assert "No responses match these filters." in look(client, scenario.project(CHOICE), "?status=completed")


def test_the_page_costs_the_same_however_many_questions_and_answers(client, django_assert_max_num_queries):
    made = scenario.project(*[CHOICE] * 6, TEXT)
    respond(made, *[0] * 6, "x", times=4)
    look(client, made)

    with django_assert_max_num_queries(10):
        look(client, made)


def test_removed_questions_stand_at_the_end(client):
    made = scenario.project({**CHOICE, "prompt": "Old?"}, {**CHOICE, "prompt": "New?"})
    respond(made, 0, 0)
    made.blocks.filter(prompt="Old?").update(is_archived=True)
    made.revision += 1
    made.save(update_fields=["revision"])

    seen = look(client, made)

    assert seen.index("New?") < seen.index("Removed questions") < seen.rindex("Old?")


# --- Filters ----------------------------------------------------------------------------------------


def test_filters_narrow_what_is_counted(client):
    made = scenario.project(CHOICE, CHOICE)
    respond(made, 0, 0)
    respond(made, 0)

    def counted(query):
        return re.findall(r"<dt>Responses</dt><dd>(\d+)", look(client, made, query))[0]

    assert counted("") == counted("?status=all") == "2"
    assert counted("?status=completed") == counted("?status=partial") == "1"
    assert counted("?submitted_after=2026-01-31&submitted_before=2026-01-31") == "1"
    assert counted("?submitted_after=2026-02-01") == counted("?submitted_before=2026-01-30") == "0"
    assert counted("?provider=chat") == "0"
    assert counted("?utm=1") == "2"


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("submitted_after=yesterday", "Enter a valid date."),
        ("submitted_before=9999-12-31", "less than or equal to"),
        (
            "submitted_after=2026-01-31&submitted_before=2026-01-01",
            "The last day must not be before the first day.",
        ),
        ("status=gone", "Select a valid choice."),
        ("provider=nobody", "Select a valid choice."),
        ("segment_by=1x", "Select a valid choice."),
    ],
)
def test_a_filter_that_cannot_be_read_is_told_and_left_out(client, query, told):
    made = scenario.project(CHOICE)
    respond(made, 0)

    seen = look(client, made, f"?{query}", status=400)

    assert "There is a problem" in seen
    assert told in seen
    assert "<dt>Responses</dt><dd>1</dd>" in seen


def test_answers_stand_side_by_side_by_those_to_another_question(client):
    made = scenario.project(
        {**CHOICE, "prompt": "Which?"},
        SCALE,
        {"type": "nps"},
        {"type": "open_numeric"},
        {"type": "ranking", "options": ["a", "b"]},
        TEXT,
    )
    respond(made, 0, 5, 10, 3, [0, 1], "x")
    respond(made, 1, 2, 3, 8, [1, 0], "y")
    which = scenario.script(made).blocks[0].id

    seen = look(client, made, f"?segment_by={which}")

    assert seen.count("compared</caption>") == 5
    assert "score +100" in seen
    assert '<th scope="row">a: average rank</th><td>1</td><td>2</td>' in seen
    assert '<th scope="row">Mean</th><td>5</td><td>2</td>' in seen
    assert '<th scope="col">A red</th><th scope="col">B green</th>' in seen


def test_what_would_be_divided_into_too_much_is_told_undivided_with_a_sentence(client, monkeypatch):
    monkeypatch.setattr(figures, "MAX_SEGMENT_NUMBERS", 1)
    made = scenario.project(CHOICE, SCALE)
    respond(made, 0, 5)
    which = scenario.script(made).blocks[0].id

    seen = look(client, made, f"?segment_by={which}", status=400)

    assert '<a href="#segment_by">This question has' in seen
    assert "<dt>Responses</dt><dd>1</dd>" in seen
    assert "compared</caption>" not in seen


def test_many_segments_are_in_the_table_and_the_first_are_drawn(client):
    many = {**CHOICE, "options": [f"o{n}" for n in range(30)]}
    made = scenario.project(many, CHOICE)
    for n in range(30):
        respond(made, n, 0)
    which = scenario.script(made).blocks[0].id

    seen = look(client, made, f"?segment_by={which}")

    assert "The first 8 of 30 segments are drawn; the table has all." in seen
    assert "AD o29" in seen


# --- Export -----------------------------------------------------------------------------------------


def test_files_are_offered_with_the_filters_that_are_on(client):
    made = scenario.project(CHOICE)

    seen = look(client, made, "?status=completed&submitted_after=2026-01-01")

    rest = "&status=completed&submitted_after=2026-01-01"
    assert f'href="{address(made, "export")}?format=csv&bom=1{rest}"' in seen
    assert f'href="{address(made, "export")}?format=xlsx{rest}"' in seen


def test_a_file_is_streamed_with_the_selection_under_its_name(client, monkeypatch):
    made = scenario.project(CHOICE)
    asked = []

    def exported(**said):
        asked.append(said)
        chunks = (chunk for chunk in [b"a", b"b"])
        return SimpleNamespace(content_type="text/csv", file_name="Teé.csv", chunks=chunks)

    monkeypatch.setattr("surveys.services.exports.service.export", exported)

    response = client.get(address(made, "export") + "?format=csv&bom=1&status=completed&provider=web")

    assert b"".join(response.streaming_content) == b"ab"
    assert response["Content-Disposition"].endswith("; filename*=UTF-8''Te%C3%A9.csv")
    assert response["Cache-Control"] == "private, no-store"
    ((said),) = asked
    assert (said["format"], said["with_bom"]) == ("csv", True)
    assert said["selection"] == figures.Selection(covers="completed", provider="web")


@pytest.mark.parametrize("query", ["?format=exe", "?format=csv&submitted_after=never"])
def test_a_file_that_cannot_be_made_is_not_found(client, query):
    assert client.get(address(scenario.project(CHOICE), "export") + query).status_code == 404


def test_a_file_holds_the_responses(client):
    made = scenario.project(CHOICE)
    respond(made, 1)

    whole = b"".join(client.get(address(made, "export") + "?format=csv").streaming_content)

    assert b"green" in whole


def test_a_workbook_without_room_for_all_columns_is_refused_with_a_sentence(client, monkeypatch):
    made = scenario.project(CHOICE)
    monkeypatch.setattr("surveys.services.exports.xlsx.MAX_COLUMNS", 8)

    response = client.get(address(made, "export") + "?format=xlsx")

    assert response.status_code == 400
    assert "the responses need 9 columns" in response.content.decode()


def test_a_file_that_breaks_off_ends_without_the_words_of_the_fault(client, monkeypatch):
    def chunks():
        yield b"id"
        raise ValueError("an answer")

    file = SimpleNamespace(content_type="text/csv", file_name="x.csv", chunks=chunks())
    monkeypatch.setattr("surveys.services.exports.service.export", lambda **_: file)

    response = client.get(address(scenario.project(CHOICE), "export"))

    with pytest.raises(DownloadAborted) as broken:
        list(response.streaming_content)
    assert broken.value.__suppress_context__
