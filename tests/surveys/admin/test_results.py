"""The tab of results in the admin: who sees what, what it counts, and what is taken along."""

import re
from threading import BoundedSemaphore
from types import SimpleNamespace

import pytest
from django.urls import reverse

from communities.http.downloads import DownloadAborted
from communities.models import User
from surveys.models import Analysis
from surveys.services.results import figures
from tests.factories import MemberFactory
from tests.support.staff import client_of, signed_in
from tests.support.surveys import scenario
from tests.support.surveys.project_tabs import (
    EDITORS,
    ROLES,
    client_as,
    look,
    respond,
    superuser,
    tab,
)
from tests.support.surveys.scenario import CHOICE, TEXT

pytestmark = pytest.mark.django_db

SCALE = {"type": "rating", "prompt": "How was it?"}
PAGES = [
    "results",
    "results_analyse",
    "results_analysis",
    "results_export",
    "results_counting",
    "results_exported",
]


@pytest.fixture
def client():
    return superuser()


# --- Who --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES)
def test_a_plain_member_who_is_no_staff_does_not_get_in(page):
    made = scenario.project(CHOICE, share_results=True)
    user = User.objects.create(name="Ann")
    MemberFactory.create(community=made.community, user=user, access="member")

    assert signed_in(user).get(tab(made.pk, page)).status_code == 302


# Who sees the whole, only what is shared, or nothing: by privacy mode and role.
WHOLE, SHARED, REFUSED, ABSENT = "whole", "shared", 403, 404
SEEN = {
    ("transparent", False): [WHOLE, WHOLE, WHOLE, WHOLE, WHOLE, ABSENT],
    ("semi-private", False): [WHOLE, WHOLE, WHOLE, REFUSED, REFUSED, ABSENT],
    ("anonymous", False): [WHOLE, WHOLE, WHOLE, REFUSED, REFUSED, ABSENT],
    ("semi-private", True): [WHOLE, WHOLE, WHOLE, SHARED, SHARED, ABSENT],
    ("anonymous", True): [WHOLE, WHOLE, WHOLE, SHARED, SHARED, ABSENT],
}
CASES = [(*case, role, seen) for case, every in SEEN.items() for role, seen in zip(ROLES, every, strict=True)]


@pytest.mark.parametrize(("privacy_mode", "is_shared", "role", "seen"), CASES)
def test_each_role_sees_what_the_interface_gives_it(privacy_mode, is_shared, role, seen):
    made = scenario.project(CHOICE, TEXT, privacy_mode=privacy_mode, share_results=is_shared)
    respond(made, 0, "A canary.", times=6)
    client = client_as(role, made)

    page = client.get(tab(made.pk))
    file = client.get(tab(made.pk, "results_export") + "?format=csv")
    polled = client.get(tab(made.pk, "results_analysis"))
    read = client.get(tab(made.pk, "results_answers", scenario.script(made).blocks[1].id))

    assert page.status_code == (seen if isinstance(seen, int) else 200)
    shown = page.content.decode()
    assert ("Download" in shown) == ("Compare by" in shown) == (seen == WHOLE)
    assert ("you see aggregates" in shown) == (seen == SHARED)
    assert file.status_code == {WHOLE: 200, SHARED: 403}.get(seen, seen)
    assert polled.status_code == (204 if seen == WHOLE else 404)
    assert read.status_code == {WHOLE: 200, SHARED: 403}.get(seen, seen)
    assert (b"A canary." in page.content) == (b"A canary." in read.content) == (seen == WHOLE)
    if seen != WHOLE:
        assert b"A canary." not in b"".join((file.content, polled.content))


@pytest.mark.parametrize("role", ROLES)
def test_only_who_may_edit_the_project_may_have_it_analysed(role):
    made = scenario.project(TEXT, privacy_mode="transparent")
    respond(made, "x")
    client = client_as(role, made)

    shown = client.get(tab(made.pk)).content.decode()
    response = client.post(tab(made.pk, "results_analyse"), {"covers": "all"})

    assert ("Costs no credits." in shown) == (role in EDITORS)
    assert Analysis.objects.exists() == (role in EDITORS)
    assert response.status_code == (303 if role in EDITORS else 404 if role == "foreigner" else 403)


