"""Figures of anonymous projects change in steps of five responses for all but creators and admins.

Rule 7.12.
"""

import threading
from collections import Counter
from datetime import timedelta
from decimal import Decimal
from itertools import count, product
from types import SimpleNamespace

import orjson
import pytest
from cachetools import LRUCache
from django.db import connection
from django.db.models import F

from surveys.engine.script import Block as EngineBlock
from surveys.engine.script import Option, Script
from surveys.engine.statistics import AnswerGroup
from surveys.models import Analysis, Block, Conversation, ShownFigures, Tally
from surveys.services.conversations import moves, removal
from surveys.services.counting import counts as counting
from surveys.services.ground import anonymity
from surveys.services.results import cache, figures, steps
from surveys.services.results import poll as poll_results
from surveys.services.results import shared as shared_results
from surveys.services.scripts import cache as script_cache
from tests.support.caller import Caller
from tests.support.moments import LUNCHTIME
from tests.support.surveys import scenario
from tests.support.surveys.results import OPEN_WEB, converse, counts, results
from tests.support.surveys.scenario import CHOICE, TEXT

pytestmark = pytest.mark.django_db


MOMENTS = (LUNCHTIME + timedelta(minutes=n) for n in count())


@pytest.fixture(autouse=True)
def _fresh(monkeypatch):
    forget(monkeypatch)


def forget(monkeypatch):
    """Forget everything in memory, like a new process or another process."""
    monkeypatch.setattr(cache, "_cached", LRUCache(cache.MAX_BYTES, getsizeof=cache._size))


def made_of(*blocks, **fields):
    return scenario.project(*(blocks or (CHOICE,)), privacy_mode="anonymous", share_results=True, **fields)


def vote(made, times=1, *said):
    for _ in range(times):
        scenario.say(scenario.begin(made), *(said or (1,)))


def look(made):
    return shared_results.read(project=made, at=next(MOMENTS))


def seen(made):
    """The figures that everybody sees: the number of responses, and the count of each option."""
    shown = look(made)
    return shown.conversation_count, [
        None if block["distribution"] is None else counts(block) for block in shown.blocks
    ]


def test_looks_by_anybody_tell_five_more_or_nothing_new(monkeypatch):
    made = made_of()
    looks = {}
    for number in range(1, 12):
        vote(made, 1, number % 2)
        looks[number] = seen(made)
        forget(monkeypatch)  # the next look is another process's

    assert {number: shown[0] for number, shown in looks.items()} == {
        **dict.fromkeys(range(1, 5), 0),
        **dict.fromkeys(range(5, 10), 5),
        10: 10,
        11: 10,
    }
    assert looks[4][1] == [None]
    assert looks[5][1] == looks[6][1] == looks[9][1] == [{"red": 2, "green": 3}]
    assert looks[10][1] == [{"red": 5, "green": 5}]


def test_members_see_steps_and_creators_and_admins_exact_figures():
    admin = Caller("admin")
    script = {
        "blocks": [
            {"type": "single_punch", "prompt": "Pay?", "options": [{"value": "red"}, {"value": "green"}]}
        ]
    }
    fields = {
        "name": "Pay",
        "type": "convo",
        "privacy_mode": "anonymous",
        "settings": {"share_results": True},
    }
    made = admin.post("/projects", {**fields, "script": script}).json()
    opened = admin.post(f"/projects/{made['id']}/open", {"delivery": OPEN_WEB})
    assert opened.status_code == 200, opened.content
    member = admin.beside("member")
    told = []
    for _ in range(10):
        converse(admin, made, ["red"])
        exact = results(admin, made)
        told.append((results(member, made)["conversation_count"], exact["conversation_count"]))

        shown, counted = (
            caller.get(f"/projects/{made['id']}").json()["info"]["completion_count"]
            for caller in (member, admin)
        )
        assert (shown, counted) == told[-1]

    listed = member.get("/projects").json()["data"][0]["info"]
    assert (listed["completion_count"], listed["response_count"]) == (10, 10)
    assert [shown for shown, _ in told] == [0] * 4 + [5] * 5 + [10]
    assert [exact for _, exact in told] == list(range(1, 11))
    assert member.get(f"/projects/{made['id']}/analysis/results?status=completed").status_code == 403


def test_each_question_takes_steps_of_its_own():
    made = made_of(CHOICE, {**CHOICE, "required": False})
    vote(made, 5, 0, 0)
    assert seen(made) == (5, [{"red": 5}, {"red": 5}])

    vote(made, 5, 1, None)
    scenario.say(scenario.begin(made), 1, 1)  # the sixth who answers the second question

    assert seen(made) == (11, [{"red": 5, "green": 6}, {"red": 5}])


