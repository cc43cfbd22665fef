import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from communities.models import User
from surveys.models import Block, Conversation, Project
from tests.support import caller as api
from tests.support.caller import Caller
from tests.support.surveys import known_person, scenario
from tests.support.surveys.scenario import CHOICE, TEXT

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(client):
    client.force_login(User.objects.create_superuser("staff", password="x"))
    return client


def page(client, name, *args):
    response = client.get(reverse(f"admin:surveys_{name}", args=args))
    assert response.status_code == 200
    return response.content.decode()


def test_lists_and_pages_open_and_search(staff):
    made = scenario.project(CHOICE, {**TEXT, "prompt": "Why <b>so</b>?"}, name="Tea or coffee?")
    told = scenario.say(scenario.begin(made, "crm-7"), 0, "Be<cause")

    assert "Tea or coffee?" in page(staff, "project_changelist")
    assert "Tea or coffee?" in page(staff, "project_change", made.pk)
    assert "Why &lt;b&gt;so" in page(staff, "block_changelist")
    assert "red" in page(staff, "block_change", scenario.script(made).blocks[0].id)
    assert str(told.conversation.pk) in page(staff, "conversation_changelist")
    shown = page(staff, "conversation_change", told.conversation.pk)
    assert "Be&lt;cause" in shown
    assert "crm-7" in shown
    for name, words in [("project", "coffee"), ("block", "Why"), ("conversation", str(told.conversation.pk))]:
        address = reverse(f"admin:surveys_{name}_changelist")
        assert "1 result" in staff.get(address, {"q": words}).content.decode()
        assert "0 results" in staff.get(address, {"q": "nowhere"}).content.decode()


@pytest.mark.parametrize("model", ["project", "block", "conversation"])
def test_a_list_costs_the_same_however_long(staff, model, django_assert_max_num_queries):
    for n in range(6):
        scenario.say(scenario.begin(scenario.project(CHOICE, TEXT), f"p{n}"), 0, "x")
    staff.get(reverse(f"admin:surveys_{model}_changelist"))

    with django_assert_max_num_queries(9):
        page(staff, f"{model}_changelist")


def test_an_anonymous_conversation_shows_nobody(staff):
    made = scenario.project(CHOICE, TEXT, privacy_mode="anonymous")
    told = scenario.say(scenario.begin(made, "crm-7"), 0)

    shown = page(staff, "conversation_change", told.conversation.pk)

    assert "crm-7" not in shown
    assert "sealed" not in shown


@pytest.mark.parametrize("privacy_mode", ["semi-private", "anonymous"])
def test_a_conversation_shows_which_blocks_gave_how_much_unless_it_is_anonymous(staff, privacy_mode):
    caller = Caller()
    known_person.person(caller.community)
    block = {**known_person.GIVES_XP, "name": "harbour_bonus"}
    survey = caller.make_open(block, api.TEXT, privacy_mode=privacy_mode, **known_person.AUDIENCE)
    told = scenario.go_on(known_person.begin(survey), at=known_person.AT)
    fired = {str(told.script.blocks[0].id): 7}
    Conversation.objects.update(state={**Conversation.objects.get().state, "fired": fired})

    shown = page(staff, "conversation_change", told.conversation.pk)

    assert ("<tr><th>harbour_bonus</th><td>7</td></tr>" in shown) == (privacy_mode != "anonymous")
    assert ("harbour_bonus" in shown) == (privacy_mode != "anonymous")


def test_corrected_words_are_asked_from_then_on(staff):
    made = scenario.project(CHOICE, TEXT)
    block = Block.objects.get(project=made, name="q0")
    options = list(block.options.order_by("pk"))
    form = {
        "prompt": "Better words?",
        "when_correct": "",
        "when_incorrect": "",
        "options-TOTAL_FORMS": 2,
        "options-INITIAL_FORMS": 2,
        "options-0-id": options[0].pk,
        "options-0-block": block.pk,
        "options-0-label": "Crimson",
        "options-1-id": options[1].pk,
        "options-1-block": block.pk,
    }

    response = staff.post(reverse("admin:surveys_block_change", args=[block.pk]), form)

    assert response.status_code == 302
    made = Project.objects.get(pk=made.pk)
    assert made.revision == 1
    step = scenario.begin(made).step
    assert (step.block.prompt, step.block.options[0].label) == ("Better words?", "Crimson")


@pytest.mark.parametrize(
    ("prompt", "told"),
    [("  ", "The prompt must not be blank."), ("x" * 4_001, "Must have at most 4,000 characters.")],
)
def test_corrected_words_keep_to_the_bounds_of_the_interface(staff, prompt, told):
    made = scenario.project(TEXT)
    block = Block.objects.get(project=made, name="q0")
    form = {"prompt": prompt, "options-TOTAL_FORMS": 0, "options-INITIAL_FORMS": 0}

    response = staff.post(reverse("admin:surveys_block_change", args=[block.pk]), form)

    assert told in response.content.decode()
    assert Block.objects.get(pk=block.pk).prompt == block.prompt


def test_conversations_are_never_edited(staff):
    told = scenario.begin(scenario.project(CHOICE))

    response = staff.post(reverse("admin:surveys_conversation_change", args=[told.conversation.pk]), {})

    assert response.status_code == 403
    assert Conversation.objects.count() == 1


def test_what_is_left_empty_stays_null(staff):
    block = Block.objects.get(project=scenario.project(TEXT), name="q0")
    form = {"prompt": "Better words?", "options-TOTAL_FORMS": 0, "options-INITIAL_FORMS": 0}

    staff.post(reverse("admin:surveys_block_change", args=[block.pk]), form)

    block.refresh_from_db()
    assert (block.prompt, block.when_correct) == ("Better words?", None)


@pytest.mark.parametrize("name", ["project", "block"])
def test_a_project_is_locked_before_it_is_read_to_be_changed(staff, name):
    made = scenario.project(TEXT)
    row = made if name == "project" else Block.objects.get(project=made, name="q0")
    form = {
        "name": "New",
        "prompt": "New",
        **{f"{rows}-{count}_FORMS": 0 for rows in ("buckets", "options") for count in ("TOTAL", "INITIAL")},
    }

    with CaptureQueriesContext(connection) as captured:
        response = staff.post(reverse(f"admin:surveys_{name}_change", args=[row.pk]), form)

    assert response.status_code == 302
    told = [query["sql"] for query in captured]
    lock = next(n for n, sql in enumerate(told) if "surveys_project" in sql and "FOR UPDATE" in sql)
    assert any(f'FROM "surveys_{name}"' in sql for sql in told[lock + 1 :])
