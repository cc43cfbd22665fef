"""One run in chat: people answer and vote while programs are killed; then everything is checked."""

from __future__ import annotations

import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from django.db import connection
from django.utils import timezone

from communities.ground.actors import Actor
from communities.models import ChatTask, Community, CommunitySettings
from communities.services.chat import installations
from communities.services.people import members
from surveys.models import Answer, Conversation, Project, PublicMessage
from surveys.services.projects import opening
from surveys.services.projects import service as projects
from tests.support.chat.agent import Agent, InteractionFailed, labels_of, over_http, text_of
from tests.support.chat.server import Platform
from tests.torture.supervisor import Supervisor
from xp.models import RoleGrant, XpEntry

PEOPLE, AT_ONCE = 200, 20
SECONDS_TO_THINK = 1.5
SECONDS_TO_FINISH, SECONDS_BETWEEN_KILLS = 180, 4.0
ATTEMPTS, SECONDS_BETWEEN_ATTEMPTS = 120, 0.5
GAMES, DAYS = ("Blitz", "Rapid", "Classic"), ("Mon", "Tue", "Wed")
SCRIPT: list[dict[str, Any]] = [
    {
        "name": "game",
        "type": "single_punch",
        "prompt": "Game?",
        "options": [{"value": each} for each in GAMES],
    },
    {"name": "days", "type": "multi_punch", "prompt": "Days?", "options": [{"value": each} for each in DAYS]},
    {"name": "why", "type": "open_text", "prompt": "Why?"},
]


def torture(supervisor: Supervisor, platform: Platform, *, port: int, rounds: int, seed: int) -> int:
    """Run the test. Returns the exit code: 0 if there are no violations."""
    rng = random.Random(seed)
    world = platform.world
    channel, role = world.add_channel("surveys"), world.add_role("Helper", position=5)
    survey, poll = _prepared(int(world.guild_id), channel.id, role.id)
    people = [world.add_person(f"Person {n}") for n in range(PEOPLE)]
    _wait(supervisor, lambda: len(channel.messages) == 2, "the messages to be posted")
    started = time.monotonic()
    respondents = [
        _Respondent(
            Agent(platform, person, over_http(f"http://127.0.0.1:{port}/chat/interactions")), seed + n
        )
        for n, person in enumerate(people)
    ]
    kills: Counter[str] = Counter()
    with _answering(respondents, channel.messages, survey, poll) as are_done:
        while not are_done() and time.monotonic() < started + 600:
            supervisor.watch(rng.uniform(1, SECONDS_BETWEEN_KILLS))
            if sum(kills.values()) < rounds:
                name = rng.choice([*supervisor.victims])
                victim = supervisor.victims[name]
                victim.dead_until = time.monotonic() + rng.uniform(0, 1.5)
                if not victim.has_ended():
                    kills[name] += 1
                    victim.kill(rng)
    answered = time.monotonic() - started
    _wait(supervisor, _is_quiet, "the outbox to be empty")
    violations = list(_violations(platform, respondents, survey, poll, role.id))
    edits = len(platform.sent("PATCH", "/messages/"))
    sys.stdout.write(
        f"{PEOPLE} people answered and voted in {answered:.0f} s while {dict(kills)} were killed; "
        f"{edits} edits. {len(violations)} violations.\n"
    )
    sys.stdout.write("".join(f"VIOLATION  {each[:400]}\n" for each in violations[:20]))
    return 1 if violations else 0


class _Respondent:
    """Somebody who answers until it is done, whatever happens to the programs."""

    def __init__(self, agent: Agent, seed: int) -> None:
        rng = random.Random(seed)
        agent.checks_deadline = False
        self.agent, self._rng = agent, rng
        self.game = rng.choice(GAMES)
        self.days = sorted(rng.sample(DAYS, rng.randint(1, 3)), key=DAYS.index)
        self.text = f"because {rng.random()}"
        self.vote = rng.choice(GAMES)
        self.failures = 0
        self.fault = ""

    def answer(self, invitation: dict[str, Any], poll: dict[str, Any]) -> None:
        try:
            self._until(lambda: self.agent.press("Answer", message=invitation), lambda: self._sees("Game?"))
            self._until(lambda: self.agent.press(self.game), lambda: self._sees("Days?"))
            for day in self.days:
                self._until(
                    lambda day=day: self.agent.press(day),
                    lambda day=day: f"✓ {day}" in self.agent.labels,
                )
            submit = f"Submit ({len(self.days)})"
            self._until(lambda: self.agent.press(submit), lambda: self._sees("Why?"))
            self._until(self._write, lambda: self._sees("Thank you"))
            self._until(
                lambda: self.agent.press(self.vote, message=poll), lambda: self._sees(f"**{self.vote}**")
            )
        except Exception as fault:
            self.fault = f"{type(fault).__name__}: {fault}"

    def _write(self) -> None:
        self.agent.press("✏️")
        if self.agent.window is not None:
            self.agent.write(self.text)

    def _sees(self, words: str) -> bool:
        return self.agent.screen is not None and words in self.agent.text

    def _until(self, act: Any, is_done: Any) -> None:
        """Press again until it is done. A message about a busy or failed server is not the end."""
        time.sleep(self._rng.uniform(0, SECONDS_TO_THINK))
        for _ in range(ATTEMPTS):
            kept = self.agent.screen
            try:
                act()
            except (InteractionFailed, OSError, AssertionError):
                self.failures += 1
            if is_done():
                return
            if self.agent.screen is not kept and kept is not None and kept["components"]:
                self.agent.screen = kept  # a notice came beside the conversation
                if is_done():
                    return
            time.sleep(SECONDS_BETWEEN_ATTEMPTS)
        raise AssertionError(f"stuck at: {self.agent.text if self.agent.screen else 'nothing'}")