def test_what_is_deleted_or_closed_is_a_step_only_with_five():
    made = made_of()
    vote(made, 12)
    assert seen(made)[0] == 12
    for left, shown in [(11, 12), (10, 12), (9, 12), (8, 12), (7, 7), (6, 7)]:
        removal.remove(conversation=Conversation.objects.filter(project=made)[0], at=LUNCHTIME)
        assert seen(made) == (shown, [{"green": shown}]), left

    made.status = "inactive"
    made.save(update_fields=["status"])

    assert seen(made) == (7, [{"green": 7}])


def test_what_was_shown_before_the_last_step_counts_too():
    made = made_of()
    vote(made, 7)
    assert seen(made) == (7, [{"green": 7}])
    vote(made, 5)
    assert seen(made) == (12, [{"green": 12}])

    def delete(most):
        for conversation in Conversation.objects.filter(project=made)[:most]:
            removal.remove(conversation=conversation, at=LUNCHTIME)

    delete(6)
    vote(made, 1, 0)  # in place of one of the first seven
    assert seen(made)[1] == [{"green": 12}]
    removal.remove(conversation=Conversation.objects.get(answers__option__value="red"), at=LUNCHTIME)
    vote(made, 1)
    assert seen(made)[1] == [{"green": 7}]  # as before, which tells nothing
    delete(5)
    assert seen(made)[1] == [None]


def test_votes_that_are_changed_are_shown_with_the_next_step():
    """Rule 7.12."""
    made = made_of(type="poll", change_poll=True)
    talks = []
    for _ in range(6):
        talks.append(scenario.say(scenario.begin(made), 0).conversation.pk)
    assert seen(made) == (6, [{"red": 6}])
    shown = []
    for talk in talks:
        again = moves.back(conversation_id=talk, at=LUNCHTIME)
        scenario.say(again, 1)
        shown.append(seen(made)[1])

    vote(made, 5)

    assert shown == [[{"red": 6}]] * 6
    assert seen(made) == (11, [{"green": 11}])


def test_voters_see_the_same_steps():
    made = made_of(type="poll", poll_results_mode="public")
    block = scenario.script(made).blocks[0]
    voters = []
    for number in range(11):
        voters.append(poll_results.count(project=made, block=block, at=next(MOMENTS)).voters)
        vote(made, 1, number % 2)

    assert voters == [0] * 5 + [5] * 5 + [10]


def test_sentiments_and_analyses_take_steps_too(monkeypatch):
    made = made_of(TEXT)
    vote(made, 6, "words")
    question = scenario.script(made).blocks[0]
    admin = Caller("admin", community=made.community)
    member = admin.beside("member")

    def analysed(texts):
        Analysis.objects.filter(project=made).delete()  # only the newest one is kept
        themes = [{"title": "Pace", "description": "d", "count": texts, "percentage": 100.0, "quotes": ["q"]}]
        mood = {"positive": texts, "neutral": 0, "negative": 0}
        text = {"answer_count": texts, "summary": "s", "themes": themes, "sentiment": mood, "other_count": 0}
        block = {
            **next(each for each in figures.count(project=made).blocks),
            "block_id": question.id, "response_count": texts, "open_text": text,
        }  # fmt: skip
        Analysis.objects.create(
            project=made, revision=made.revision, changes=0, created_at=LUNCHTIME, completed_at=LUNCHTIME,
            status="completed", completion_count=texts, response_count=texts,
            blocks_as_json=orjson.dumps([block]).decode(),
        )  # fmt: skip
        forget(monkeypatch)
        shared = look(made).blocks[0]["open_text"]["sentiment"]["positive"]
        told = member.get(f"/projects/{made.pk}/analysis").json()
        exact = admin.get(f"/projects/{made.pk}/analysis").json()
        assert exact["completion_count"] == exact["blocks"][0]["response_count"] == texts
        (block,) = told["blocks"]
        assert block["open_text"]["themes"][0]["quotes"] == []
        assert (told["completion_count"], told["response_count"], block["response_count"]) == (6, 6, 6)
        return {shared, block["open_text"]["sentiment"]["positive"], block["open_text"]["answer_count"]}

    assert [analysed(texts) for texts in (6, 7, 10, 11)] == [{6}, {6}, {6}, {11}]
    Analysis.objects.update(status="running", completion_count=12, response_count=12)
    running = member.get(f"/projects/{made.pk}/analysis").json()
    assert (running["completion_count"], running["response_count"], running["blocks"]) == (6, 0, [])


