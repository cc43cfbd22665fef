"""The short address and the QR code of a page, under Share."""

from __future__ import annotations

import secrets
from io import BytesIO

import pytest
from PIL import Image

from communities.models import AuditEntry
from surveys.models import Project
from tests.support.staff import Staff
from tests.support.surveys import scenario
from tests.support.surveys.project_tabs import project_staff, tab
from tests.support.surveys.scenario import CHOICE

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]


@pytest.fixture
def staff() -> Staff:
    return project_staff("admin")


def test_a_short_address_is_made_once(staff: Staff):
    """Rule 6.228."""
    made = scenario.project(CHOICE)
    assert "Make a short address" in staff.read(tab(made.pk, "share"))

    for _ in range(2):
        staff.client.post(tab(made.pk, "share_short_address"))

    code = Project.objects.get(pk=made.pk).short_code
    page = staff.read(tab(made.pk, "share"))
    assert code is not None
    assert f"/q/{code}" in page
    assert "Make a short address" not in page
    assert AuditEntry.objects.filter(action="project.address_shortened").count() == 1


def test_a_code_that_is_taken_is_not_given_again(staff: Staff, monkeypatch):
    scenario.project(CHOICE, short_code="2222222")
    made = scenario.project(CHOICE)
    signs = iter("2" * 7 + "3" * 7)
    monkeypatch.setattr(secrets, "choice", lambda among: next(signs))

    staff.client.post(tab(made.pk, "share_short_address"))

    assert Project.objects.get(pk=made.pk).short_code == "3333333"


def test_a_private_project_gets_none(staff: Staff):
    """Rule 6.228."""
    made = scenario.project(CHOICE, participation="private")

    assert "Make a short address" not in staff.read(tab(made.pk, "share"))
    staff.client.post(tab(made.pk, "share_short_address"))

    assert Project.objects.get(pk=made.pk).short_code is None


def test_who_may_not_edit_makes_none():
    made = scenario.project(CHOICE)
    creator = project_staff("creator")

    assert "Make a short address" not in creator.read(tab(made.pk, "share"))
    assert creator.client.post(tab(made.pk, "share_short_address")).status_code == 403


def test_the_qr_code_is_a_picture_with_alt_text_and_two_files(staff: Staff, settings):
    """Rule 6.229."""
    made = scenario.project(CHOICE)

    page = staff.read(tab(made.pk, "share"))
    svg, png = (staff.client.get(f"{tab(made.pk, 'share')}qr.{kind}") for kind in ("svg", "png"))

    assert f'alt="QR code of {settings.BASE_URL}/s/{made.slug}"' in page
    assert svg["Content-Type"] == "image/svg+xml"
    assert b"<svg" in svg.content
    image = Image.open(BytesIO(png.content))
    assert image.size[0] == image.size[1] > 600