def test_a_closed_project_is_absent_for_a_member():
    made = scenario.project(CHOICE, privacy_mode="transparent", status="inactive")

    assert client_as("member").get(tab(made.pk)).status_code == 404


@pytest.mark.parametrize(("mode", "status"), [("public", 200), ("voters_only", 403), ("hidden", 403)])
def test_a_member_sees_an_open_poll_by_its_mode(mode, status):
    made = scenario.poll(privacy_mode="transparent", poll_results_mode=mode)

    shown = look(client_as("member"), made, status=status)

    assert ("Participation" in shown) == (status == 200)


def test_few_anonymous_answers_are_withheld_from_members_and_shown_in_steps():
    made = scenario.project(CHOICE, privacy_mode="anonymous", share_results=True)
    respond(made, 0, times=6)
    client = client_as("member")
    before = look(client, made)
    respond(made, 1, times=4)

    after = look(client, made)
    respond(made, 1)

    assert "<dt>Responses</dt><dd>6</dd>" in before
    assert "<dt>Responses</dt><dd>6</dd>" in after
    assert "<dt>Responses</dt><dd>11</dd>" in look(client, made)


def test_filters_in_the_address_show_who_may_not_filter_the_whole_with_a_sentence():
    made = scenario.project(CHOICE, share_results=True, privacy_mode="semi-private")
    respond(made, 0)

    shown = look(client_as("member"), made, "?status=partial")

    assert "<dt>Responses</dt><dd>1</dd>" in shown
    assert "filters and comparisons, which could single out a person" in shown


def test_pages_are_only_looked_at(client):
    made = scenario.project(TEXT)

    assert client.post(tab(made.pk)).status_code == 405
    assert client.post(tab(made.pk, "results_export")).status_code == 405
    assert client.put(tab(made.pk, "results_analyse")).status_code == 405


def test_a_forged_request_for_an_analysis_is_refused():
    made = scenario.project(TEXT)
    client = superuser(enforce_csrf_checks=True)

    assert client.post(tab(made.pk, "results_analyse")).status_code == 403
    assert not Analysis.objects.exists()


@pytest.mark.parametrize("page", PAGES)
def test_a_project_that_is_not_there_is_not_found(client, page):
    assert client.get(reverse(f"admin:surveys_project_{page}", args=[10**30])).status_code == 404


@pytest.mark.parametrize("page", ["results", "analysis", "export"])
def test_the_earlier_address_leads_to_the_tab(client, page):
    made = scenario.project(CHOICE)

    assert client.get(f"/staff/projects/{made.pk}/{page}")["Location"] == tab(made.pk)


# --- What is told -----------------------------------------------------------------------------------


def test_the_page_tells_counts_and_charts_and_keeps_out_of_caches(client):
    made = scenario.project(CHOICE, SCALE, TEXT, name="Tea <b>or</b> coffee?")
    respond(made, 0, 4, "Tea.")
    respond(made, 0)

    response = client.get(tab(made.pk))
    seen = response.content.decode()

    assert "no-store" in response["Cache-Control"]
    assert "<dt>Responses</dt><dd>2</dd>" in seen
    assert "<dt>Completed</dt><dd>1 (50%)</dd>" in seen
    assert "1 left here" in seen
    assert "Tea &lt;b&gt;or&lt;/b&gt; coffee?" in seen
    assert (
        '<th scope="row" lang="" dir="auto">green</th><td dir="auto">0</td><td dir="auto">0.00%</td>' in seen
    )
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

    with django_assert_max_num_queries(21):
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
        ("submitted_before=9999-12-31", "between the years"),
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
    respond(made, 1)
    which = scenario.script(made).blocks[0].id

    seen = look(client, made, f"?segment_by={which}")

    assert seen.count("compared</caption>") == 5
    assert seen.count("red <small>1 response</small>") == 2
    assert seen.count("green <small>1 of 2 answered</small>") == 2
    assert "score +100" in seen
    assert (
        '<th scope="row" lang="" dir="auto">a: average rank</th><td dir="auto">1</td><td dir="auto">2</td>'
        in seen
    )
    assert '<th scope="row" lang="" dir="auto">Mean</th><td dir="auto">5</td><td dir="auto">2</td>' in seen
    assert (
        '<th scope="col" lang="" dir="auto">A red</th><th scope="col" lang="" dir="auto">B green</th>' in seen
    )


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
    respond(made, 0)

    seen = look(client, made, "?status=completed&submitted_after=2026-01-01")

    rest = "&status=completed&submitted_after=2026-01-01"
    assert f'href="{tab(made.pk, "results_export")}?format=csv&bom=1{rest}"' in seen
    assert f'href="{tab(made.pk, "results_export")}?format=xlsx{rest}"' in seen


