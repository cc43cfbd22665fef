"""The rows of the table: the requests to the site, their number, and their cost."""

import statistics
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import orjson

from surveys.models import Conversation, Project
from tests.bench.client import Client, Form, Reply, Visitor, form_in
from tests.bench.world import QUESTIONS, World, questions


@dataclass(frozen=True)
class Result:
    """One line of the table. `value` and `beside` in `unit`; more is worse unless `more_is_better`."""

    row: str
    what: str
    value: float
    beside: float | None = None
    goal: float | None = None
    stretch: float | None = None
    unit: str = "ms"
    more_is_better: bool = False
    note: str = ""

    @property
    def verdict(self) -> str:
        if self.goal is None:
            return ""
        reaches = [self._reaches(bound) for bound in (self.stretch, self.goal)]
        return "stretch" if reaches[0] else "goal" if reaches[1] else "missed"

    def _reaches(self, bound: float | None) -> bool:
        if bound is None:
            return False
        return self.value >= bound if self.more_is_better else self.value <= bound


class Served(Protocol):
    """A site with its clients, and the CPU time that it has used."""

    def client(self, *, connections: int = 4) -> Client: ...

    def cpu_ms(self) -> float: ...


@dataclass(frozen=True)
class Bench:
    """Colloquy and the minimal Django beside it, over one database."""

    colloquy: Served
    minimal: Served
    world: World
    repetitions: int

    def api(self, path: str) -> str:
        return f"/v1/communities/{self.world.community_id}{path}"

    def headers(self, **more: str) -> dict[str, str]:
        return {"X-API-Key": self.world.keys.take(), "Content-Type": "application/json", **more}


def cost(site: Served, jobs: Sequence[Callable[[], object]]) -> float:
    """CPU milliseconds of one of these jobs, over all of them."""
    before = site.cpu_ms()
    for job in jobs:
        job()
    return (site.cpu_ms() - before) / len(jobs)


def warmed(site: Served, job: Callable[[], object], times: int) -> float:
    for _ in range(40):
        job()
    return cost(site, [job] * times)


# 1 and 2: a vote


def votes(bench: Bench) -> list[Result]:
    path, client = f"/s/{bench.world.poll.slug}", bench.colloquy.client()
    for _ in range(30):
        _vote(Visitor(client), path)
    visitors = [Visitor(client) for _ in range(bench.repetitions)]
    forms: list[Form] = []
    before = _completed(bench.world.poll)

    def look(visitor: Visitor) -> None:
        forms.append(form_in(visitor.get(path).body, at=path))

    def vote(number: int) -> None:
        visitors[number].post(forms[number], answer=number)

    page = cost(bench.colloquy, [partial(look, visitor) for visitor in visitors])
    voted = cost(bench.colloquy, [partial(vote, number) for number in range(len(visitors))])
    assert _completed(bench.world.poll) - before == len(visitors), "Not every vote was stored."
    plain_page, plain_vote = _plain_votes(bench)
    return [
        Result("1", "poll vote, one request", voted, plain_vote, 4, 2.5),
        Result(
            "2", "poll, page and vote", page + voted, plain_page + plain_vote, 8, 5, note=f"page {page:.2f}"
        ),
    ]


def _plain_votes(bench: Bench) -> tuple[float, float]:
    path, client = f"/polls/{bench.world.poll.pk}", bench.minimal.client()
    option = client.call("GET", path).body.partition(b'value="')[2].partition(b'"')[0]
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    page = warmed(bench.minimal, lambda: client.call("GET", path), bench.repetitions)
    vote = warmed(
        bench.minimal,
        lambda: client.call("POST", path, b"option=" + option, headers=headers),
        bench.repetitions,
    )
    return page, vote


def _vote(visitor: Visitor, path: str) -> None:
    visitor.post(form_in(visitor.get(path).body, at=path))


def _completed(project: Project) -> int:
    return Conversation.objects.filter(project=project, completed_at__isnull=False).count()


# 3 and 4: ten questions


