"""`If-Match` at every address with a PATCH or PUT: a write that nobody else's write has overtaken."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from communities.gate.views import CommunityViewSet
from tests.support.caller import TEXT, Caller, refusal
from tests.support.cases import try_each
from tests.support.concurrency import run_together
from tests.support.routes import routed_actions


def _project(caller: Caller) -> tuple[str, Any, Any]:
    return f"/projects/{caller.make(TEXT)['id']}", {"name": "Mine"}, {"name": "Theirs"}


def _settings(caller: Caller) -> tuple[str, Any, Any]:
    return "/settings", {"xp_name": "Mine"}, {"xp_name": "Theirs"}


def _member(caller: Caller) -> tuple[str, Any, Any]:
    member = caller.post("/members", {"nick": "Ola"}).json()
    return f"/members/{member['id']}", {"nick": "Mine", "access": "creator"}, {"nick": "Theirs"}


def _webhook(caller: Caller) -> tuple[str, Any, Any]:
    webhook = caller.post("/webhooks", {"url": "https://example.com/hook", "events": ["*"]}).json()
    return f"/webhooks/{webhook['id']}", {"name": "Mine"}, {"name": "Theirs"}


def _block(caller: Caller) -> tuple[str, Any, Any]:
    made = caller.make(TEXT)
    block = made["script"]["blocks"][0]["id"]
    return f"/projects/{made['id']}/script/blocks/{block}", {"prompt": "Mine?"}, {"prompt": "Theirs?"}


def _codebook(caller: Caller) -> tuple[str, Any, Any]:
    made = caller.make(TEXT)
    path = f"/projects/{made['id']}/blocks/{made['script']['blocks'][0]['id']}/codebook"
    return path, {"themes": [{"title": "Mine"}]}, {"themes": [{"title": "Theirs"}]}


RESOURCES = [_project, _settings, _member, _webhook, _block, _codebook]
Resource = Callable[[Caller], tuple[str, Any, Any]]


def test_every_object_that_can_be_read_and_changed_has_a_lock() -> None:
    """Rule 11.80."""
    routes = routed_actions()
    read = {route.path for route in routes if route.method == "get"}
    changed = {route.view for route in routes if route.method in ("put", "patch") and route.path in read}

    assert len(changed) >= 6
    assert [view for view in changed if view.lock is CommunityViewSet.lock] == []


@pytest.mark.django_db
def test_a_response_that_has_changed_is_not_deleted() -> None:
    """Rule 11.80."""
    caller = Caller()
    made = caller.make_open(TEXT, TEXT, delivery={"audience": {"participation": "open_web"}})
    talk = caller.post(f"/projects/{made['id']}/conversations", {"external_id": "ann"}).json()
    tags = []
    for block in made["script"]["blocks"]:
        caller.post(f"/conversations/{talk['id']}/answers", {"block_id": block["id"], "value": "So."})
        tags.append(caller.get(f"/responses/{talk['id']}")["ETag"])

    statuses = [caller.delete(f"/responses/{talk['id']}", **{"If-Match": tag}).status_code for tag in tags]

    assert statuses == [409, 204]


@pytest.mark.django_db
@try_each("resource", RESOURCES)
def test_a_write_based_on_an_older_version_is_refused_and_changes_nothing(resource: Resource) -> None:
    """Rule 11.80."""
    caller = Caller()
    path, mine, theirs = resource(caller)
    tag = caller.get(path)["ETag"]

    written = caller.patch(path, theirs, **{"If-Match": tag})
    read = caller.get(path)
    late = caller.patch(path, mine, **{"If-Match": tag})

    assert (written.status_code, written["ETag"]) == (200, read["ETag"])
    assert read["ETag"] != tag
    assert refusal(late) == (409, "conflict")
    assert caller.get(path)["ETag"] == read["ETag"]
    assert caller.patch(path, mine, **{"If-Match": written["ETag"]}).status_code == 200


@pytest.mark.django_db
@try_each("resource", RESOURCES[:1])
def test_tags_are_compared_as_in_http(resource: Resource) -> None:
    """Rule 11.82."""
    caller = Caller()
    path, mine, _ = resource(caller)
    tag = caller.get(path)["ETag"]

    for form in ("*", " * ", "{}", "W/{}", '"other", {}'):
        answer = caller.patch(path, mine, **{"If-Match": form.format(tag)})
        assert answer.status_code == 200, form
        tag = answer["ETag"]
    for header in ('"other"', 'W/"other"', '""', '"other","more"'):
        assert refusal(caller.patch(path, mine, **{"If-Match": header})) == (409, "conflict"), header
    for header in ("", "other words", '"other', f"{tag} {tag}", f"*, {tag}"):
        assert refusal(caller.patch(path, mine, **{"If-Match": header})) == (400, "invalid_request"), header
    assert caller.patch(path, mine).status_code == 200


@pytest.mark.django_db
def test_a_tag_of_a_compressed_response_counts() -> None:
    """Rule 11.82."""
    caller = Caller()
    path, mine, _ = _project(caller)
    caller.patch(path, {"settings": {"consent": "I agree. " * 100}})

    tag = caller.get(path, **{"Accept-Encoding": "gzip"})["ETag"]

    assert tag.startswith("W/")
    assert caller.put(path, mine, **{"If-Match": tag}).status_code == 200


@pytest.mark.django_db
@try_each("resource", [_project, _webhook])
def test_what_has_changed_is_not_deleted(resource: Resource) -> None:
    """Rule 11.80."""
    caller = Caller()
    path, mine, _ = resource(caller)
    tag = caller.get(path)["ETag"]
    now = caller.patch(path, mine)["ETag"]

    assert refusal(caller.delete(path, **{"If-Match": tag})) == (409, "conflict")
    assert caller.delete(path, **{"If-Match": now}).status_code == 204
    assert refusal(caller.delete(path, **{"If-Match": now})) == (404, "not_found")


@pytest.mark.django_db
def test_a_write_that_cannot_compare_a_tag_refuses_it_and_does_nothing() -> None:
    """Rule 11.951."""
    caller = Caller()
    person, _, _ = _member(caller)
    project, _, _ = _project(caller)
    before = (caller.get(person).content, caller.get(project).content)
    for method, path in (("DELETE", f"{person}/data"), ("POST", f"{project}/open"), ("POST", "/members")):
        headers = {"If-Match": caller.get(person)["ETag"]}
        assert refusal(caller.call(method, path, {}, **headers)) == (400, "invalid_request"), path

    assert (caller.get(person).content, caller.get(project).content) == before
    assert caller.call("DELETE", f"{person}/data", None, **{"If-Match": "*"}).status_code == 204
    assert caller.get(person).status_code == 404


@pytest.mark.django_db
def test_responses_to_a_project_leave_its_version_alone() -> None:
    """Rule 11.81."""
    caller = Caller()
    made = caller.make_open(TEXT, delivery={"audience": {"participation": "open_web"}})
    path = f"/projects/{made['id']}"
    before = caller.get(path)
    step = caller.post(f"{path}/conversations", {"external_id": "a"}).json()
    caller.post(
        f"/conversations/{step['id']}/answers", {"block_id": step["step"]["block"]["id"], "value": "Yes"}
    )

    after = caller.get(path, **{"If-None-Match": before["ETag"]})
    assert (after.status_code, after.json()["info"]["completion_count"]) == (200, 1)
    assert caller.patch(path, {"name": "Mine"}, **{"If-Match": before["ETag"]}).status_code == 200
    assert caller.patch(path, {"name": "Late"}, **{"If-Match": after["ETag"]}).status_code == 409


@pytest.mark.django_db
def test_what_a_member_earns_leaves_their_version_alone() -> None:
    """Rule 11.81."""
    caller = Caller()
    path, mine, _ = _member(caller)
    before = caller.get(path)
    assert caller.post(f"{path}/xp", {"amount": 40}).status_code == 201

    after = caller.get(path, **{"If-None-Match": before["ETag"]})
    assert (after.status_code, after.json()["xp_total"]) == (200, 40)
    assert caller.patch(path, mine, **{"If-Match": before["ETag"]}).status_code == 200


@pytest.mark.django_db
def test_a_repeated_write_gets_its_response_though_its_tag_is_old_by_then() -> None:
    """Rule 11.83."""
    caller = Caller()
    for resource in RESOURCES:
        path, mine, _ = resource(caller)
        headers = {"If-Match": caller.get(path)["ETag"], "Idempotency-Key": str(uuid.uuid4())}

        first, again = (caller.patch(path, mine, **headers) for _ in range(2))

        assert (first.status_code, again.status_code, again.content) == (200, 200, first.content)
        assert (again["Idempotency-Replayed"], again["ETag"]) == ("true", first["ETag"])


@pytest.mark.django_db
def test_who_may_not_change_an_object_learns_nothing_from_a_tag() -> None:
    """Rule 11.80."""
    caller = Caller()
    path, mine, _ = _project(caller)
    stranger, member = Caller(), caller.beside("member")

    for header in ('"other"', caller.get(path)["ETag"], "*"):
        assert stranger.patch(path, mine, **{"If-Match": header}).status_code == 404
        assert member.patch(path, mine, **{"If-Match": header}).status_code in (403, 404)


@pytest.mark.django_db(transaction=True)
@try_each("resource", RESOURCES)
def test_of_two_writes_at_once_with_the_same_tag_one_is_refused(resource: Resource) -> None:
    """Rule 11.80."""
    caller = Caller()
    path, mine, theirs = resource(caller)
    for turn in range(3):
        headers = {"If-Match": caller.get(path)["ETag"]}
        bodies = ({**mine, **_varied(mine, turn)}, {**theirs, **_varied(theirs, turn)})
        twins = [partial(caller.in_another_thread().patch, path, body, **headers) for body in bodies]

        answers = run_together(*twins)

        assert sorted(each.status_code for each in answers) == [200, 409], answers
        (done,) = [each for each in answers if each.status_code == 200]
        assert caller.get(path)["ETag"] == done["ETag"]


def _varied(body: Any, turn: int) -> dict[str, Any]:
    """The same fields with values that no earlier turn has written."""
    name = next(iter(body))
    if name == "themes":
        return {"themes": [{"title": f"{body['themes'][0]['title']} {turn}"}]}
    return {name: f"{body[name]} {turn}"}