def test_the_number_of_rows_is_told_before_and_long_files_are_watched(client, monkeypatch):
    made = scenario.project(CHOICE)
    respond(made, 0, times=2)
    short = look(client, made, "?status=all")
    filtered = look(client, made, "?status=completed")
    monkeypatch.setattr("surveys.admin.exporting.LARGE", 2)

    long = look(client, made)

    assert "2 responses, one in a row.</p>" in short
    assert "2 responses, one in a row. The filters above apply.</p>" in filtered
    assert "data-watch" not in short
    assert f'data-watch="{tab(made.pk, "results_exported")}" data-rows="2"' in long


def test_a_watched_file_tells_how_many_rows_are_written(client, redis):
    made = scenario.project(CHOICE)
    respond(made, 0, times=3)
    watch = "?watch=0d4f6ab7-5a5f-4a52-8f0b-6e5f8a1f6f0e"
    before = client.get(tab(made.pk, "results_exported") + watch).json()

    list(client.get(tab(made.pk, "results_export") + watch + "&format=csv").streaming_content)

    assert before == {"rows": None}
    assert client.get(tab(made.pk, "results_exported") + watch).json() == {"rows": 3}


def test_too_many_downloads_are_refused_in_words(client, monkeypatch):
    made = scenario.project(CHOICE)
    monkeypatch.setattr("communities.http.downloads._slots", BoundedSemaphore(1))
    monkeypatch.setattr("communities.http.downloads.SECONDS_TO_WAIT", 0.01)
    running = client.get(tab(made.pk, "results_export"))

    refused = client.get(tab(made.pk, "results_export"))

    assert refused.status_code == 503
    assert "Too many downloads are running. Please retry shortly." in refused.content.decode()
    running.close()


def test_a_file_is_streamed_with_the_selection_under_its_name(client, monkeypatch):
    made = scenario.project(CHOICE)
    asked = []

    def exported(**said):
        asked.append(said)
        chunks = (chunk for chunk in [b"a", b"b"])
        return SimpleNamespace(content_type="text/csv", file_name="Teé.csv", chunks=chunks)

    monkeypatch.setattr("surveys.services.exports.service.export", exported)

    response = client.get(tab(made.pk, "results_export") + "?format=csv&bom=1&status=completed&provider=web")

    assert b"".join(response.streaming_content) == b"ab"
    assert response["Content-Disposition"].endswith("; filename*=UTF-8''Te%C3%A9.csv")
    assert "no-store" in response["Cache-Control"]
    ((said),) = asked
    assert (said["format"], said["with_bom"]) == ("csv", True)
    assert said["selection"] == figures.Selection(covers="completed", provider="web")


@pytest.mark.parametrize("query", ["?format=exe", "?format=csv&submitted_after=never"])
def test_a_file_that_cannot_be_made_is_not_found(client, query):
    assert client.get(tab(scenario.project(CHOICE).pk, "results_export") + query).status_code == 404


def test_a_file_holds_the_responses(client):
    made = scenario.project(CHOICE)
    respond(made, 1)

    whole = b"".join(client.get(tab(made.pk, "results_export") + "?format=csv").streaming_content)

    assert b"green" in whole


