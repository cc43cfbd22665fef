"""The demo: seeded once, whoever asks and however often; real scripts with answers to them."""

import json
import stat
import threading
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import authenticate
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from communities.errors import InvalidApiKey
from communities.http import authentication
from communities.models import Community, Member, User
from config.management.commands import seed_demo
from surveys.engine.intake.fields import BLOCK
from surveys.engine.rules.warnings import warnings
from surveys.models import Answer, Conversation, Project
from surveys.services.conversations import service as conversations
from surveys.services.scripts import editing as scripts
from xp.models import Achievement, EarnedAchievement, Standing, XpEntry

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
def test_two_at_once_seed_once() -> None:
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
def test_what_is_kept_works_and_is_for_its_owner_alone() -> None:
    demo = seed()

    assert authenticate(username=demo["admin_username"], password=demo["admin_password"]) is not None
    assert authentication.authenticate(demo["api_key"], at=timezone.now()).role == "admin"
    assert stat.S_IMODE(seed_demo.demo_file().stat().st_mode) == 0o600


@pytest.mark.django_db
def test_a_lost_file_is_written_anew_and_the_old_key_ends() -> None:
    lost = seed()
    seed_demo.demo_file().unlink()

    demo = seed()

    authentication.caller_cache.clear()
    assert authentication.authenticate(demo["api_key"], at=timezone.now()).role == "admin"
    with pytest.raises(InvalidApiKey):
        authentication.authenticate(lost["api_key"], at=timezone.now())


@pytest.mark.django_db
def test_the_file_of_another_database_is_not_believed() -> None:
    foreign = {"community_id": "1", "api_key": "cq_live_of-somewhere-else", "survey": "/s/x", "poll": "/s/y"}
    seed_demo.demo_file().write_text(json.dumps(foreign))

    demo = seed()

    assert demo["api_key"] != foreign["api_key"]
    assert Project.objects.filter(slug=demo["survey"].removeprefix("/s/")).exists()


@pytest.mark.django_db
def test_the_pages_of_the_demo_are_open(client: Any) -> None:
    demo = seed()

    statuses = [client.get(demo[role]).status_code for role in COMPLETED]

    assert statuses == [200] * 6


@pytest.mark.django_db
def test_the_quiz_knows_the_member_who_is_signed_in(client: Any) -> None:
    demo = seed()
    client.force_login(User.objects.get(username=demo["admin_username"]))

    page = client.get(demo["quiz"])

    assert page.status_code == 200
    assert "before the kettle boils, Ada Lindqvist." in page.content.decode()


@pytest.mark.django_db
def test_the_demo_has_every_kind_of_block() -> None:
    seed()

    kinds = {block.type for _, script in written() for block in script.blocks}

    assert kinds == set(BLOCK.fields["type"].type.choices)  # type: ignore[union-attr]


@pytest.mark.django_db
def test_no_script_of_the_demo_gives_cause_for_a_warning() -> None:
    seed()
    described = set(Achievement.objects.values_list("number", flat=True))

    told = {
        project.name: warnings(
            script,
            uses_xp=project.uses_xp,
            is_anonymous=project.is_anonymous,
            known_achievements=described,
        )
        for project, script in written()
    }

    assert {name: found for name, found in told.items() if found} == {}


@pytest.mark.django_db
def test_every_answer_of_the_demo_is_taken() -> None:
    demo = seed()

    completed = {
        role: Conversation.objects.filter(
            project__slug=demo[role].removeprefix("/s/"), completed_at__isnull=False
        ).count()
        for role in COMPLETED
    }

    assert completed == COMPLETED


@pytest.mark.django_db
def test_members_have_earned_what_their_answers_give() -> None:
    seed()

    standings = Standing.objects.filter(xp_total__gt=0).order_by("-xp_total")
    achieved: dict[str, set[str]] = {}
    for name, nick in EarnedAchievement.objects.values_list("name", "member__nick"):
        achieved.setdefault(name, set()).add(str(nick))
    kinds = set(XpEntry.objects.values_list("source_kind", flat=True))

    assert list(standings.values_list("member__nick", "xp_total", "participation")) == STANDINGS
    assert achieved == ACHIEVED
    assert kinds == {"survey_completion", "action_block", "poll_vote"}


@pytest.mark.django_db
def test_the_ledgers_of_the_demo_are_in_the_order_of_time() -> None:
    seed()

    moments = list(XpEntry.objects.order_by("id").values_list("created_at", flat=True))

    assert moments == sorted(moments)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("nick", "piece"),
    [
        ("Marit", "are the Rook"),
        ("Adaeze", "are the Knight"),
        ("Yuki e4", "are the Bishop"),
        (None, "really are the Queen"),
    ],
)
def test_the_personality_quiz_finds_whom_it_should(nick: str | None, piece: str) -> None:
    conversation = of_quiz(seed(), "piece", nick)

    assert f"You {piece}" in shown(conversation)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("nick", "told"),
    [
        ("Marit", "8 of 8 right, and 120 of 120 points. On this quay we call that: Harbour Master."),
        ("Yuki e4", "7 of 8 right, and 85 of 120 points. On this quay we call that: Helmsman."),
        ("Adaeze", "6 of 8 right, and 100 of 120 points. On this quay we call that: Helmsman."),
        ("Piet", "2 of 8 right, and 20 of 120 points. On this quay we call that: Landlubber."),
    ],
)
def test_the_graded_quiz_counts_and_names_what_was_right(nick: str, told: str) -> None:
    assert told in shown(of_quiz(seed(), "quiz", nick))


def written() -> list[tuple[Project, Any]]:
    """Every project of the demo with its script."""
    projects = Project.objects.filter(community_id=seed_demo.COMMUNITY_ID).order_by("id")
    return [(project, scripts.load(project_id=project.pk, revision=project.revision)) for project in projects]


def of_quiz(demo: dict[str, str], role: str, nick: str | None) -> Conversation:
    """The conversation of a member, or of the one guest."""
    of = Conversation.objects.filter(project__slug=demo[role].removeprefix("/s/"))
    if nick is None:
        return of.exclude(user__in=Member.objects.values("user")).get()
    return of.get(user__in=Member.objects.filter(nick=nick).values("user"))


def shown(conversation: Conversation) -> str:
    """All that was said, on one line."""
    told = conversations.get(conversation_id=conversation.pk, at=timezone.now())
    return " ".join(" ".join(exchange.block.prompt.split()) for exchange in told.history())
