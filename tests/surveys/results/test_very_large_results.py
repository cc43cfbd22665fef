"""Parts of very many responses are counted by a worker, with progress."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from communities.ground.errors import InvalidRequest, Unavailable
from surveys.models import Project, ResultsCount
from surveys.services.conversations import service as conversations
from surveys.services.conversations.admission import Respondent
from surveys.services.counting import counts as counting
from surveys.services.counting import sent_fields
from surveys.services.ground import jobs
from surveys.services.results import figures, very_large
from surveys.services.results.figures import ALL, Figures, Selection
from tests.support.caller import Caller
from tests.support.moments import LUNCHTIME
from tests.support.surveys import scenario
from tests.support.surveys.project_tabs import look, superuser, tab
from tests.support.surveys.results import OPEN_WEB, converse, results
from tests.support.surveys.scenario import CHOICE

WEB = Selection(provider="web")
ASKED = {"type": "single_punch", "prompt": "?", "options": [{"value": "red"}, {"value": "green"}]}


@pytest.fixture(autouse=True)
def three_are_very_many(monkeypatch):
    monkeypatch.setattr(very_large, "VERY_LARGE", 3)


def made_of(votes):
    made = scenario.project(CHOICE)
    vote(made, votes)
    return made


def vote(made, times=1):
    for _ in range(times):
        scenario.say(scenario.begin(made), 0)


def ask(made, *, selection=WEB, segment_by=None, after=timedelta(0)):
    return very_large.count(
        project=made, selection=selection, segment_by=segment_by, derives=True, at=timezone.now() + after
    )


def sent(made, *values):
    """A response for each value of the field `customer`, in this order."""
    for value in values:
        respondent = Respondent(metadata={"customer": value})
        scenario.say(conversations.begin(project_id=made.pk, respondent=respondent, at=LUNCHTIME), 0)


def violations(refused):
    return [(each["field"], each["code"]) for each in refused.value.violations]


def finish():
    for job in ResultsCount.objects.filter(ResultsCount.UNFINISHED):
        very_large.run(count_id=job.pk)


@pytest.mark.django_db(transaction=True)
def test_progress_is_told_until_the_figures_are_there(monkeypatch):
    admin = Caller("admin")
    made = admin.make_open(ASKED, delivery=OPEN_WEB)
    for option in ("red", "red", "green", "green"):
        converse(admin, made, [option])
    block = made["script"]["blocks"][0]["id"]
    path = f"/projects/{made['id']}/analysis/results?provider=web&segment_by={block}"
    begun = admin.get(path)
    monkeypatch.setattr(very_large, "SECONDS_BETWEEN_NOTES", 0.0)
    monkeypatch.setattr(counting, "CONVERSATIONS_AT_ONCE", 1)
    looks, packed = [], counting.packed_batches

    def looked_at(where, values, *field):
        for batch in packed(where, values, *field):
            with ThreadPoolExecutor(1) as another:
                looks.append(another.submit(look_elsewhere).result())
            yield batch

    def look_elsewhere():
        try:
            return admin.get(path)
        finally:
            connection.close()

    monkeypatch.setattr(counting, "packed_batches", looked_at)
    finish()
    told = results(admin, made, path.partition("results")[2])

    assert (begun.status_code, begun["Retry-After"]) == (202, "5")
    assert begun["Location"].endswith(path)
    assert begun.json() == {"project_id": made["id"], "status": "pending", "progress": 0.0}
    assert {each.status_code for each in looks} == {202}
    assert [each.json()["progress"] for each in looks] == [0.0, 0.25, 0.5, 0.75]
    assert told["conversation_count"] == 4
    assert [each["count"] for each in told["segment_by"]["segments"]] == [2, 2]
    project = Project.objects.get(pk=made["id"])
    exact = figures.count(project=project, selection=WEB, segment_by=block)
    assert (told["blocks"], told["segment_by"]) == (exact.blocks, exact.segment_by)
    assert ResultsCount.objects.count() == 1


@pytest.mark.django_db
def test_a_worker_counts_a_cross_table():
    """Rule 6.325."""
    admin = Caller("admin")
    made = admin.make_open(ASKED, ASKED, delivery=OPEN_WEB)
    for pair in (["red", "red"], ["red", "green"], ["green", "green"]):
        converse(admin, made, pair)
    first, second = (block["id"] for block in made["script"]["blocks"])
    path = f"/projects/{made['id']}/analysis/cross?rows={first}&columns={second}&where=q1%20!=%20%22blue%22"
    refused = admin.get(path.replace(f"columns={second}", f"columns={first}"))
    begun = admin.get(path)

    finish()
    told = admin.get(path)

    assert (refused.status_code, begun.status_code, told.status_code) == (400, 202, 200)
    assert begun["Location"].endswith(path)
    assert [[cell["count"] for cell in row] for row in told.json()["cells"]] == [[1, 1], [0, 1]]
    assert ResultsCount.objects.count() == 1


@pytest.mark.django_db
def test_the_whole_and_few_are_counted_at_once_and_what_cannot_be_counted_is_refused_at_once():
    admin = Caller("admin")
    made = admin.make_open(ASKED, delivery=OPEN_WEB)
    path = f"/projects/{made['id']}/analysis/results"
    converse(admin, made, ["red"])
    assert results(admin, made, "?provider=web")["conversation_count"] == 1
    for _ in range(2):
        converse(admin, made, ["red"])

    assert results(admin, made)["conversation_count"] == 3
    assert admin.get(f"{path}?segment_by=999999").status_code == 400
    assert not ResultsCount.objects.exists()


@pytest.mark.django_db
def test_finished_figures_are_shown_for_a_while_and_then_counted_anew():
    made = made_of(3)
    first = ask(made)
    finish()
    vote(made)

    shown = ask(made, after=timedelta(minutes=9))
    again = ask(made, after=timedelta(minutes=11))

    assert isinstance(first, ResultsCount)
    assert isinstance(shown, Figures)
    assert shown.conversation_count == 3
    assert isinstance(again, ResultsCount)
    finish()
    newest = ask(made)
    assert isinstance(newest, Figures)
    assert newest.conversation_count == 4
    assert isinstance(ask(made, after=timedelta(hours=5)), Figures)  # nothing has changed since
    assert ResultsCount.objects.count() == 1
    very_large.take_up(at=timezone.now() + timedelta(hours=2))
    assert not ResultsCount.objects.exists()


@pytest.mark.django_db
def test_what_is_stored_does_not_tell_the_answers_of_the_last_minutes():
    made = made_of(3)
    ask(made)
    finish()

    sealed = bytes(ResultsCount.objects.get().sealed or b"")

    assert sealed
    assert b"green" not in sealed


@pytest.mark.django_db
def test_of_many_parts_two_are_counted_at_one_time():
    made, other = made_of(3), made_of(3)
    parts = [Selection(provider=provider) for provider in ("web", "chat", "video")]
    begun = [ask(made, selection=part) for part in parts[:2]]

    with pytest.raises(Unavailable) as busy:
        ask(made, selection=parts[2])

    assert busy.value.retry_after == very_large.SECONDS_TO_RETRY
    assert [ask(made, selection=part) for part in parts[:2]] == begun
    assert isinstance(ask(other), ResultsCount)
    finish()
    assert isinstance(ask(made, selection=parts[2]), ResultsCount)


@pytest.mark.django_db
def test_a_count_that_fails_is_told_and_can_be_asked_for_again(monkeypatch):
    made = made_of(3)
    ask(made)
    with monkeypatch.context() as broken:
        broken.setattr(counting, "packed_batches", lambda *_: 1 / 0)
        finish()

    with pytest.raises(Unavailable):
        ask(made)

    assert isinstance(ask(made, after=timedelta(seconds=11)), ResultsCount)
    finish()
    assert isinstance(ask(made), Figures)


@pytest.mark.django_db
def test_too_many_values_of_the_latest_responses_are_refused_without_a_worker(monkeypatch):
    monkeypatch.setattr(figures, "MAX_FIELD_SEGMENTS", 3)
    made = scenario.project(CHOICE)
    sent(made, "a", "b", "c")

    with pytest.raises(InvalidRequest) as refused:
        ask(made, segment_by="field.customer")

    assert violations(refused) == [("segment_by", "too_many")]
    assert not ResultsCount.objects.exists()
    monkeypatch.setattr(figures, "MAX_FIELD_SEGMENTS", 4)
    assert isinstance(ask(made, segment_by="field.customer"), ResultsCount)


@pytest.mark.django_db
def test_what_a_worker_refused_is_told_until_it_may_have_changed(monkeypatch):
    monkeypatch.setattr(figures, "MAX_FIELD_SEGMENTS", 3)
    monkeypatch.setattr(sent_fields, "LOOKED_AT", 1)
    made = scenario.project(CHOICE)
    sent(made, "a", "b", "c")
    assert isinstance(ask(made, selection=ALL, segment_by="field.customer"), ResultsCount)
    finish()

    def refused(after):
        with pytest.raises(InvalidRequest) as refusal:
            ask(made, selection=ALL, segment_by="field.customer", after=timedelta(seconds=after))
        return violations(refusal)

    assert refused(0) == refused(3_000) == [("segment_by", "too_many")]
    vote(made)
    assert refused(0) == refused(9) == [("segment_by", "too_many")]
    later = ask(made, selection=ALL, segment_by="field.customer", after=timedelta(seconds=11))
    assert isinstance(later, ResultsCount)
    assert not later.is_finished


@pytest.mark.django_db
def test_a_worker_tells_of_unknown_fields_by_their_parameters_until_they_are_declared():
    made = made_of(3)
    part = Selection(fields=(("campaign", "mail"), ("town", "Rome")))
    assert isinstance(ask(made, selection=part, segment_by="field.plan"), ResultsCount)
    finish()

    with pytest.raises(InvalidRequest) as refused:
        ask(made, selection=part, segment_by="field.plan")

    assert violations(refused) == [
        ("field.campaign", "not_found"), ("field.town", "not_found"), ("segment_by", "not_found"),
    ]  # fmt: skip
    made.hidden_fields = ["campaign", "town", "plan"]
    made.save(update_fields=["hidden_fields"])
    assert isinstance(ask(made, selection=part, segment_by="field.plan"), ResultsCount)
    finish()
    assert isinstance(ask(made, selection=part, segment_by="field.plan"), Figures)


@pytest.mark.django_db
def test_a_count_is_dropped_if_its_fields_are_declared_in_another_way_since():
    made = made_of(3)
    ask(made, selection=ALL, segment_by="field.plan")
    made.hidden_fields = {"plan": ["pro"]}
    made.save(update_fields=["hidden_fields"])

    finish()

    assert not ResultsCount.objects.exists()


@pytest.mark.django_db
def test_many_fields_with_long_values_are_counted():
    fields = {f"name_{n}": "".join(chr(0x4E00 + 700 * n + m) for m in range(500)) for n in range(20)}
    made = scenario.project(CHOICE, hidden_fields=list(fields))
    vote(made, 3)
    part = Selection(fields=tuple(fields.items()))

    begun = ask(made, selection=part)
    again = ask(made, selection=part)
    finish()

    assert begun == again
    assert ask(made, selection=part).conversation_count == 0


@pytest.mark.django_db
def test_a_worker_that_was_overtaken_stores_nothing(monkeypatch):
    made = made_of(3)
    ask(made)
    packed = counting.packed_batches

    def overtaken(where, values, *field):
        ResultsCount.objects.update(attempt=9)
        return packed(where, values, *field)

    monkeypatch.setattr(counting, "packed_batches", overtaken)
    finish()

    job = ResultsCount.objects.get()
    assert (job.status, job.sealed) == ("running", None)
    later = timezone.now() + jobs.LEASE
    ResultsCount.objects.update(deaths=jobs.MOST_DEATHS)
    very_large.take_up(at=later)
    assert ResultsCount.objects.get().status == "failed"


@pytest.mark.django_db
def test_a_count_of_a_script_that_has_changed_since_is_dropped():
    made = made_of(3)
    ask(made)
    made.revision += 1
    made.save(update_fields=["revision"])

    finish()

    assert not ResultsCount.objects.exists()


@pytest.mark.django_db
def test_staff_see_all_responses_and_how_far_the_part_has_come():
    made = made_of(3)
    client = superuser()

    seen = look(client, made, "?provider=web")
    polled = client.get(f"{tab(made.pk, 'results_counting')}?provider=web")
    finish()
    ended = client.get(f"{tab(made.pk, 'results_counting')}?provider=web")

    assert "is being counted: 0% is done" in seen
    assert "is being counted: 0% is done" in polled.content.decode()
    assert (ended.status_code, ended["HX-Refresh"]) == (204, "true")
    assert "being counted" not in look(client, made, "?provider=web")
