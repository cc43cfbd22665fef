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
from communities.models import Community, User
from config.management.commands import seed_demo
from surveys.engine.fields import BLOCK
from surveys.models import Answer, Conversation, Project
from surveys.services import scripts

UNTIL_LATER = {"action_block", "calculated_block"}


@pytest.fixture(autouse=True)
def var_dir(settings: Any, tmp_path: Path) -> Path:
    settings.VAR_DIR = tmp_path
    authentication.memory.forget()
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
    assert authentication.caller_of(demo["api_key"], at=timezone.now()).role == "admin"
    assert stat.S_IMODE(seed_demo.demo_file().stat().st_mode) == 0o600


@pytest.mark.django_db
def test_a_lost_file_is_written_anew_and_the_old_key_ends() -> None:
    lost = seed()
    seed_demo.demo_file().unlink()

    demo = seed()

    authentication.memory.forget()
    assert authentication.caller_of(demo["api_key"], at=timezone.now()).role == "admin"
    with pytest.raises(InvalidApiKey):
        authentication.caller_of(lost["api_key"], at=timezone.now())


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

    statuses = [
        client.get(demo[role]).status_code for role in ("survey", "poll", "personality", "healthy_days")
    ]

    assert statuses == [200, 200, 200, 200]


@pytest.mark.django_db
def test_the_survey_has_every_kind_of_block_that_does_something() -> None:
    demo = seed()
    project = Project.objects.get(slug=demo["survey"].removeprefix("/s/"))

    script = scripts.load(project_id=project.pk, revision=project.revision)

    kinds = set(BLOCK.fields["type"].kind.choices)  # type: ignore[union-attr]
    assert {block.type for block in script.blocks} == kinds - UNTIL_LATER


@pytest.mark.django_db
def test_every_answer_of_the_demo_is_taken() -> None:
    demo = seed()

    completed = {
        role: Conversation.objects.filter(
            project__slug=demo[role].removeprefix("/s/"), completed_at__isnull=False
        ).count()
        for role in ("survey", "poll", "personality", "healthy_days")
    }

    assert completed == {"survey": 5, "poll": 24, "personality": 4, "healthy_days": 3}