def test_counts_of_responses_and_texts_take_steps_from_the_states_before_too(monkeypatch):
    """20 answers, then 26, then 21: the first and the last state would differ by one person."""
    made = made_of(TEXT)
    vote(made, 20, "words")
    block_id = scenario.script(made).blocks[0].id
    analyses = count(1)

    def told(texts, positive):
        mood = {"positive": positive, "neutral": texts - positive, "negative": 0}
        open_text = {"answer_count": texts, "summary": "s", "themes": [], "sentiment": mood}
        block = {"block_id": block_id, "response_count": texts, "open_text": open_text}
        shown = steps.texts(project=made, analysis_id=next(analyses), blocks=[block])[block_id]
        forget(monkeypatch)
        return shown["answer_count"], shown["sentiment"]["positive"], look(made).conversation_count

    def delete(most):
        for conversation in Conversation.objects.filter(project=made)[:most]:
            removal.remove(conversation=conversation, at=LUNCHTIME)

    assert told(20, 0) == (20, 0, 20)
    vote(made, 6, "words")
    assert told(26, 1) == (26, 1, 26)
    delete(5)
    assert told(21, 1) == (26, 1, 26)
    delete(1)
    assert told(20, 1) == (26, 1, 20)  # as many texts as before, but not the same
    assert told(20, 0) == (20, 0, 20)
    delete(5)
    assert told(15, 0) == (15, 0, 15)


def test_the_database_does_not_tell_the_answers_since_the_last_step():
    made = made_of()
    vote(made, 6)
    look(made)

    (row,) = ShownFigures.objects.all()

    plain = anonymity.unseal_figures(project_id=made.pk, sealed=bytes(row.sealed))
    assert plain is not None
    assert b"listed" in plain
    assert b"listed" not in bytes(row.sealed)
    assert anonymity.unseal_figures(project_id=made.pk + 1, sealed=bytes(row.sealed)) is None


def test_a_count_from_before_the_step_never_takes_it_back():
    made = made_of()
    vote(made, 5)
    stored = script_cache.of(made).stored
    early = counting.count_answers(made.pk, stored, figures.reported_blocks(stored), figures.ALL, None)
    vote(made, 6)
    assert seen(made)[0] == 11

    counted, _ = steps.counts(
        project=made, now=early, script=stored.script, types={}, at=LUNCHTIME + timedelta(hours=1)
    )

    assert counted.listed == 11


@pytest.mark.django_db(transaction=True)
def test_processes_that_look_at_once_store_one_state(monkeypatch):
    made = made_of()
    vote(made, 5)
    both, told = threading.Barrier(2), []
    advance = steps._with_counts

    def together(shown, *counted):
        if not both.broken and both.n_waiting < 2 and threading.current_thread() in first:
            first.discard(threading.current_thread())
            both.wait(5)  # both have read that nothing is shown yet
        return advance(shown, *counted)

    def process():
        try:
            told.append(figures.shown(project=made, at=LUNCHTIME).figures.conversation_count)
        finally:
            connection.close()

    monkeypatch.setattr(steps, "_with_counts", together)
    threads = [threading.Thread(target=process) for _ in range(2)]
    first = set(threads)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert told == [5, 5]
    assert ShownFigures.objects.count() == 1


def test_an_analysis_and_the_shared_page_do_not_tell_one_answer_together():
    made = made_of()
    vote(made, 5, 0)
    admin = Caller("admin", community=made.community)
    member = admin.beside("member")
    assert seen(made) == (5, [{"red": 5}])
    vote(made, 1, 1)
    Analysis.objects.create(
        project=made, revision=made.revision, changes=6, created_at=LUNCHTIME, completed_at=LUNCHTIME,
        status="completed", completion_count=6, response_count=6,
        blocks_as_json=orjson.dumps(figures.count(project=made).blocks).decode(),
    )  # fmt: skip

    told, exact = (each.get(f"/projects/{made.pk}/analysis").json() for each in (member, admin))

    assert (told["completion_count"], told["response_count"]) == (5, 5)
    assert (told["blocks"][0]["response_count"], counts(told["blocks"][0])) == (5, {"red": 5})
    assert told["blocks"][0]["drop_off"] is None
    assert (exact["completion_count"], counts(exact["blocks"][0])) == (6, {"red": 5, "green": 1})


def test_an_analysis_of_few_texts_stays_hidden_when_more_have_come():
    made = made_of(TEXT)
    block = figures.count(project=made).blocks[0]
    text = {"answer_count": 4, "summary": "s", "themes": [], "sentiment": {"positive": 4}, "other_count": 4}
    read = orjson.dumps([{**block, "response_count": 4, "open_text": text}]).decode()
    vote(made, 6, "words")
    Analysis.objects.create(
        project=made, revision=made.revision, changes=0, created_at=LUNCHTIME, completed_at=LUNCHTIME,
        status="completed", completion_count=4, response_count=4, blocks_as_json=read,
    )  # fmt: skip

    told = Caller("member", community=made.community).get(f"/projects/{made.pk}/analysis").json()["blocks"][0]

    assert (told["response_count"], told["open_text"]) == (6, None)
    assert look(made).blocks[0]["open_text"]["sentiment"] is None


