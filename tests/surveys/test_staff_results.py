"""The results page for staff: who may open it, what it tells, and what it asks for."""

import html
import json
import re
from types import SimpleNamespace

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from communities.errors import PaymentRequired
from communities.models import Community, User
from surveys.models import Analysis
from surveys.services import figures
from tests.surveys import talking
from tests.surveys.talking import CHOICE, NOON, TEXT

pytestmark = pytest.mark.django_db

SCALE = {"type": "rating", "prompt": "How was it?"}
PAGES = ["results", "analysis", "export"]


def staff_member(*permissions, **fields):
    user = User.objects.create_user("staff", password="x", **{"is_staff": True, **fields})
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    return signed_in(user)


def signed_in(user, **options):
    client = Client(**options)
    client.force_login(user)
    return client


@pytest.fixture
def client():
    return signed_in(User.objects.create_superuser("root", password="x"))


def address(made, page="results"):
    return reverse(f"pages:staff-{page}", args=[made.pk])


def look(client, made, query="", *, status=200):
    response = client.get(address(made) + query)
    assert response.status_code == status
    return html.unescape(response.content.decode())


def respond(made, *said, times=1):
    for _ in range(times):
        talking.say(talking.begin(made), *said)


def analysis(made, status="completed", **fields):
    return Analysis.objects.create(
        **{
            "project": made,
            "status": status,
            "revision": made.revision,
            "changes": figures.changes(made.pk),
            "created_at": NOON,
            "completed_at": NOON if status == "completed" else None,
            "generated_by": "local",
            "summary": "All is well.",
            **fields,
        }
    )


# --- Who --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES)
def test_a_stranger_is_asked_to_sign_in_where_the_admin_does(page):
    made = talking.project(CHOICE)

    response = Client().get(address(made, page))

    assert response.status_code == 302
    assert response["Location"] == f"{reverse('admin:login')}?next={address(made, page)}"


@pytest.mark.parametrize("page", PAGES)
def test_nobody_but_staff_who_may_see_projects_gets_in(page):
    made = talking.project(CHOICE)

    assert staff_member().get(address(made, page)).status_code == 403
    User.objects.all().delete()
    assert staff_member("view_project", is_staff=False).get(address(made, page)).status_code == 403


def test_staff_who_may_only_look_are_offered_no_more():
    made = talking.project(TEXT)
    respond(made, "x")
    client = staff_member("view_project")

    seen = look(client, made)

    assert "Analyse" not in seen
    assert "Take the responses along" not in seen
    assert client.post(address(made, "analysis")).status_code == 403
    assert client.get(address(made, "export")).status_code == 403


def test_pages_are_only_looked_at(client):
    made = talking.project(TEXT)

    assert client.post(address(made)).status_code == 405
    assert client.post(address(made, "export")).status_code == 405
    assert client.put(address(made, "analysis")).status_code == 405


def test_a_forged_request_for_an_analysis_is_refused():
    made = talking.project(TEXT)
    client = signed_in(User.objects.create_superuser("root", password="x"), enforce_csrf_checks=True)

    assert client.post(address(made, "analysis")).status_code == 403
    assert not Analysis.objects.exists()


@pytest.mark.parametrize("page", PAGES)
def test_a_project_that_is_not_there_is_not_found(client, page):
    assert client.get(reverse(f"pages:staff-{page}", args=[10**30])).status_code == 404


def test_the_admins_page_of_a_project_leads_here(client):
    made = talking.project(CHOICE)

    shown = client.get(reverse("admin:surveys_project_change", args=[made.pk])).content.decode()

    assert f'<a href="{address(made)}">' in shown


# --- What is told -----------------------------------------------------------------------------------


def test_the_page_tells_counts_and_charts_and_keeps_out_of_caches(client):
    made = talking.project(CHOICE, SCALE, TEXT, name="Tea <b>or</b> coffee?")
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
    assert "This project has no question yet." in look(client, talking.project())
    empty = look(client, talking.project(CHOICE))
    assert "Nobody has answered yet." in empty
    assert "Nobody has answered this yet." in empty
    assert "No response is as chosen above." in look(client, talking.project(CHOICE), "?status=completed")