def _prepared(community_id: int, channel_id: str, role_id: str) -> tuple[Project, Project]:
    at = timezone.now()
    community = Community.objects.create(id=community_id, name="Tortured", tier="custom")
    CommunitySettings.objects.create(community=community)
    admin = members.create_member(community_id=community_id, name="Admin", access="admin", at=at)
    installations.check(community_id=community_id, at=at)
    actor = Actor(admin.user_id, "admin", community_id, "custom")
    poll_script = [{**SCRIPT[0], "name": "vote", "prompt": "Vote?"}]
    rewards = {"discord_role_id": role_id, "use_xp": True}
    made = []
    for fields, blocks in (
        (
            {
                "name": "Survey",
                "type": "convo",
                "rewards": rewards,
                "settings": {"max_completes_per_user": 1},
            },
            SCRIPT,
        ),
        (
            {
                "name": "Poll",
                "type": "poll",
                "settings": {"poll_results_mode": "public", "change_poll": True},
            },
            poll_script,
        ),
    ):
        delivery = {
            "audience": {"response_channel": "chat"},
            "invitation": {"post_channel_id": channel_id},
        }
        project = projects.create_project(
            actor=actor, fields={**fields, "delivery": delivery}, script={"blocks": blocks}, at=at
        ).project
        opening.open_project(actor=actor, project_id=project.pk, at=at)
        made.append(project)
    return made[0], made[1]


@contextmanager
def _answering(
    respondents: list[_Respondent], messages: dict[str, dict[str, Any]], survey: Project, poll: Project
) -> Iterator[Any]:
    ids = dict(PublicMessage.objects.values_list("project_id", "message_id"))
    invitation, ballot = messages[ids[survey.pk]], messages[ids[poll.pk]]
    done = threading.Event()

    def everybody() -> None:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(lambda each: each.answer(invitation, ballot), respondents))
        done.set()

    thread = threading.Thread(target=everybody)
    thread.start()
    yield done.is_set
    thread.join()


def _wait(supervisor: Supervisor, is_done: Any, what: str) -> None:
    ends = time.monotonic() + SECONDS_TO_FINISH
    while not is_done():
        if time.monotonic() > ends:
            sys.stdout.write(f"Waited {SECONDS_TO_FINISH} s for {what}.\n")
            return
        supervisor.watch(0.5)


def _is_quiet() -> bool:
    """Whether nothing is due and every role is granted, for longer than a sweep takes."""
    for _ in range(8):
        is_due = ChatTask.objects.filter(due_at__isnull=False).exists()
        if is_due or RoleGrant.objects.filter(carried_out_at__isnull=True).exists():
            return False
        time.sleep(0.5)
    return True


def _violations(
    platform: Platform, respondents: list[_Respondent], survey: Project, poll: Project, role_id: str
) -> Iterator[str]:
    yield from platform.violations
    yield from (f"{each.agent.person.name}: {each.fault}" for each in respondents if each.fault)
    of_survey = Conversation.objects.filter(project=survey, completed_at__isnull=False)
    by_account = {each.platform_id: each for each in of_survey}
    if of_survey.count() != PEOPLE or Conversation.objects.filter(project=survey).count() != PEOPLE:
        begun = Conversation.objects.filter(project=survey).count()
        yield f"{begun} conversations were begun, {of_survey.count()} completed."
    for each in respondents:
        person, conversation = each.agent.person, by_account.get(each.agent.person.id)
        rows = Answer.objects.filter(conversation=conversation).order_by("block__position", "ordinal")
        values = list(rows.values_list("value", flat=True))
        if values != [each.game, *each.days, each.text]:
            yield f"{person.name} answered {[each.game, *each.days, each.text]}, stored is {values}."
        if person.roles != [role_id]:
            yield f"{person.name} has the roles {person.roles}."
        vote = Answer.objects.filter(conversation__platform_id=person.id, conversation__project=poll)
        if list(vote.values_list("value", flat=True)) != [each.vote]:
            yield f"{person.name} voted {each.vote}, stored is {list(vote.values_list('value', flat=True))}."
    grants = RoleGrant.objects.count()
    if grants != PEOPLE:
        yield f"{grants} roles were earned, not {PEOPLE}."
    entries = XpEntry.objects.filter(source_ref=survey.pk).count()
    if entries != PEOPLE:
        yield f"{entries} times XP was given, not {PEOPLE}."
    yield from _wrong_messages(platform, respondents, survey, poll)
    connection.close()


def _wrong_messages(
    platform: Platform, respondents: list[_Respondent], survey: Project, poll: Project
) -> Iterator[str]:
    for row in PublicMessage.objects.filter(project__in=[survey, poll]):
        messages = platform.world.channels[row.channel_id].messages
        if len(messages) != 2:
            yield f"There are {len(messages)} messages in the channel, not 2."
        if row.project_id != poll.pk:
            continue
        shown, votes = text_of(messages[row.message_id]), Counter(each.vote for each in respondents)
        for game in GAMES:
            if f"({votes[game]})" not in shown:
                yield f"The poll does not show {votes[game]} votes for {game}: {shown}"
        if labels_of(messages[row.message_id]) != list(GAMES):
            yield "The poll has lost its buttons."
