"""The tab of responses in the admin: who sees what, the list, and one response as it was answered."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from communities.models import Identity
from surveys.models import Conversation, Project
from tests.factories import IdentityFactory, VerifiedSourceFactory
from tests.support import caller as api
from tests.support.caller import Caller
from tests.support.moments import LUNCHTIME
from tests.support.staff import row_titles, signed_in
from tests.support.surveys import known_person, scenario
from tests.support.surveys.project_tabs import EDITORS, ROLES, client_as, look, superuser, tab
from tests.support.surveys.scenario import CHOICE, SAYING, TEXT

pytestmark = pytest.mark.django_db

PRIVACY = ["transparent", "semi-private", "anonymous"]
CANARY = "A canary sings."


@pytest.fixture(scope="module")
def client(kept_rows):
    return superuser()


def answered(made, who=None, *said, at=LUNCHTIME):
    """A response; its id."""
    return scenario.say(scenario.begin(made, who, at=at), *said, at=at).conversation.pk


def one(client, made, response_id, *, status=200):
    return client_look(client, tab(made.pk, "response", response_id), status)


def client_look(client, path, status=200):
    response = client.get(path)
    assert response.status_code == status, response.content
    return response.content.decode()


# --- Who --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sung(kept_rows):
    """A project by privacy mode, each with the id of its response."""
    projects = {mode: scenario.project(TEXT, privacy_mode=mode, share_results=True) for mode in PRIVACY}
    return {mode: (made, answered(made, "crm-7", CANARY)) for mode, made in projects.items()}


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("privacy_mode", PRIVACY)
def test_each_role_reads_what_the_interface_gives_it(sung, privacy_mode, role):
    """Rule 7.116."""
    made, key = sung[privacy_mode]
    client = client_as(role, made)
    may_read = role in EDITORS or (privacy_mode == "transparent" and role != "foreigner")
    expected = 200 if may_read else 404 if role == "foreigner" else 403

    listed = client.get(tab(made.pk, "responses"))
    shown = client.get(tab(made.pk, "response", key))
    searched = client.get(tab(made.pk, "responses") + "?q=crm-7&status=partial&provider=web&from=2020-01-01")

    assert [each.status_code for each in (listed, shown, searched)] == [expected] * 3
    assert (CANARY in shown.content.decode()) == may_read
    assert (str(key) in listed.content.decode()) == may_read
    assert ("Delete…" in shown.content.decode()) == (role in EDITORS)
    named = any("crm-7" in each.content.decode() for each in (listed, shown))
    assert named == (may_read and privacy_mode != "anonymous")


def test_a_stranger_is_asked_to_sign_in():
    made = scenario.project(TEXT)
    key = answered(made, None, "x")

    for path in (tab(made.pk, "responses"), tab(made.pk, "response", key)):
        assert Client().get(path).status_code == 302


def test_a_response_is_found_only_on_its_own_project(client):
    made, other = scenario.project(TEXT), scenario.project(TEXT)
    key = answered(made, None, CANARY)

    one(client, other, key, status=404)
    one(client, made, "0b4f6ab7-5a5f-4a52-8f0b-6e5f8a1f6f0e", status=404)


def test_what_has_no_answer_yet_is_no_response(client):
    made = scenario.project(TEXT)
    key = scenario.begin(made).conversation.pk

    one(client, made, key, status=404)
    assert "as soon as it has an answer" in look(client, made, page="responses")


@pytest.mark.parametrize(("mode", "status"), [("public", 200), ("voters_only", 403), ("hidden", 403)])
def test_a_member_reads_the_votes_of_an_open_poll_by_its_mode(mode, status):
    made = scenario.poll(privacy_mode="transparent", poll_results_mode=mode)
    key = answered(made, None, 0)
    client = client_as("member")

    look(client, made, page="responses", status=status)
    one(client, made, key, status=status)


def test_a_member_is_not_told_points_right_answers_and_what_others_were_given():
    made = scenario.project(
        {**CHOICE, "name": "colour"},
        {"type": "calculated_block", "prompt": "", "name": "tripled", "calculated_formula": "3 * 14"},
        TEXT,
        privacy_mode="transparent",
    )
    key = answered(made, None, 0, "x")

    shown = {role: one(client_as(role, made), made, key) for role in ("admin", "creator", "member")}

    assert "42" in shown["admin"]
    assert "What it set off" in shown["admin"]
    assert "What it set off" not in shown["creator"]
    assert "tripled" in shown["creator"]
    assert "tripled" not in shown["member"]


# --- The list ---------------------------------------------------------------------------------------


def test_the_list_tells_who_when_how_much_and_whence(client):
    made = scenario.project(CHOICE, TEXT)
    answered(made, "crm-7", 0, "<b>" + "x" * 50)
    answered(made, "crm & <co", 1)

    shown = client.get(tab(made.pk, "responses")).content.decode()

    assert row_titles(shown) == ["crm &amp; &lt;co", "crm-7"]
    assert '<td data-label="Answers" class="number">2</td>' in shown
    assert f'<td data-label="First answers">red · &lt;b&gt;{"x" * 36}…</td>' in shown
    assert "Completed</span>" in shown
    assert "Partial</span>" in shown


def test_the_list_is_narrowed_sorted_and_searched(client):
    made = scenario.project(CHOICE, TEXT)
    answered(made, "early", 0, "x")
    answered(made, "late", 0, at=LUNCHTIME + timedelta(days=3))
    Conversation.objects.filter(platform_id="late").update(provider=Identity.Provider.CHAT)
    day = (LUNCHTIME + timedelta(days=3)).date()

    def found(query):
        return row_titles(look(client, made, query, page="responses"))

    assert found("") == ["late", "early"]
    assert found("?sort=oldest") == ["early", "late"]
    assert found("?status=completed") == ["early"]
    assert found("?status=partial") == found("?provider=chat") == found(f"?from={day}") == ["late"]
    assert found(f"?to={day - timedelta(days=1)}") == ["early"]
    assert found(f"?from={day}&to={day}&sort=oldest&q=late") == ["late"]
    assert found("?q=early") == ["early"]
    assert found("?q=earl") == found("?q=nobody") == []
    assert found("?from=never&after=junk&status=odd") == ["late", "early"]


def test_people_are_found_by_name_nick_and_user_id(client):
    made = scenario.project(TEXT, privacy_mode="transparent")
    ann, bea = scenario.member("Ann Bell", chat_id="821"), scenario.member("Bea")
    bea.nick = "Queen"
    bea.save()
    keys = {"ann": answered(made, "one", "x"), "bea": answered(made, "two", "y")}
    for name, member in (("ann", ann), ("bea", bea)):
        Conversation.objects.filter(pk=keys[name]).update(user=member.user)

    def found(term):
        return row_titles(look(client, made, f"?q={term}", page="responses"))

    assert found("ann") == found("821") == found(ann.user_id) == ["Ann Bell"]
    assert found("que") == found("bea") == ["Queen"]


def test_only_admins_find_people_by_accounts_that_their_responses_do_not_show(client):
    made = scenario.project(TEXT, privacy_mode="transparent")
    ann = scenario.member("Ann Bell", chat_id="821")
    IdentityFactory.create(user=ann.user, platform_id="steam-9", provider="game_store")
    VerifiedSourceFactory.create(community=made.community, provider="game_store")
    IdentityFactory.create(user=ann.user, platform_id="stream-9", provider="streaming")
    key = answered(made, "one", "x")
    Conversation.objects.filter(pk=key).update(user=ann.user)
    member = client_as("member", made)

    def found(by, term):
        return row_titles(look(by, made, f"?q={term}", page="responses"))

    assert found(client, "steam-9") == ["Ann Bell"]
    assert found(member, "steam-9") == found(client, "stream-9") == []
    assert found(member, "821") == found(member, "ann") == ["Ann Bell"]


def test_a_name_of_another_community_is_not_found_here(client):
    made = scenario.project(TEXT)
    stranger = scenario.member("Zoe", number=2)
    IdentityFactory.create(
        user=stranger.user, platform_id="77", provider="web", community=scenario.community(2)
    )
    key = answered(made, "one", "x")
    Conversation.objects.filter(pk=key).update(user=stranger.user)

    assert row_titles(look(client, made, "?q=zoe", page="responses")) == []
    assert row_titles(look(client, made, "?q=77", page="responses")) == []


def test_nobody_is_searched_for_on_an_anonymous_project(client):
    made = scenario.project(TEXT, privacy_mode="anonymous")
    key = answered(made, "crm-7", "x")

    shown = look(client, made, "?q=crm-7", page="responses")

    assert 'name="q"' not in shown
    assert "nobody can be searched for" in shown
    assert row_titles(shown) == [f"Response {str(key)[:8]}"]


def test_anonymous_responses_stand_in_the_order_of_their_ids(client):
    made = scenario.project(TEXT, privacy_mode="anonymous")
    keys = sorted(str(answered(made, None, "x")) for _ in range(5))

    shown = look(client, made, page="responses")

    assert row_titles(shown) == [f"Response {key[:8]}" for key in keys]
    assert "Newest" not in shown


@pytest.mark.parametrize("query", ["", "?from=2026-01-01"])
def test_pages_of_the_list_follow_each_other(client, monkeypatch, query):
    monkeypatch.setattr("communities.staff.listing.PER_PAGE", 2)
    made = scenario.project(TEXT)
    for n in range(5):
        answered(made, f"p{n}", "x")

    seen, path = [], tab(made.pk, "responses") + query
    while path:
        shown = client.get(path).content.decode()
        seen += row_titles(shown)
        found = re.search(r'rel="next" href="([^"]+)"', shown)
        path = found and tab(made.pk, "responses") + found[1].replace("&amp;", "&")

    assert seen == ["p4", "p3", "p2", "p1", "p0"]


def test_the_list_costs_the_same_however_long(client, django_assert_max_num_queries):
    made = scenario.project(CHOICE, TEXT)
    for n in range(8):
        answered(made, f"p{n}", 0, "x")
    look(client, made, page="responses")

    with django_assert_max_num_queries(18):
        look(client, made, page="responses")


def test_votes_are_called_votes(client):
    made = scenario.poll()
    key = answered(made, "crm-7", 0)

    listed, shown = look(client, made, page="responses"), one(client, made, key)
    asked = client_look(client, tab(made.pk, "response_delete", key))

    assert "1 vote, one in a row." in listed
    assert "All votes" in shown
    assert "The XP that the vote gave is taken back" in asked
    assert not re.search(
        r"\bresponse\b",
        re.sub(r"<[^>]*>", "", listed.partition("</nav>\n{% endblock")[0]).partition("Download everything")[
            2
        ],
    )


# --- One response -----------------------------------------------------------------------------------


def test_a_response_is_shown_as_it_was_answered(client):
    made = scenario.project(
        {**SAYING, "prompt": "Welcome!"},
        {**TEXT, "name": "nick", "prompt": "Your name?"},
        {**CHOICE, "name": "colour", "prompt": "Which colour, [nick]?"},
        {**TEXT, "prompt": "Why red?", "precondition": 'colour != "red"'},
        {"type": "ranking", "prompt": "Order?", "options": ["a", "b"]},
        {**TEXT, "prompt": "Anything else?", "required": False},
    )
    told = scenario.go_on(scenario.begin(made))
    key = scenario.say(told, "<i>Ann</i>", 1, [1, 0], None).conversation.pk

    shown = one(client, made, key)
    steps = [
        re.sub(r"<[^>]+>|\s+", " ", each)
        for each in re.findall(r'<li class="step.*?(?=<li class="step|</section>)', shown, re.S)
    ]
    words = [" ".join(each.split()) for each in steps]

    assert words == [
        "Welcome!",
        "Your name? &lt;i&gt;Ann&lt;/i&gt;",
        "Which colour, &lt;i&gt;Ann&lt;/i&gt;? green",
        "Why red? Not shown: hidden by its condition",
        "Order? b a",
        "Anything else? Skipped",
    ]


def test_one_that_goes_on_tells_where_it_stands(client):
    made = scenario.project(CHOICE, {**TEXT, "prompt": "And then?"})
    key = answered(made, None, 0)

    shown = one(client, made, key)

    assert re.search(r"And then\?</p>\s*<p class=\"state pending\">Stands here now", shown)
    assert "Completed</dt>" not in shown


def test_answers_to_removed_questions_are_shown_apart(client):
    made = scenario.project({**TEXT, "prompt": "Old?"}, CHOICE)
    key = answered(made, None, CANARY, 0)
    made.blocks.filter(prompt="Old?").update(is_archived=True)
    Project.objects.filter(pk=made.pk).update(revision=made.revision + 1)

    shown = one(client, made, key)

    assert shown.index("Other answers") < shown.index("Old?") < shown.index(CANARY)


def test_scores_are_told_by_bucket(client):
    options = [{"value": "a", "score_values": {"wit": 2}}, {"value": "b", "score_values": {"wit": 5}}]
    survey = Caller().make_open({**api.CHOICE, "options": options}, scoring_enabled=True)
    Project.objects.filter(pk=survey["id"]).update(participation="open_web")
    made = Project.objects.get(pk=survey["id"])
    key = answered(made, None, 0)

    shown = " ".join(one(client, made, key).split())

    assert '<th scope="row" class="row-title">Wit</th> <td class="number" data-label="Points">2</td>' in shown
    assert 'data-label="Most possible">5</td>' in shown


@pytest.mark.parametrize("privacy_mode", ["semi-private", "anonymous"])
def test_what_a_response_gave_is_told_unless_it_is_anonymous(client, privacy_mode):
    caller = Caller()
    known_person.person(caller.community)
    block = {**known_person.GIVES_XP, "name": "harbour_bonus"}
    survey = caller.make_open(block, api.TEXT, privacy_mode=privacy_mode, **known_person.AUDIENCE)
    told = scenario.go_on(known_person.begin(survey), at=known_person.AT)
    key = scenario.say(told, "x", at=known_person.AT).conversation.pk
    fired = {str(told.script.blocks[0].id): 7}
    row = Conversation.objects.get(pk=key)
    Conversation.objects.update(state={**row.state, "fired": fired})

    shown = one(client, row.project, key)

    assert ("by harbour_bonus" in shown) == (privacy_mode != "anonymous")
    assert ("What it set off" in shown) == (privacy_mode != "anonymous")


def test_the_respondent_of_a_running_anonymous_response_is_never_unsealed(client, monkeypatch):
    made = scenario.project({**TEXT, "prompt": "Hello [username]"}, TEXT, privacy_mode="anonymous")
    key = answered(made, "crm-7", "x")

    def unsealed(**_):
        raise AssertionError("Nobody may be unsealed for staff.")

    monkeypatch.setattr("surveys.services.ground.anonymity.unseal", unsealed)

    assert "crm-7" not in one(client, made, key)


def test_neighbours_lead_on(client):
    made = scenario.project(TEXT)
    first, second, third = (answered(made, None, "x") for _ in range(3))

    shown = one(client, made, second)

    assert f'rel="prev" href="{tab(made.pk, "response", first)}"' in shown
    assert f'rel="next" href="{tab(made.pk, "response", third)}"' in shown
    assert 'rel="prev"' not in one(client, made, first)


def test_neighbours_are_those_that_the_filters_of_the_list_leave(client):
    made = scenario.project(TEXT, TEXT)
    first, _, third = (answered(made, None, *said) for said in ("x", "xy", "x"))
    query = "?status=partial"

    listed = client.get(tab(made.pk, "responses") + query).content.decode()
    shown = client.get(tab(made.pk, "response", third) + query).content.decode()

    assert f'href="{tab(made.pk, "response", third)}{query}"' in listed
    assert f'rel="prev" href="{tab(made.pk, "response", first)}{query}"' in shown
    assert f'href="{tab(made.pk, "responses")}{query}">Filtered responses' in shown


def test_a_page_costs_the_same_however_many_questions_and_responses(client, django_assert_max_num_queries):
    made = scenario.project(*[CHOICE] * 12, TEXT)
    key = answered(made, "crm", *[0] * 12, "x")
    for _ in range(5):
        answered(made, None, 0)
    one(client, made, key)

    with django_assert_max_num_queries(22):
        one(client, made, key)


def test_admins_are_led_to_the_member(client):
    made = scenario.project(TEXT)
    ann = scenario.member("Ann")
    key = answered(made, None, "x")
    Conversation.objects.filter(pk=key).update(user=ann.user)
    page = reverse("admin:communities_member_change", args=[ann.pk])
    creator = client_as("author", made)

    assert f'href="{page}"' in one(client, made, key)
    assert f'href="{page}"' not in one(creator, made, key)
    assert signed_in(ann.user).get(tab(made.pk, "response", key)).status_code == 302


def test_a_condition_selects_responses_and_written_answers(client):
    """Rule 6.265."""
    made = scenario.project({**CHOICE, "name": "colour"}, {**TEXT, "name": "why"})
    keys = [answered(made, f"p{n}", colour, f"because {n}") for n, colour in enumerate((0, 1, 0))]
    query = "?where=colour+%3D+%22red%22"
    [why] = made.blocks.filter(name="why").values_list("pk", flat=True)

    shown = client_look(client, tab(made.pk, "responses") + query)
    written = client_look(
        client, reverse("admin:surveys_project_results_answers", args=[made.pk, why]) + query
    )
    first = client_look(client, tab(made.pk, "response", keys[0]) + query)

    assert row_titles(shown) == ["p2", "p0"]
    assert "because 2" in written
    assert "because 1" not in written
    assert f"{keys[2]}/{query}" in first
    assert f"{keys[1]}/" not in first
    for each in (shown, written):
        assert f'href="{tab(made.pk, "results")}{query}"' in each


def test_a_condition_with_a_fault_selects_nothing_and_says_why(client):
    """Rule 6.265."""
    made = scenario.project({**CHOICE, "name": "colour"})
    answered(made, "p", 0)

    for name in ("responses", "results"):
        shown = client.get(tab(made.pk, name) + "?where=color+%3D+1").content.decode()
        assert "There is no block or variable named color" in shown or "color" in shown
        assert 'aria-describedby="where-error"' in shown
    assert row_titles(client_look(client, tab(made.pk, "responses") + "?where=color+%3D+1")) == ["p"]
