"""The demo is seeded once, with realistic scripts and answers."""

import json
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import authenticate
from django.core.management import call_command
from django.db import connection
from django.test import override_settings
from django.utils import timezone

from communities.gate import authentication
from communities.ground.errors import InvalidApiKey
from communities.models import Community, Member, User
from config.management.commands import seed_demo
from surveys.engine.intake.fields import BLOCK
from surveys.engine.rules.warnings import warnings
from surveys.models import Answer, Conversation, Project
from surveys.services.conversations import service as conversations
from surveys.services.scripts import cache as script_cache
from tests.support.database import kept_for_many_tests
from xp.models import Achievement, EarnedAchievement, Standing, XpEntry

pytestmark = pytest.mark.long

COMPLETED = {"survey": 27, "poll": 24, "personality": 4, "healthy_days": 3, "piece": 4, "quiz": 4}
STANDINGS = [("Marit", 350, 4), ("Adaeze", 320, 3), ("Yuki e4", 315, 4), ("Piet", 30, 2)]
ACHIEVED = {
    "A voice at the table": {"Marit", "Adaeze", "Yuki e4"},
    "Knows their piece": {"Marit", "Adaeze", "Yuki e4"},
    "Sharp eye": {"Marit", "Yuki e4"},
}


@pytest.fixture(autouse=True)
def var_dir(settings: Any, tmp_path: Path) -> Path:
    settings.VAR_DIR = tmp_path
    authentication.caller_cache.clear()
    return tmp_path


def seed() -> dict[str, str]:
    call_command("seed_demo", verbosity=0)
    demo: dict[str, str] = json.loads(seed_demo.demo_file().read_text())
    return demo


@pytest.mark.django_db
def test_a_second_run_seeds_nothing_twice() -> None:
    first = seed()
    counts = [model.objects.count() for model in (Community, User, Project, Conversation, Answer)]

    second = seed()

    assert second == first
    assert [model.objects.count() for model in (Community, User, Project, Conversation, Answer)] == counts


