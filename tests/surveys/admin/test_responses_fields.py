"""The fields on the page of one response."""

import re
from dataclasses import replace

import pytest

from surveys.services.conversations import admission
from surveys.services.conversations import service as conversations
from tests.support.moments import LUNCHTIME
from tests.support.surveys import scenario
from tests.support.surveys.project_tabs import client_as, superuser, tab
from tests.support.surveys.scenario import TEXT

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def client(kept_rows):
    return superuser()


def one(client, made, response_id):
    return client.get(tab(made.pk, "response", response_id)).content.decode()


def answered_with(made, **metadata):
    """A response that began with these fields; its id."""
    respondent = replace(admission.NAMELESS, metadata=metadata)
    begun = conversations.begin(project_id=made.pk, respondent=respondent, at=LUNCHTIME)
    return scenario.say(begun, "x").conversation.pk


def sent_along(shown):
    part = shown.partition('id="fields-head"')[2].partition("</section>")[0]
    return re.findall(r"<dt><code>(.*?)</code></dt><dd>(.*?)</dd>", part, re.S)


def test_what_was_sent_along_is_told(client):
    made = scenario.project(TEXT, hidden_fields=["utm_source", "first_name"])
    key = answered_with(made, a="1", utm_source="Newsletter & <b>", first_name="Ann", empty="")

    assert sent_along(one(client, made, key)) == [
        ("utm_source", "Newsletter &amp; &lt;b&gt;"),
        ("first_name", "Ann"),
        ("a", "1"),
        ("empty", "–"),
    ]


def test_an_anonymous_response_tells_declared_values_alone(client):
    made = scenario.project(TEXT, privacy_mode="anonymous", hidden_fields={"utm_source": ["mail"]})
    key = answered_with(made, utm_source="mail", first_name="Ann")
    other = answered_with(made, utm_source="for Ann alone")

    assert sent_along(one(client, made, key)) == [("utm_source", "mail")]
    assert "Sent along" not in one(client, made, other)


def test_a_member_is_told_what_was_sent_along_as_the_interface_tells_it():
    made = scenario.project(TEXT, privacy_mode="transparent")
    key = answered_with(made, utm_source="mail")

    assert sent_along(one(client_as("member", made), made, key)) == [("utm_source", "mail")]
