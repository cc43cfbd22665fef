"""Row 12: what each webhook that listens adds to a vote and to the last answer of a survey."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

from django.utils import timezone

from tests.bench import rows
from tests.bench.client import Form, Visitor, form_in
from tests.bench.rows import Bench, Result
from webhooks.models import Webhook
from webhooks.services import webhooks

LISTENERS = (0, 1, 5)
TURNS = 10  # so that what changes with time changes for each number of listeners
SECONDS_TO_WAKE = 0.3  # within which the wakes of a turn have gone to the broker
Jobs = Sequence[Callable[[], object]]


def listening(bench: Bench) -> list[Result]:
    """No worker runs, so this is the cost of writing events and of waking one."""
    made = [_register(bench) for _ in range(max(LISTENERS))]
    try:
        return [
            *_results("vote", _costs(bench, made, partial(_votes, bench), bench.repetitions)),
            *_results(
                "last answer", _costs(bench, made, partial(_last_answers, bench), bench.repetitions // 4)
            ),
        ]
    finally:
        _listen(made, 0)


def _results(what: str, costs: dict[int, float]) -> list[Result]:
    note = f"{costs[0]:.2f} with none, {costs[1]:.2f} with one, {costs[5]:.2f} with five"
    return [
        Result(
            "12", f"webhook row with a {what}, one listens", costs[1] - costs[0], None, 0.5, 0.2, note=note
        ),
        Result("12", f"webhook row with a {what}, each of five", (costs[5] - costs[0]) / 5, None, 0.5, 0.2),
    ]


def _costs(
    bench: Bench, made: Sequence[Webhook], prepare: Callable[[int], Jobs], count: int
) -> dict[int, float]:
    """CPU milliseconds of one job by the number of webhooks that listen."""
    in_a_turn = max(10, count // TURNS)
    spent = dict.fromkeys(LISTENERS, 0.0)
    for turn in range(TURNS + 1):
        for listeners in LISTENERS:
            _listen(made, 0)
            jobs = prepare(in_a_turn)
            _listen(made, listeners)
            before = bench.colloquy.cpu_ms()
            for job in jobs:
                job()
            time.sleep(SECONDS_TO_WAKE)
            used = bench.colloquy.cpu_ms() - before
            if turn:  # the first warms up
                spent[listeners] += used / in_a_turn / TURNS
    return spent


def _votes(bench: Bench, count: int) -> Jobs:
    path, client = f"/s/{bench.world.poll.slug}", bench.colloquy.client()
    forms: list[tuple[Visitor, Form]] = []
    for _ in range(count):
        visitor = Visitor(client)
        forms.append((visitor, form_in(visitor.get(path).body, at=path)))
    return [partial(visitor.post, form, answer=n) for n, (visitor, form) in enumerate(forms)]


def _last_answers(bench: Bench, count: int) -> Jobs:
    client, (*first, last) = bench.colloquy.client(), bench.world.question_ids
    talks = [rows.begin_talk(bench, client) for _ in range(count)]
    for talk in talks:
        for block in first:
            rows.answer_block(bench, client, talk, block)
    return [partial(rows.answer_block, bench, client, talk, last) for talk in talks]


def _register(bench: Bench) -> Webhook:
    webhook, _ = webhooks.register(
        actor=None,
        community_id=bench.world.community_id,
        url="https://hooks.example.org/",
        events=["*"],
        name="Measured",
        is_active=False,
        at=timezone.now(),
    )
    return webhook


def _listen(made: Sequence[Webhook], count: int) -> None:
    """Let exactly this number of webhooks listen."""
    for number, webhook in enumerate(made):
        Webhook.objects.filter(pk=webhook.pk).update(is_active=number < count)
