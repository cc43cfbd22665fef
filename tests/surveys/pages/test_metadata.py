"""The fields in the address of a page, from the first page to the stored response (rule 6.10)."""

from __future__ import annotations

from typing import Any

import pytest

from surveys.models import Conversation, Project
from tests.support.surveys import scenario
from tests.support.surveys.scenario import TEXT
from tests.support.surveys.visitor import Visitor

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("in_no_hurry")]
GREETING = {**TEXT, "prompt": "Hello, reader of [field.utm_source]!"}


def survey(*blocks: dict[str, Any], **fields: Any) -> Project:
    return scenario.project(
        *(blocks or (TEXT, TEXT)), **{"hidden_fields": ["utm_source", "customer"], **fields}
    )


def stored() -> Any:
    return Conversation.objects.get().state.get("fields")


@pytest.mark.parametrize("is_framed", [False, True])
def test_a_declared_field_is_stored_with_the_conversation(is_framed: bool) -> None:
    visitor = Visitor(survey(), is_framed=is_framed)
    sign = "&" if is_framed else "?"

    visitor.look(f"{sign}utm_source=mail&customer=C-1042&other=x").send(value="a").send(value="b")

    assert stored() == {"utm_source": "mail", "customer": "C-1042"}


def test_what_is_shown_is_no_markup() -> None:
    visitor = Visitor(survey(GREETING)).look("?utm_source=%3Cscript%3Ealert(1)%3C/script%3E")

    assert "<script>alert" not in visitor.response.content.decode()


def test_the_first_conversation_keeps_its_fields() -> None:
    visitor = Visitor(survey()).look("?utm_source=mail").send(value="a")

    visitor.look("?utm_source=poster").send(value="b")

    assert stored() == {"utm_source": "mail"}


def test_a_condition_looks_at_it_from_the_first_page_on() -> None:
    vip = {**TEXT, "prompt": "For gold only.", "precondition": 'NOT(field.customer = "gold")'}
    made = survey(vip, {**TEXT, "prompt": "For all."})

    assert "For gold only." in Visitor(made).look("?customer=gold").page
    assert "For all." in Visitor(made).look("?customer=iron").page
    visitor = Visitor(made).look("?customer=gold").send(value="a").send(value="b")
    assert visitor.status == 200
    assert sorted(scenario.counts(made).values()) == [1, 1, 2]


def test_an_anonymous_project_keeps_declared_values_alone() -> None:
    made = survey(privacy_mode="anonymous", hidden_fields={"utm_source": ["mail"]})

    Visitor(made).look("?utm_source=Ann").send(value="a")
    assert stored() is None
    Conversation.objects.all().delete()
    Visitor(made).look("?utm_source=mail").send(value="a")
    assert stored() == {"utm_source": "mail"}


def test_a_long_value_is_cut_and_one_with_signs_that_cannot_be_shown_is_dropped() -> None:
    visitor = Visitor(survey()).look(f"?utm_source={'x' * 501}&customer=a%00b").send(value="a")

    assert visitor.status == 200
    assert stored() == {"utm_source": "x" * 500}