def test_the_page_costs_the_same_however_many_questions_and_answers(client, django_assert_max_num_queries):
    made = talking.project(*[CHOICE] * 6, TEXT)
    respond(made, *[0] * 6, "x", times=4)
    look(client, made)

    with django_assert_max_num_queries(10):
        look(client, made)


def test_removed_questions_stand_at_the_end(client):
    made = talking.project({**CHOICE, "prompt": "Old?"}, {**CHOICE, "prompt": "New?"})
    respond(made, 0, 0)
    made.blocks.filter(prompt="Old?").update(is_archived=True)
    made.revision += 1
    made.save(update_fields=["revision"])

    seen = look(client, made)

    assert seen.index("New?") < seen.index("Removed questions") < seen.rindex("Old?")


# --- Filters ----------------------------------------------------------------------------------------


def test_filters_narrow_what_is_counted(client):
    made = talking.project(CHOICE, CHOICE)
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
            "The last day must not be before the first.",
        ),
        ("status=gone", "Select a valid choice."),
        ("provider=nobody", "Select a valid choice."),
        ("segment_by=1x", "Select a valid choice."),
    ],
)
def test_a_filter_that_cannot_be_read_is_told_and_left_out(client, query, told):
    made = talking.project(CHOICE)
    respond(made, 0)

    seen = look(client, made, f"?{query}", status=400)

    assert "There is a problem" in seen
    assert told in seen
    assert "<dt>Responses</dt><dd>1</dd>" in seen


def test_answers_stand_side_by_side_by_those_to_another_question(client):
    made = talking.project(
        {**CHOICE, "prompt": "Which?"},
        SCALE,
        {"type": "nps"},
        {"type": "open_numeric"},
        {"type": "ranking", "options": ["a", "b"]},
        TEXT,
    )
    respond(made, 0, 5, 10, 3, [0, 1], "x")
    respond(made, 1, 2, 3, 8, [1, 0], "y")
    which = talking.script(made).blocks[0].id

    seen = look(client, made, f"?segment_by={which}")

    assert seen.count("side by side</caption>") == 5
    assert "score +100" in seen
    assert '<th scope="row">a: average rank</th><td>1</td><td>2</td>' in seen
    assert '<th scope="row">Mean</th><td>5</td><td>2</td>' in seen
    assert '<th scope="col">A red</th><th scope="col">B green</th>' in seen


def test_many_segments_are_in_the_table_and_the_first_are_drawn(client):
    many = {**CHOICE, "options": [f"o{n}" for n in range(30)]}
    made = talking.project(many, CHOICE)
    for n in range(30):
        respond(made, n, 0)
    which = talking.script(made).blocks[0].id

    seen = look(client, made, f"?segment_by={which}")

    assert "The first 8 of 30 are drawn; the table has all." in seen
    assert "AD o29" in seen


# --- Analysis ---------------------------------------------------------------------------------------


def test_themes_are_told_with_what_they_count_and_who_made_them(client):
    made = talking.project(TEXT)
    respond(made, "Tea.", times=2)
    open_text = {
        "summary": "They want tea.",
        "themes": [
            {
                "title": "Tea",
                "description": "More of it.",
                "count": 2,
                "percentage": 100.0,
                "sentiment": "positive",
                "quotes": ["<Tea>."],
            }
        ],
        "sentiment": {"positive": 2, "neutral": 0, "negative": 0},
        "answer_count": 2,
        "analysed_count": 2,
    }
    blocks = [{"block_id": talking.script(made).blocks[0].id, "open_text": open_text}]
    analysis(made, blocks_as_json=json.dumps(blocks), credits_used=1)

    seen = look(client, made)

    assert "They want tea." in seen
    assert "<blockquote><Tea>.</blockquote>" in seen  # unescaped by `look`
    assert (
        "Made on 31 January 2026, 12:34 UTC by text statistics, without a language model, for 1 credit"
        in (re.sub(r"<[^>]+>", "", seen))
    )
    assert "Nothing has changed since." in seen
    assert "Analyse anew" not in seen
    respond(made, "More.")
    changed = look(client, made)
    assert "Out of date:" in changed
    assert "Analyse anew" in changed