def answers(bench: Bench) -> list[Result]:
    """All conversations advance together, so the cost of each position can be measured."""
    people = max(50, bench.repetitions // QUESTIONS)
    client = bench.colloquy.client()
    for _ in range(10):
        converse(bench, client)
    before = _completed(bench.world.survey)
    talks: list[str] = []
    begin = cost(bench.colloquy, [lambda: talks.append(begin_talk(bench, client))] * people)
    steps = [
        cost(bench.colloquy, [partial(answer_block, bench, client, talk, block) for talk in talks])
        for block in bench.world.question_ids
    ]
    assert _completed(bench.world.survey) - before == people, "Not every conversation was completed."
    plain_begin, plain_steps = _plain_answers(bench, people)
    mean, plain = statistics.fmean(steps), statistics.fmean(plain_steps)
    return [
        Result("3", "answer saved, next block told (interface)", mean, plain, 4, 2.5),
        _growth(steps[0], steps, "answer 9 over answer 1 (interface)"),
        Result(
            "4",
            "ten questions, begun and answered",
            begin + sum(steps),
            plain_begin + sum(plain_steps),
            40,
            25,
        ),
        *_answers_on_pages(bench, people, plain),
    ]


def _growth(first: float, steps: list[float], what: str) -> Result:
    """Two answers between the same kinds of question, so that only what went before differs."""
    note = f"{first:.2f} and {steps[8]:.2f}, the last, which completes, {steps[-1]:.2f}"
    return Result("3", what, steps[8] / first, goal=1.3, stretch=1.1, unit="times", note=note)


def _answers_on_pages(bench: Bench, people: int, plain: float) -> list[Result]:
    path, client = f"/s/{bench.world.survey.slug}", bench.colloquy.client()
    visitors = [Visitor(client) for _ in range(people)]
    forms = {visitor: form_in(visitor.get(path).body, at=path) for visitor in visitors}
    steps = []

    def answer(visitor: Visitor, replies: dict[Visitor, Reply]) -> None:
        replies[visitor] = visitor.post(typed(forms[visitor]))

    for _ in bench.world.question_ids:
        replies: dict[Visitor, Reply] = {}
        steps.append(cost(bench.colloquy, [partial(answer, visitor, replies) for visitor in visitors]))
        for visitor, reply in replies.items():
            if b"<form" in reply.body:
                forms[visitor] = form_in(reply.body, at=path)
    return [
        Result("3", "answer saved, next block drawn (page)", statistics.fmean(steps), plain, 4, 2.5),
        _growth(steps[4], steps, "answer 9 over answer 5 (page; the first also begins)"),
    ]


def typed(form: Form) -> Form:
    """A form with a text where one is asked for."""
    if "value" in form.fields:
        form.fields["value"] = "3"
    return form


def converse(bench: Bench, client: Client) -> None:
    talk = begin_talk(bench, client)
    for block in bench.world.question_ids:
        answer_block(bench, client, talk, block)


def begin_talk(bench: Bench, client: Client) -> str:
    path = bench.api(f"/projects/{bench.world.survey.pk}/conversations")
    return str(client.call("POST", path, b"{}", headers=bench.headers(), expect=201).json()["id"])


def answer_block(bench: Bench, client: Client, talk: str, block: int) -> None:
    body = orjson.dumps(bench.world.reply(block))
    client.call("POST", bench.api(f"/conversations/{talk}/answers"), body, headers=bench.headers())


def _plain_answers(bench: Bench, people: int) -> tuple[float, list[float]]:
    client, talks = bench.minimal.client(), list[str]()
    for _ in range(40):
        _plain_begin(bench, client)
    begin = cost(bench.minimal, [lambda: talks.append(_plain_begin(bench, client))] * people)

    def answer(talk: str, block: int) -> None:
        client.call("POST", f"/conversations/{talk}/answers", orjson.dumps(bench.world.reply(block)))

    steps = [
        cost(bench.minimal, [partial(answer, talk, block) for talk in talks])
        for block in bench.world.question_ids
    ]
    return begin, steps


def _plain_begin(bench: Bench, client: Client) -> str:
    path = f"/projects/{bench.world.survey.pk}/conversations"
    return str(client.call("POST", path, b"{}", expect=201).json()["id"])


# 5: the gate


def gate(bench: Bench) -> list[Result]:
    client, body = bench.colloquy.client(), orjson.dumps({"name": "x"})

    def gated(**more: str) -> object:
        return client.call("POST", "/bench/gated", body, headers=bench.headers(**more))

    bare = warmed(bench.colloquy, lambda: client.call("POST", "/bench/bare", body), bench.repetitions)
    without = warmed(bench.colloquy, gated, bench.repetitions)
    with_once = warmed(
        bench.colloquy, lambda: gated(**{"Idempotency-Key": str(uuid.uuid4())}), bench.repetitions
    )
    note = f"key and rate limit {without - bare:.2f}, idempotency {with_once - without:.2f}"
    return [Result("5", "key, rate limit and idempotency", with_once - bare, None, 1.0, 0.6, note=note)]


# 6 and 7: scripts


def creation(bench: Bench) -> list[Result]:
    times = max(50, bench.repetitions // 5)
    body = orjson.dumps({"name": "Measured", "type": "convo", "script": {"blocks": questions(20)}})
    client, plain = bench.colloquy.client(), bench.minimal.client()
    path, plain_path = bench.api("/projects"), f"/communities/{bench.world.community_id}/projects"
    value = warmed(
        bench.colloquy, lambda: client.call("POST", path, body, headers=bench.headers(), expect=201), times
    )
    beside = warmed(bench.minimal, lambda: plain.call("POST", plain_path, body, expect=201), times)
    return [Result("6", "create a project with 20 blocks", value, beside, 15, 8)]


def reading(bench: Bench) -> list[Result]:
    client, plain, project = bench.colloquy.client(), bench.minimal.client(), bench.world.script
    path = bench.api(f"/projects/{project.pk}/script")
    value = warmed(
        bench.colloquy, lambda: client.call("GET", path, headers=bench.headers()), bench.repetitions
    )
    beside = warmed(
        bench.minimal, lambda: plain.call("GET", f"/projects/{project.pk}/script"), bench.repetitions
    )
    return [Result("7", "read a script of 20 blocks", value, beside, 4, 2)]


# 8: the listing


def listing(bench: Bench, filled: Iterable[tuple[int, Project]]) -> list[Result]:
    results: list[Result] = []
    first: float | None = None
    for size, project in filled:
        for name, after in (("first page", None), ("in the middle", size // 2), ("last page", size - 101)):
            value, beside = _page(bench, project, after)
            first = value if first is None else first
            what = f"100 of {size:,} responses, {name}"
            note = f"{value / first:.2f} times the first"
            results.append(Result("8", what, value, beside, 10, 6, note=note))
        results += _filtered(bench, project, size)
    return results


def _filtered(bench: Bench, project: Project, size: int) -> Iterable[Result]:
    """First pages with a filter, compared with the first page of all."""
    last = Conversation.objects.get(project=project, seed=size - 99).updated_at  # the last hundred
    everything = _filtered_page(bench, project, "")
    for name, query in (
        ("the last hundred changed", f"&updated_after={last:%Y-%m-%dT%H:%M:%SZ}"),
        ("all changed since", "&updated_after=2020-01-01T00:00:00Z"),
        ("all of one provider", "&provider=web"),
    ):
        value = _filtered_page(bench, project, query)
        what, note = f"100 of {size:,} responses, {name}, over unfiltered", f"{value:.2f} ms"
        yield Result("8", what, value / everything, goal=2, stretch=1.2, unit="times", note=note)


def _filtered_page(bench: Bench, project: Project, query: str) -> float:
    client, times = bench.colloquy.client(), max(50, bench.repetitions // 5)
    path = bench.api(f"/projects/{project.pk}/responses?per_page=100{query}")
    told = client.call("GET", path, headers=bench.headers()).json()["data"]
    assert isinstance(told, list)
    assert len(told) == 100, "The filter does not match what was loaded."
    return warmed(bench.colloquy, lambda: client.call("GET", path, headers=bench.headers()), times)


def _page(bench: Bench, project: Project, after: int | None) -> tuple[float, float]:
    client, plain, times = bench.colloquy.client(), bench.minimal.client(), max(50, bench.repetitions // 5)
    query = ""
    if after is not None:
        position = Conversation.objects.filter(project=project).order_by("seed").values_list("pk", flat=True)
        query = f"&after={position.get(seed=after)}"
    path = bench.api(f"/projects/{project.pk}/responses?per_page=100{query}")
    plain_path = f"/projects/{project.pk}/responses?per_page=100{query}"
    told = client.call("GET", path, headers=bench.headers()).json()["data"]
    assert isinstance(told, list)
    assert (len(told), len(told[0]["answers"])) == (100, QUESTIONS), "The listing is not what was loaded."
    value = warmed(bench.colloquy, lambda: client.call("GET", path, headers=bench.headers()), times)
    return value, warmed(bench.minimal, lambda: plain.call("GET", plain_path), times)


# 17 and 18: members


def members(bench: Bench, count: int) -> list[Result]:
    """A first page, each with its total; `count` members are there."""
    client, plain, times = bench.colloquy.client(), bench.minimal.client(), max(50, bench.repetitions // 5)
    results = []
    for row, what, path, plain_path, goal in (
        ("17", "leaderboard", "/leaderboard", "/leaderboard", 50),
        ("18", "members by name", "/members?sort=name", "/members", None),
    ):
        address = bench.api(path)
        told = client.call("GET", address, headers=bench.headers()).json()["data"]
        assert isinstance(told, list)
        assert (len(told), len(told[0]["achievements"])) == (25, 1), (
            "These are not the members that were loaded."
        )
        value = warmed(bench.colloquy, partial(_read, bench, client, address), times)
        beside = warmed(
            bench.minimal,
            partial(plain.call, "GET", f"/communities/{bench.world.community_id}{plain_path}"),
            times,
        )
        results.append(Result(row, f"{what}, first page, {count:,} members", value, beside, goal))
    return results


def _read(bench: Bench, client: Client, address: str) -> None:
    client.call("GET", address, headers=bench.headers())


ROWS: dict[str, Callable[[Bench], list[Any]]] = {
    "1": votes,
    "2": votes,
    "3": answers,
    "4": answers,
    "5": gate,
    "6": creation,
    "7": reading,
}
