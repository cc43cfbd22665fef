"""Coming by a personal link, as a browser does it without JavaScript (rule 6.39)."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from surveys.models import Answer, Conversation, PersonalLink
from surveys.services.links import addresses
from tests.support.staff import signed_in
from tests.support.surveys import scenario
from tests.support.surveys.personal_links import arrive, arrive_without_cookies, link_for, path_of, private
from tests.support.surveys.visitor import Visitor

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("in_no_hurry")]
TWO = (scenario.TEXT, scenario.TEXT)


@pytest.fixture
def in_no_hurry(settings):
    settings.LEAST_SECONDS_TO_FIRST_ANSWER = 0


def test_a_private_project_admits_nobody_without_a_link():
    assert Visitor(private()).look().status == 403


def test_a_link_admits_its_member_and_leads_to_an_address_without_the_secret():
    link = link_for(scenario.member("Marit"), private())
    client = Client()

    opened = client.get(path_of(link), follow=True)

    steps = [address for address, _ in opened.redirect_chain]
    assert [status for _, status in opened.redirect_chain] == [303, 303]
    assert steps[-1] == f"/s/{link.project.slug}"
    assert opened.status_code == 200
    assert b"You answer as <b>Marit</b>. Everybody in the community" in opened.content
    assert addresses.signed(link.pk) not in opened.content.decode()


def test_the_answers_are_those_of_the_member():
    member = scenario.member("Marit")
    visitor = arrive(link_for(member, private()))

    visitor.send(value="Because")

    conversation = Conversation.objects.get()
    assert (conversation.user_id, conversation.session_number) == (member.user_id, 1)
    assert Answer.objects.get().value == "Because"


def test_the_cookie_is_for_this_page_and_for_scripts_unreadable():
    link = link_for(scenario.member(), private())
    client = Client()

    response = client.get(path_of(link))

    cookie = response.cookies["colloquy_link"]
    assert (cookie["path"], cookie["httponly"], cookie["samesite"]) == (
        f"/s/{link.project.slug}",
        True,
        "Lax",
    )
    assert str(link.pk) not in response["Location"]


def test_without_cookies_the_form_carries_the_link():
    member = scenario.member("Marit")
    visitor = arrive_without_cookies(link_for(member, private(*TWO)))
    assert visitor.has_control("You answer as <b>Marit</b>")
    assert visitor.has_control(rf'action="{visitor.address}"')

    visitor.send(value="Because")
    visitor.client.cookies.clear()
    assert visitor.has_control("Prompt 1")
    visitor.send(value="Therefore")

    assert visitor.has_control("Thank you")
    assert Conversation.objects.get(user_id=member.user_id).completed_at


def test_in_a_frame_the_form_carries_the_link():
    member = scenario.member("Marit")
    link = link_for(member, private())
    visitor = Visitor(link.project, is_framed=True)
    visitor._take(Client().get(path_of(link, is_framed=True)))
    assert visitor.status == 200

    visitor.send(value="Because")

    assert Conversation.objects.get().user_id == member.user_id


def test_a_link_wins_over_whoever_is_signed_in_and_signs_nobody_in():
    marit, other = scenario.member("Marit"), scenario.member("Olav")
    link, elsewhere = link_for(marit, private()), private()
    client = signed_in(other.user)

    page = client.get(path_of(link), follow=True)
    visitor = Visitor(link.project)
    visitor.client = client
    visitor._take(page).send(value="Because")

    assert b"You answer as <b>Marit</b>" in page.content
    assert Conversation.objects.get().user_id == marit.user_id
    assert client.session["_auth_user_id"] == str(other.user_id)
    alone = arrive(link)
    assert "_auth_user_id" not in alone.client.session
    assert alone.client.get(f"/s/{elsewhere.slug}").status_code == 403
    assert alone.client.get("/account/").status_code == 302


def test_a_link_leaves_what_somebody_else_began_in_this_browser():
    project = private(*TWO)
    olav, marit = scenario.member("Olav"), scenario.member("Marit")
    visitor = arrive(link_for(olav, project)).send(value="Olav’s words")

    page = visitor.client.get(path_of(link_for(marit, project)), follow=True).content.decode()

    assert "You answer as <b>Marit</b>" in page
    assert "Olav’s words" not in page


def test_the_same_link_again_goes_on_where_its_member_was():
    link = link_for(scenario.member(), private(*TWO))
    visitor = arrive(link).send(value="Because")

    page = visitor.client.get(path_of(link), follow=True).content.decode()

    assert "Because" in page
    assert "Prompt 1" in page


@pytest.mark.parametrize("come", [arrive, arrive_without_cookies])
def test_not_you_forgets_the_link(come):
    visitor = come(link_for(scenario.member("Marit"), private()))

    visitor.send("leave")

    assert visitor.status == 403
    assert not visitor.has_control("Marit")
    assert visitor.look().status == 403


@pytest.mark.parametrize(("come", "htmx"), [(arrive, True), (arrive_without_cookies, False)])
def test_a_link_revoked_while_answering_is_refused_with_what_was_typed(come, htmx):
    link = link_for(scenario.member("Marit"), private(*TWO))
    visitor = come(link).send(value="First")
    PersonalLink.objects.update(revoked_at=timezone.now())
    visitor.headers = {"HX-Request": "true"} if htmx else {}

    visitor.send(value="A long thought")

    assert visitor.status == 403
    assert visitor.has_control("This link was withdrawn")
    assert visitor.has_control(r"readonly>A long thought</textarea>")
    assert visitor.has_control("What you answered before is saved")
    assert not visitor.has_control("You answer as")
    assert scenario.counts(link.project)["answered"] == 1


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"revoked_at": timezone.now()}, "was withdrawn"),
        ({"expires_at": timezone.now() - timedelta(seconds=1)}, "has expired"),
    ],
)
def test_a_link_that_is_over_says_so_and_how_to_get_another(fields, words):
    link = link_for(scenario.member(), private(), **fields)

    response = Client().get(path_of(link))

    assert response.status_code == 403
    assert words in response.content.decode()
    assert "ask" in response.content.decode()


def test_the_link_of_one_who_has_left_admits_nobody():
    member = scenario.member()
    link = link_for(member, private())
    member.left_at = timezone.now()
    member.save()

    assert Client().get(path_of(link)).status_code == 403


@pytest.mark.parametrize("change", ["another project", "tampered", "long", "empty"])
def test_a_link_that_was_not_made_for_this_page_admits_nobody(change):
    link, project = link_for(scenario.member(), private()), private()
    signed = addresses.signed(link.pk)
    sent = {"another project": signed, "tampered": f"A{signed[1:]}", "long": signed * 50, "empty": ""}[change]
    if change == "tampered" and sent == signed:
        sent = f"B{signed[1:]}"

    response = Client().get(f"/s/{project.slug}", {"link": sent}, follow=True)

    assert response.status_code == 403
    assert "This link does not work" in response.content.decode()
    assert "colloquy_link" not in response.cookies


def test_a_signed_link_tells_neither_person_nor_project():
    member = scenario.member("Marit")
    link = link_for(member, private())

    signed = addresses.signed(link.pk)

    assert addresses.link_id_of(signed) == link.pk
    assert str(link.pk) not in signed
    assert len(signed) < 80


# --- When a link was opened -----------------------------------------------------------------------------


def used(link: PersonalLink) -> bool:
    link.refresh_from_db()
    return link.used_at is not None


def test_looking_at_the_address_is_no_opening():
    link = link_for(scenario.member(), private())

    Client().head(path_of(link))
    scanner = Client()
    response = scanner.get(path_of(link))
    scanner.cookies.clear()
    scanner.get(response["Location"])

    assert not used(link)


def test_a_link_is_opened_once_the_browser_brings_its_cookie():
    link = link_for(scenario.member(), private())

    arrive(link)

    assert used(link)
    first = link.used_at
    arrive(link)
    assert used(link)
    assert link.used_at == first


def test_without_cookies_a_link_is_opened_by_its_first_form():
    link = link_for(scenario.member(), private())

    visitor = arrive_without_cookies(link)
    assert not used(link)
    visitor.send(value="Because")

    assert used(link)


def test_what_the_project_asks_for_beside_membership_holds_for_guests_too():
    project = private(
        delivery={"audience": {"participation": "private", "required_role_ids": ["80000000000000001"]}}
    )

    visitor = arrive(link_for(scenario.member("Marit"), project))

    assert visitor.status == 403