def test_an_analysis_is_asked_for_and_its_price_is_told_before(client, settings, monkeypatch):
    settings.AI_PROVIDER = "anthropic"
    Community.objects.filter(pk=talking.community().pk).update(bot_credits=1234)
    made = talking.project(TEXT)
    respond(made, "x")
    asked = []
    monkeypatch.setattr("surveys.services.analysis.ask", lambda **said: asked.append(said))

    seen = look(client, made)
    response = client.post(address(made, "analysis"), {"covers": "completed"})

    assert "Takes 1 credit of 1,234 left." in seen
    assert (response.status_code, response["Location"]) == (303, f"{address(made)}?status=completed#analysis")
    assert [(said["project"], said["with_ai"], said["covers"]) for said in asked] == [
        (made, True, "completed")
    ]
    assert client.post(address(made, "analysis"), {"covers": "none"}).status_code == 404


def test_without_a_model_an_analysis_is_free(client):
    made = talking.project(TEXT)
    respond(made, "x")

    assert "Takes free of credits" not in look(client, made)
    assert "Free of credits." in look(client, made)


def test_too_few_credits_are_told_and_nothing_is_begun(client, monkeypatch):
    made = talking.project(TEXT)
    respond(made, "x")

    def refuses(**_):
        raise PaymentRequired("This takes 1 credit, and the community has 0 credits left.")

    monkeypatch.setattr("surveys.services.analysis.ask", refuses)

    response = client.post(address(made, "analysis"))

    assert response.status_code == 402
    assert "the community has 0 credits left" in response.content.decode()


def test_a_running_analysis_tells_how_far_it_is_and_then_has_the_page_loaded_anew(client):
    made = talking.project(TEXT)
    respond(made, "x")
    running = analysis(made, "running", progress=0.4)

    seen = look(client, made)
    part = client.get(address(made, "analysis"))

    assert 'hx-trigger="every 2s"' in seen
    assert '<noscript><meta http-equiv="refresh" content="5"></noscript>' in seen
    assert "Analyse" not in seen.partition("<main")[2]
    assert "The texts are being read: 40%." in part.content.decode()
    Analysis.objects.filter(pk=running.pk).update(status="completed", completed_at=NOON)
    done = client.get(address(made, "analysis"))
    assert (done.status_code, done["HX-Refresh"]) == (204, "true")


def test_a_failed_analysis_tells_why_and_the_one_before_stays(client):
    made = talking.project(TEXT)
    respond(made, "x")
    analysis(made, summary="From before.")
    analysis(made, "failed", error="The model was overloaded.", summary=None)

    seen = look(client, made)

    assert "The model was overloaded." in seen
    assert "From before." in seen
    assert "Analyse anew" in seen


# --- Export -----------------------------------------------------------------------------------------


def test_files_are_offered_with_the_filters_that_are_on(client):
    made = talking.project(CHOICE)

    seen = look(client, made, "?status=completed&submitted_after=2026-01-01")

    rest = "&status=completed&submitted_after=2026-01-01"
    assert f'href="{address(made, "export")}?format=csv&bom=1{rest}"' in seen
    assert f'href="{address(made, "export")}?format=xlsx{rest}"' in seen


def test_a_file_is_streamed_with_the_selection_under_its_name(client, monkeypatch):
    made = talking.project(CHOICE)
    asked = []

    def exported(**said):
        asked.append(said)
        return SimpleNamespace(content_type="text/csv", file_name="Teé.csv", chunks=iter([b"a", b"b"]))

    monkeypatch.setattr("surveys.services.exports.export", exported)

    response = client.get(address(made, "export") + "?format=csv&bom=1&status=completed&provider=web")

    assert b"".join(response.streaming_content) == b"ab"
    assert response["Content-Disposition"] == "attachment; filename*=utf-8''Te%C3%A9.csv"
    assert response["Cache-Control"] == "private, no-store"
    ((said),) = asked
    assert (said["format"], said["with_bom"]) == ("csv", True)
    assert said["selection"] == figures.Selection(covers="completed", provider="web")


@pytest.mark.parametrize("query", ["?format=exe", "?format=csv&submitted_after=never"])
def test_a_file_that_cannot_be_made_is_not_found(client, query):
    assert client.get(address(talking.project(CHOICE), "export") + query).status_code == 404


def test_a_file_holds_the_responses(client):
    made = talking.project(CHOICE)
    respond(made, 1)

    whole = b"".join(client.get(address(made, "export") + "?format=csv").streaming_content)

    assert b"green" in whole