@pytest.mark.parametrize(("said", "kinds"), [("3", ("open_numeric", "rating")), ([1, 0], ("multi_punch",))])
def test_a_question_of_another_type_is_no_step(said, kinds):
    asked = {"type": "ranking", "options": ["red", "green"]} if said == [1, 0] else {"type": "rating"}
    made = made_of(asked)
    vote(made, 5, said)
    assert look(made).conversation_count == 5
    vote(made, 1, said)
    for kind in kinds:
        Block.objects.filter(pk=scenario.script(made).blocks[0].id).update(type=kind)
        made.revision += 1
        made.save(update_fields=["revision"])
        Tally.objects.filter(project=made).update(changes=F("changes") + 1)
        block = look(made).blocks[0]
        assert (block["block_type"], block["response_count"]) == (kind, 5)
    vote(made, 4, said[::-1])
    assert look(made).blocks[0]["response_count"] == 10


# --- The moments of steps ---------------------------------------------------------------------------------

SCRIPT = Script(
    (
        EngineBlock("single_punch", id=1, name="q0", options=(Option("red", 1), Option("green", 2))),
        EngineBlock("single_punch", id=2, name="q1", options=(Option("blue", 3),), precondition='Q0 = "red"'),
    )
)
TYPES = {1: "single_punch", 2: "single_punch"}
# One response each: it answers both questions, the first alone, or none.
BOTH, FIRST, NONE = (1, 3), (2,), ()


def looked_at(said):
    """What the page shows after each of these responses: the people at each option, and the totals."""
    shown, seen = steps._Shown(), []
    for number in range(1, len(said) + 1):
        people = Counter(option for each in said[:number] for option in each)
        groups = {1: [(n, people[n]) for n in (1, 2) if people[n]], 2: [(3, people[3])] if people[3] else []}
        now = counting.AnswerCounts(
            changes=number,
            listed=number,
            completed=number,
            unlisted=0,
            unfinished={},
            groups={
                block_id: [AnswerGroup(n, None, count, count, 0, Decimal(0), None, None) for n, count in rows]
                for block_id, rows in groups.items()
            },
            of_segments={},
            derived=None,
            values={},
            sent={},
            themes={},
        )
        shown = steps._with_counts(shown, now, SCRIPT, TYPES, LUNCHTIME)
        options = {group[0]: group[3] for rows in shown.groups.values() for group in rows}
        seen.append((options.get(1, 0), options.get(2, 0), options.get(3, 0), shown.answered, shown.listed))
    return tuple(seen)


@pytest.mark.long
def test_no_order_of_answers_tells_one_of_them():
    """Whoever looks after each response, and knows who gave it, sees the same if two people of one step
    exchange their answers.

    Rule 7.12.
    """
    looks = {said: looked_at(said) for said in product((BOTH, FIRST), repeat=12)}

    for said, seen in looks.items():
        for n in set(range(11)) - {4, 9}:
            assert looks[*said[:n], said[n + 1], said[n], *said[n + 2 :]] == seen
    assert looks[(BOTH,) * 4 + (FIRST,) * 8][-1] == (4, 6, 0, 10, 10)


def test_figures_on_one_page_agree():
    """Rule 7.12."""
    for more in product((BOTH, FIRST, NONE), repeat=6):
        for red, green, blue, answered, listed in looked_at([*[BOTH] * 4, *[FIRST] * 5, *more]):
            assert blue <= red <= red + green <= listed
            assert answered == red + green + blue
    waiting = [*[BOTH] * 4, *[FIRST] * 6, BOTH, *[NONE] * 4, *[BOTH] * 5]
    assert [looked_at(waiting)[n - 1][:3] for n in (10, 15, 20)] == [(4, 6, 0), (4, 6, 0), (10, 6, 10)]


def test_a_list_counts_for_some_seconds_and_shows_earlier_totals_of_the_rest(monkeypatch):
    """Rule 7.12."""
    boss = Caller()
    for _ in range(3):
        vote(made_of(community=boss.community), times=5)
    member = boss.beside("member")
    clock = iter(range(0, 1000, 2))
    monkeypatch.setattr(steps, "time", SimpleNamespace(monotonic=lambda: next(clock)))

    def listed():
        return sorted(each["info"]["response_count"] for each in member.get("/projects").json()["data"])

    assert [listed(), listed(), listed()] == [[0, 5, 5], [5, 5, 5], [5, 5, 5]]