@pytest.mark.django_db(transaction=True)
def test_two_processes_seed_only_once() -> None:
    def run() -> None:
        try:
            call_command("seed_demo", verbosity=0)
        finally:
            connection.close()

    both = [threading.Thread(target=run) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()

    assert Project.objects.filter(community_id=seed_demo.COMMUNITY_ID).count() == len(
        list(seed_demo.scripts())
    )


@pytest.mark.django_db
def test_the_stored_credentials_work_and_only_their_owner_can_read_them() -> None:
    demo = seed()

    assert authenticate(username=demo["admin_username"], password=demo["admin_password"]) is not None
    assert authentication.authenticate(demo["api_key"], at=timezone.now()).actor.role == "admin"
    assert stat.S_IMODE(seed_demo.demo_file().stat().st_mode) == 0o600


@pytest.mark.django_db
def test_a_lost_file_is_replaced_and_the_old_key_revoked() -> None:
    lost = seed()
    seed_demo.demo_file().unlink()

    demo = seed()

    authentication.caller_cache.clear()
    assert authentication.authenticate(demo["api_key"], at=timezone.now()).actor.role == "admin"
    with pytest.raises(InvalidApiKey):
        authentication.authenticate(lost["api_key"], at=timezone.now())


@pytest.mark.django_db
def test_the_file_of_another_database_is_replaced() -> None:
    foreign = {"community_id": "1", "api_key": "cq_live_of-somewhere-else", "survey": "/s/x", "poll": "/s/y"}
    seed_demo.demo_file().write_text(json.dumps(foreign))

    demo = seed()

    assert demo["api_key"] != foreign["api_key"]
    assert Project.objects.filter(slug=demo["survey"].removeprefix("/s/")).exists()


@pytest.fixture(scope="class")
def demo(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    """Seeded once for a class of tests that change nothing, because seeding takes two seconds."""
    with (
        override_settings(VAR_DIR=tmp_path_factory.mktemp("demo")),
        kept_for_many_tests(django_db_blocker),
    ):
        yield seed()


@pytest.mark.django_db
class TestSeeded:
    def test_the_pages_of_the_demo_are_open(self, demo: dict[str, str], client: Any) -> None:
        statuses = [client.get(demo[role]).status_code for role in COMPLETED]

        assert statuses == [200] * 6

    def test_the_quiz_knows_the_member_who_is_signed_in(self, demo: dict[str, str], client: Any) -> None:
        client.force_login(User.objects.get(username=demo["admin_username"]))

        page = client.get(demo["quiz"])

        assert page.status_code == 200
        assert "before the kettle boils, Ada Lindqvist." in page.content.decode()

    def test_the_demo_has_every_kind_of_block(self, demo: dict[str, str]) -> None:
        kinds = {block.type for _, script in written() for block in script.blocks}

        assert kinds == set(BLOCK.fields["type"].type.choices)  # type: ignore[union-attr]

    def test_the_scripts_of_the_demo_have_no_warnings(self, demo: dict[str, str]) -> None:
        described = set(Achievement.objects.values_list("number", flat=True))

        warnings_by_project = {
            project.name: warnings(
                script,
                uses_xp=project.uses_xp,
                is_anonymous=project.is_anonymous,
                known_achievements=described,
            )
            for project, script in written()
        }

        assert {name: each for name, each in warnings_by_project.items() if each} == {}

    def test_every_answer_of_the_demo_is_accepted(self, demo: dict[str, str]) -> None:
        completed = {
            role: Conversation.objects.filter(
                project__slug=demo[role].removeprefix("/s/"), completed_at__isnull=False
            ).count()
            for role in COMPLETED
        }

        assert completed == COMPLETED

    def test_members_earn_the_rewards_of_their_answers(self, demo: dict[str, str]) -> None:
        standings = Standing.objects.filter(xp_total__gt=0).order_by("-xp_total")
        achieved: dict[str, set[str]] = {}
        for name, nick in EarnedAchievement.objects.values_list("name", "member__nick"):
            achieved.setdefault(name, set()).add(str(nick))
        kinds = set(XpEntry.objects.values_list("source_kind", flat=True))

        assert list(standings.values_list("member__nick", "xp_total", "participation")) == STANDINGS
        assert achieved == ACHIEVED
        assert kinds == {"survey_completion", "action_block", "poll_vote"}

    def test_the_ledgers_of_the_demo_are_in_chronological_order(self, demo: dict[str, str]) -> None:
        moments = list(XpEntry.objects.order_by("id").values_list("created_at", flat=True))

        assert moments == sorted(moments)

    @pytest.mark.parametrize(
        ("nick", "piece"),
        [
            ("Marit", "are the Rook"),
            ("Adaeze", "are the Knight"),
            ("Yuki e4", "are the Bishop"),
            (None, "really are the Queen"),
        ],
    )
    def test_the_personality_quiz_has_the_expected_results(
        self, demo: dict[str, str], nick: str | None, piece: str
    ) -> None:
        conversation = of_quiz(demo, "piece", nick)

        assert f"You {piece}" in shown(conversation)

    @pytest.mark.parametrize(
        ("nick", "text"),
        [
            ("Marit", "8 of 8 right, and 120 of 120 points. On this quay we call that: Harbour Master."),
            ("Yuki e4", "7 of 8 right, and 85 of 120 points. On this quay we call that: Helmsman."),
            ("Adaeze", "6 of 8 right, and 100 of 120 points. On this quay we call that: Helmsman."),
            ("Piet", "2 of 8 right, and 20 of 120 points. On this quay we call that: Landlubber."),
        ],
    )
    def test_the_graded_quiz_shows_the_score_and_the_grade(
        self, demo: dict[str, str], nick: str, text: str
    ) -> None:
        assert text in shown(of_quiz(demo, "quiz", nick))


def written() -> list[tuple[Project, Any]]:
    """Every project of the demo with its script."""
    projects = Project.objects.filter(community_id=seed_demo.COMMUNITY_ID).order_by("id")
    return [(project, script_cache.script_of(project)) for project in projects]


def of_quiz(demo: dict[str, str], role: str, nick: str | None) -> Conversation:
    """The conversation of a member, or of the one guest."""
    of = Conversation.objects.filter(project__slug=demo[role].removeprefix("/s/"))
    if nick is None:
        return of.exclude(user__in=Member.objects.values("user")).get()
    return of.get(user__in=Member.objects.filter(nick=nick).values("user"))


def shown(conversation: Conversation) -> str:
    """All prompts of the conversation on one line."""
    view = conversations.get(conversation_id=conversation.pk, at=timezone.now())
    return " ".join(" ".join(exchange.block.prompt.split()) for exchange in view.history())