def test_a_workbook_without_room_for_all_columns_is_refused_with_a_sentence(client, monkeypatch):
    made = scenario.project(CHOICE)
    monkeypatch.setattr("surveys.services.exports.xlsx.MAX_COLUMNS", 8)

    response = client.get(tab(made.pk, "results_export") + "?format=xlsx")

    assert response.status_code == 400
    assert "the responses need 9 columns" in response.content.decode()


def test_a_file_that_breaks_off_ends_without_the_words_of_the_fault(client, monkeypatch):
    def chunks():
        yield b"id"
        raise ValueError("an answer")

    file = SimpleNamespace(content_type="text/csv", file_name="x.csv", chunks=chunks())
    monkeypatch.setattr("surveys.services.exports.service.export", lambda **_: file)

    response = client.get(tab(scenario.project(CHOICE).pk, "results_export"))

    with pytest.raises(DownloadAborted) as broken:
        list(response.streaming_content)
    assert broken.value.__suppress_context__


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("?format=csv", ("csv", False, False)),
        ("?format=csv&values=codes", ("csv", True, False)),
        ("?format=xlsx&form=long", ("xlsx", False, True)),
        ("?format=parquet&form=long&values=codes", ("parquet", True, True)),
        ("?format=sav&form=wide&values=codes&bom=1", ("sav", True, False)),
    ],
)
def test_the_form_chooses_the_kind_of_file_codes_and_rows(client, monkeypatch, query, expected):
    asked = []

    def exported(**said):
        asked.append((said["format"], said["codes"], said["is_long"]))
        return SimpleNamespace(content_type="text/csv", file_name="a", chunks=(chunk for chunk in [b"a"]))

    monkeypatch.setattr("surveys.services.exports.service.export", exported)

    response = client.get(tab(scenario.project(CHOICE).pk, "results_export") + query)

    assert response.status_code == 200
    assert asked == [expected]


@pytest.mark.parametrize("format", ["sav", "parquet"])
def test_every_kind_of_file_is_offered_and_comes(client, format):
    made = scenario.project(CHOICE)
    respond(made, 1)
    seen = look(client, made, "?status=completed")

    response = client.get(tab(made.pk, "results_export") + f"?format={format}")

    start = b"".join(response.streaming_content)[:4]
    assert start == {"sav": b"$FL2", "parquet": b"PAR1"}[format]
    assert f"?format={format}&status=completed" in seen
    assert '<input type="hidden" name="status" value="completed">' in seen
    assert "Choose what is in the file" in seen


@pytest.mark.parametrize("query", ["?format=json&values=codes", "?format=ndjson&form=long"])
def test_a_file_that_the_form_does_not_offer_is_not_found(client, query):
    assert client.get(tab(scenario.project(CHOICE).pk, "results_export") + query).status_code == 404


def test_an_spss_file_has_no_row_for_each_answer(client):
    made = scenario.project(CHOICE)
    respond(made, 1)

    response = client.get(tab(made.pk, "results_export") + "?format=sav&form=long")

    assert response.status_code == 400
    assert "An SPSS file has one response in a row." in response.content.decode()


def test_an_spss_file_that_would_be_too_large_is_refused_in_words(client, monkeypatch):
    made = scenario.project(CHOICE)
    respond(made, 1)
    monkeypatch.setattr("surveys.services.exports.spss.MAX_CELLS", 8)

    response = client.get(tab(made.pk, "results_export") + "?format=sav")

    assert response.status_code == 400
    assert "These responses do not fit into an SPSS file." in response.content.decode()
    assert "`format`" not in response.content.decode()


def test_a_member_downloads_no_solutions(monkeypatch):
    asked = []

    def exported(**said):
        asked.append(said["solutions"])
        return SimpleNamespace(content_type="text/csv", file_name="a", chunks=(chunk for chunk in [b"a"]))

    monkeypatch.setattr("surveys.services.exports.service.export", exported)
    made = scenario.project(CHOICE, privacy_mode="transparent")

    for access in ("member", "admin"):
        client_of(made.community, access).get(tab(made.pk, "results_export"))

    assert asked == [False, True]
