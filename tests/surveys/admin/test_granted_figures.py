"""What the tabs of a project tell people with each level, beside what the interface tells their role."""

from __future__ import annotations

import re

import pytest

from surveys.admin.urls import ROUTES
from surveys.models import Project
from tests.support.caller import Caller
from tests.support.staff import Staff
from tests.support.surveys import scenario
from tests.support.surveys.project_tabs import draft, project_staff, respond, tab

pytestmark = pytest.mark.django_db

WHO = {
    "member": ("member", None),
    "read": ("member", "read"),
    "own": ("member", "own"),
}
SETTINGS = ("script", "delivery", "look", "rewards", "share", "share_values", "share_qr_svg", "history")


@pytest.fixture
def asked() -> Project:
    """An open project with three responses, a limit, and a quota of 4,321."""
    made = scenario.project(scenario.CHOICE, privacy_mode="semi-private", max_completes=5_432)
    respond(made, 0, times=3)
    block = scenario.script(made).blocks[0]
    where = f'{block.name} = "{block.options[0].value}"'
    Project.objects.filter(pk=made.pk).update(
        quotas=[{"where": where, "limit": 4_321, "message": None}], was_open_to_web=True
    )
    return Project.objects.get(pk=made.pk)


def person(who: str, project: Project) -> Staff:
    """Somebody with this level on the project, who also reads another one, as every such member may."""
    access, level = WHO[who]
    staff = project_staff(access).given("read", draft().pk)
    return staff.given(level, project.pk) if level else staff


def pages(staff: Staff, project: Project) -> dict[str, str]:
    """The sources of all tabs that open, by name."""
    found = {}
    for route, _, name in ROUTES:
        if "<" not in route:
            answer = staff.client.get(tab(project.pk, name))
            if answer.status_code == 200 and not answer.streaming:
                found[name] = answer.content.decode(errors="replace")
    return found


@pytest.mark.parametrize("who", WHO)
def test_tabs_tell_no_more_about_quotas_than_the_interface(asked: Project, who: str) -> None:
    """Rules 1.88 and 7.122."""
    access, level = WHO[who]
    caller = Caller(access, community=asked.community)
    told = caller.get(f"/projects/{asked.pk}").json()["settings"]["quotas"]

    seen = pages(person(who, asked), asked)

    knows = level is not None
    assert told == []
    assert {name for name, text in seen.items() if "4321" in text} == ({"delivery"} if knows else set())
    figures = {name for name, text in seen.items() if re.search(r"\d of [\d,]+ are taken", text)}
    assert figures == ({"delivery"} if who == "own" else set())
    proofs = {name for name, text in seen.items() if "Proofs:" in text}
    assert proofs <= ({"delivery", "responses"} if who == "own" else set())
    opened = set(SETTINGS) if who == "own" else set(SETTINGS) - {"history"} if knows else set()
    assert set(SETTINGS) & set(seen) == opened


def test_lists_lead_members_to_tabs_that_open(asked: Project) -> None:
    """Rules 1.88 and 1.953."""
    member, reader = person("member", asked), person("read", asked)

    assert f'href="{tab(asked.pk, "results")}"' in member.read("/admin/surveys/project/")
    assert f'href="{tab(asked.pk, "results")}"' in reader.read("/admin/surveys/project/")
    header = member.client.get(tab(asked.pk, "results")).content.decode()
    assert not [name for name in (*SETTINGS, "responses") if f'"{tab(asked.pk, name)}"' in header]
