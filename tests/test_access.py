"""The sweep: requests every address and every action in every role, and compares the results with tables
written by hand.

A new address, action, table of the database, or id in a body or query fails until it has a row. All who ask
have objects of their own. For objects of another community each role gets the response for absent objects
(rule 11.10), and in the admin 403 or 404, with POST also 405 (rule 1.36). No response contains a word of that
community, and no row of it changes. Each test lists all deviations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any
from uuid import UUID

import pytest
from _pytest.monkeypatch import MonkeyPatch
from django.apps import apps

from communities.models import Community, CommunitySettings, Member, ProjectGrant, User
from surveys.models import Project
from tests.support.access import admin_rows, api_rows, page_rows
from tests.support.access.addresses import addresses, arguments_of, spelled
from tests.support.access.asking import FORM, Answer, ask
from tests.support.access.page_forms import path_of, with_other_ids
from tests.support.access.scene import ROLES, FilledCommunity, TwoCommunities, two_communities
from tests.support.database import kept_for_many_tests, taken_back
from tests.support.dumps import dump
from tests.support.openapi import described
from tests.support.pictures import foreign_pictures
from tests.support.routes import Routed, routed_actions

pytestmark = [pytest.mark.long, pytest.mark.django_db, pytest.mark.usefixtures("redis")]

TABLE = {f"admin/{route}": row for route, row in admin_rows.TABLE.items()} | page_rows.TABLE
STAFF = ("nobody", "member", "creator", "admin", "foreign admin")
OUTSIDERS = ("visitor", "nobody", "foreign admin")  # of the first community
COMMUNITY = "communities_community"
ABSENT_NUMBER, ABSENT_UUID = 1_999_999_999, UUID(int=7)
ACTIONS = {each.permission: each for each in routed_actions()}
# Filled by allauth and Django in ways that we do not use.
NEVER_FILLED = {
    "account_emailconfirmation",
    "auth_group_permissions",
    "communities_user_groups",
    "communities_user_user_permissions",
    "django_admin_log",
    "socialaccount_socialaccount",
    "socialaccount_socialapp",
    "socialaccount_socialtoken",
}
OF_THE_INSTALLATION = {"auth_permission", "config_keyfingerprint", "django_content_type", "django_session"}
NO_STAFF_PAGES = {  # they lead elsewhere, show texts of the admin alone, or are for every member
    *("admin/login/", "admin/logout/", "admin/password_change/", "admin/password_change/done/"),
    *("admin/jsi18n/", "admin/^(?P<app_label>APPS)/$"),
    "account/data/leave/<int:community_id>/",
}


@pytest.fixture(scope="module")
def here(django_db_setup: None, django_db_blocker: Any) -> Iterator[TwoCommunities]:
    with kept_for_many_tests(django_db_blocker), two_communities() as both, MonkeyPatch.context() as patch:
        patch.setattr("django.test.client.store_rendered_templates", lambda *_, **__: None)  # copies contexts
        yield both


# --- The tables ---------------------------------------------------------------------------------------


def test_every_address_and_action_has_a_row_and_every_row_is_one() -> None:
    assert set(addresses()) ^ set(TABLE) == set()
    assert set(ACTIONS) ^ set(api_rows.TABLE) == set()
    documented = {
        (method, path)
        for path, methods in described()["paths"].items()
        for method in methods
        if method != "parameters"
    }
    assert documented ^ {(each.method, each.path) for each in ACTIONS.values()} == set()


def test_views_declare_a_least_role_for_every_action_and_for_no_other() -> None:
    views = {route.view for route in routed_actions()}

    assert {f"{view.noun}.{action}" for view in views for action in view.least_role} == set(ACTIONS)


def test_ids_in_bodies_and_queries_have_rows() -> None:
    bodies, queries = set(), set()
    for action, routed in ACTIONS.items():
        operation = described()["paths"][routed.path][routed.method]
        for content in operation.get("requestBody", {}).get("content", {}).values():
            bodies |= {(action, name) for name in _ids_in(content["schema"])}
        names = [each["name"] for each in operation.get("parameters", []) if each["in"] == "query"]
        queries |= {(action, name) for name in names if name == "after" or name.endswith("_id")}

    assert bodies == {(action, name) for action, name, *_ in api_rows.BODIES}
    assert queries == {(action, name) for action, name, _ in api_rows.QUERIES}


def _ids_in(schema: Mapping[str, Any], path: str = "", within: tuple[str, ...] = ()) -> Iterator[str]:
    """The paths of properties that name objects of ours. `within`: schemas that may hold themselves."""
    if schema.get("$ref") in within:
        return
    if "$ref" in schema:
        within = (*within, schema["$ref"])
        schema = described()["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    for each in [*schema.get("allOf", []), *schema.get("oneOf", []), *schema.get("anyOf", [])]:
        yield from _ids_in(each, path, within)
    if isinstance(schema.get("items"), dict):
        yield from _ids_in(schema["items"], f"{path}[]", within)
    for name, value in schema.get("properties", {}).items():
        below = f"{path}.{name}".lstrip(".")
        if value.get("readOnly"):
            continue
        if re.fullmatch(r"(\w+_)?ids?", name) and name not in api_rows.NO_OBJECTS:
            yield below
        yield from _ids_in(value, below, within)


def test_rows_give_staff_of_another_community_nothing_of_this_one() -> None:
    """Rule 1.36. The columns of those without a role here."""
    wrong = []
    for route, (get, post) in TABLE.items():
        if route.startswith("admin/") and arguments_of(route):
            for role in ("nobody", "foreign admin"):
                column = ROLES.index(role)
                statuses = get.split()[column], (get if post == "same" else post).split()[column]
                if statuses[0] not in ("403", "404") or statuses[1] not in ("403", "404", "405"):
                    wrong.append((route, role, statuses))

    assert not wrong, "\n".join(map(str, wrong))


def test_both_communities_have_a_row_in_every_table(here: TwoCommunities) -> None:
    tables = {model._meta.db_table for model in apps.get_models(include_auto_created=True)}

    for table in tables - NEVER_FILLED - OF_THE_INSTALLATION:
        assert here.rows[table], table
        assert here.all_rows[table] - here.rows[table], table


# --- Addresses ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("area", "method"), list(product(["admin", "pages"], ["get", "post"])))
def test_each_role_gets_what_the_rows_say(here: TwoCommunities, area: str, method: str) -> None:
    wrong: list[Any] = []
    for route, (get, post) in TABLE.items():
        if route.startswith("admin/") != (area == "admin"):
            continue
        expected = get if method == "get" or post == "same" else post
        path = spelled(route, here.own)
        for role, status in zip(ROLES, map(int, expected.split()), strict=True):
            answer = ask(here, role, method, path, content_type=FORM)
            if answer.status != status:
                wrong.append((method, route, role, f"{answer.status} in place of {status}"))
            if answer.policy is not None and "img-src 'self' data:;" not in f"{answer.policy};":
                wrong.append((method, route, role, "may load pictures from elsewhere"))
            if answer.policy is not None and (foreign := foreign_pictures(answer.raw)):
                wrong.append((method, route, role, "shows", foreign))
            if route not in page_rows.FOR_HOLDERS:
                wrong += [(method, route, role, *fault) for fault in _faults(here, role, answer)]

    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("level", ["read", "edit", "own"])
def test_a_member_with_access_to_a_project_gets_no_more_than_that(here: TwoCommunities, level: str) -> None:
    """Rules 1.80 to 1.82. On the project they get what its creator gets, or creators of others do."""
    wrong: list[Any] = []
    member = here.own.callers["member"].user.memberships.get()
    draft = f"/admin/surveys/project/{here.own.ids['draft_id']}/"
    with taken_back():
        ProjectGrant.objects.create(member=member, project_id=here.own.ids["project_id"], level=level)
        for route, (get, post) in admin_rows.TABLE.items():
            path = spelled(f"admin/{route}", here.own)
            for method, expected in (("get", get), ("post", get if post == "same" else post)):
                status = expected.split()[ROLES.index(_like(level, method, route))]
                answer = ask(here, "member", method, path, content_type=FORM)
                if answer.status != int(status):
                    wrong.append((method, route, f"{answer.status} in place of {status}"))
                wrong += [(method, route, *fault) for fault in _faults(here, "member", answer)]
        statuses = {tab: ask(here, "member", "get", f"{draft}{tab}/").status for tab in ("script", "results")}
        assert statuses == dict.fromkeys(statuses, 404)

    assert not wrong, "\n".join(map(str, wrong))


def _like(level: str, method: str, route: str) -> str:
    """The role whose column says what a member with access to the project gets."""
    if route.startswith("picture/"):
        return "member" if level == "read" else "creator"
    if method == "post" and route.endswith("/script/duplicate/"):
        return "member"  # they make no projects
    if "<int:project_id>" not in route and route != "surveys/project/<path:object_id>/history/":
        return "member"
    is_owner = level == "own" or (level == "edit" and not route.startswith(admin_rows.OWNERS_ALONE))
    return "creator" if is_owner else "other creator"


def _faults(here: TwoCommunities, role: str, answer: Answer) -> list[tuple[str, object]]:
    """The faults of a response: data or changes that the role may not have."""
    words: list[tuple[str, object]] = [("says", word) for word in here.hidden_from(role) if answer.says(word)]
    harmed = here.harmed_by(answer.changes) if role in OUTSIDERS else []
    return words + ([("changes", harmed)] if harmed else [])


def test_an_address_with_an_id_of_ones_own_and_one_of_another_community_is_absent(
    here: TwoCommunities,
) -> None:
    wrong: list[Any] = []
    for route in TABLE:
        names = arguments_of(route)
        for name in names if len(names) > 1 else []:
            path = spelled(route, here.other, others={name: here.own})
            for method, allowed in (("get", {403, 404}), ("post", {403, 404, 405})):
                answer = ask(here, "foreign admin", method, path, content_type=FORM)
                if answer.status not in allowed and not (
                    answer.status == 405 and route.startswith("account/")
                ):
                    wrong.append((method, route, name, answer.status))
                wrong += [(method, route, name, *fault) for fault in _faults(here, "foreign admin", answer)]

    assert not wrong, "\n".join(map(str, wrong))


def test_the_script_editor_takes_what_the_rows_say(here: TwoCommunities) -> None:
    wrong: list[Any] = []
    for method, route, body, expected in admin_rows.SENT:
        for role, status in zip(ROLES, map(int, expected.split()), strict=True):
            answer = ask(here, role, method, spelled(route, here.own), body)
            if answer.status != status:
                wrong.append((method, route, role, f"{answer.status} in place of {status}", answer.raw[:200]))
            wrong += [(method, route, role, *fault) for fault in _faults(here, role, answer)]

    assert not wrong, "\n".join(map(str, wrong))


def test_ids_of_another_community_look_absent_on_ones_own_pages(here: TwoCommunities) -> None:
    wrong: list[Any] = []
    for method, route, of, sent in (*admin_rows.FOREIGN_IDS, *page_rows.FOREIGN_IDS):
        path, id = spelled(route, here.other), here.own.ids[of]
        answers = []
        for each in (id, _absent(id)):
            if not isinstance(sent, str):
                request = (method, path, _filled(sent, {"ID": each}))
                answers.append(ask(here, "foreign admin", *request))
                continue
            text = sent.replace("ID", str(each))
            body = b"" if text.startswith("?") else text.encode()
            address = path.partition("?")[0] + text if text.startswith("?") else path
            answers.append(ask(here, "foreign admin", method, address, body, content_type=FORM))
        wrong += [(method, route, sent, *fault) for fault in _faults(here, "foreign admin", answers[0])]
        if answers[0].status != answers[1].status:
            wrong.append((method, route, sent, answers[0].status, answers[1].status))

    assert not wrong, "\n".join(map(str, wrong))


def test_addresses_of_another_communitys_objects_look_like_absent_ones(here: TwoCommunities) -> None:
    nowhere = FilledCommunity("nowhere", Community(ABSENT_NUMBER), {})
    nowhere.ids |= {name: _absent(value) for name, value in here.own.ids.items()}
    wrong: list[Any] = []
    for route in TABLE:
        if not arguments_of(route) or route in page_rows.FOR_HOLDERS:
            continue
        for method in ("get", "post"):
            foreign, absent = (
                ask(here, "foreign admin", method, path, content_type=FORM)
                for path in (spelled(route, here.own), spelled(route, nowhere))
            )
            if (foreign.status, _unspelled(foreign.body)) != (absent.status, _unspelled(absent.body)):
                wrong.append((method, route, foreign.status, absent.status))

    assert not wrong, "\n".join(map(str, wrong))


def _unspelled(body: str) -> str:
    """A body without what differs with each request: tokens of forms, and the address that was asked for."""
    return re.sub(r'value="[\w-]{64}"|[0-9a-f-]{36}|\d{9,}', "", body)


@pytest.mark.parametrize("method", ["put", "delete"])
def test_other_methods_change_nothing_of_another_community(here: TwoCommunities, method: str) -> None:
    wrong: list[Any] = []
    for route in TABLE:
        if arguments_of(route) and route not in page_rows.FOR_HOLDERS:
            answer = ask(here, "foreign admin", method, spelled(route, here.own))
            if answer.status not in {302, 403, 404, 405}:
                wrong.append((route, answer.status))
            wrong += [(route, *fault) for fault in _faults(here, "foreign admin", answer)]

    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("area", ["admin", "account"])
def test_forms_and_links_with_ids_of_another_community_change_and_show_nothing(
    here: TwoCommunities, area: str
) -> None:
    """Every form that an admin finds on the pages of their own community, with each id replaced."""
    ids = _matching_ids(here)
    wrong: list[Any] = []
    sent: set[tuple[str, str, str]] = set()
    for route in TABLE:
        if not route.startswith(f"{area}/"):
            continue
        path = spelled(route, here.other)
        page = ask(here, "foreign admin", "get", path)
        for method, address, body in with_other_ids(page.raw, path, ids):
            known = (method, path_of(address), path_of(body.decode()))
            if known in sent or "logout" in address:
                continue
            sent.add(known)
            answer = ask(here, "foreign admin", method, address, body, content_type=FORM)
            wrong += [(*known, *fault) for fault in _faults(here, "foreign admin", answer)]

    assert not wrong, "\n".join(map(str, wrong))
    assert len(sent) > 5


def _matching_ids(here: TwoCommunities) -> dict[str, str]:
    """The ids of the other community, each with the id of the same kind in the first."""
    return {str(value): str(here.own.ids[name]) for name, value in here.other.ids.items()}


def test_a_community_that_asks_for_second_factors_opens_no_page_to_staff_without_one(
    here: TwoCommunities,
) -> None:
    """Each page that an admin opens and outsiders do not is refused, in the admin and the account area."""
    wrong: list[Any] = []
    refused = 0
    with taken_back():
        CommunitySettings.objects.filter(pk=here.own.community.pk).update(require_second_factor=True)
        here.browsers["superuser"].post(f"/admin/community/{here.own.community.pk}/")
        for route, role, method in product(_routes_of_staff(), ("admin", "superuser"), ("get", "post")):
            if role == "superuser" and not route.startswith("admin/"):
                continue  # a member of no community
            answer = ask(here, role, method, spelled(route, here.own), content_type=FORM)
            is_refusal = answer.status == 403 and answer.says("its staff")
            refused += is_refusal
            if not is_refusal and answer.status not in (404, 405):
                wrong.append((method, route, role, answer.status))
            if answer.changes.keys() - {"communities_communitysettings"}:
                wrong.append((method, route, role, "changes", answer.changes.keys()))
            if not is_refusal and answer.says(here.own.word):
                wrong.append((method, route, role, "says", here.own.word))

    assert not wrong, "\n".join(map(str, wrong))
    assert refused > 300


def _routes_of_staff() -> list[str]:
    """The addresses that open to admins of a community: in the admin, and of those in the account area."""
    found = []
    for route, (get, post) in TABLE.items():
        allowed = [row.split() for row in (get, get if post == "same" else post)]
        opens = any(row[ROLES.index("admin")] < "400" for row in allowed)
        is_closed = all(row[ROLES.index("nobody")] >= "400" for row in allowed)
        if opens and route not in NO_STAFF_PAGES and (is_closed or route.startswith("admin/")):
            found.append(route)
    return found


# --- The interface ------------------------------------------------------------------------------------


def _path(routed: Routed, *, place: FilledCommunity, of: Mapping[str, Any]) -> str:
    renamed = api_rows.TABLE[routed.permission].of
    ids = {name: of.get(name, place.ids[renamed.get(name, name)]) for name in _arguments(routed)}
    return routed.path.format(**ids)


def _arguments(routed: Routed) -> list[str]:
    return re.findall(r"{(\w+)}", routed.path)


def _filled(body: Any, ids: Mapping[str, Any]) -> Any:
    """A body with the ids that its texts in braces, or in capitals, name."""
    if isinstance(body, dict):
        return {name: _filled(value, ids) for name, value in body.items()}
    if isinstance(body, list):
        return [_filled(each, ids) for each in body]
    if not isinstance(body, str):
        return body
    name = body.strip("{}")
    return str(ids[name]) if name in api_rows.TEXTS else ids.get(name, body)


@pytest.mark.parametrize("is_write", [False, True])
def test_each_role_may_do_what_the_rows_say(here: TwoCommunities, is_write: bool) -> None:
    """Rule 1.33."""
    wrong: list[Any] = []
    for action, row in api_rows.TABLE.items():
        routed = ACTIONS[action]
        if routed.is_write != is_write:
            continue
        path, body = _path(routed, place=here.own, of={}), _filled(row.body, here.own.ids)
        path += row.query.format(**here.own.ids)
        statuses = {"yes": row.status, "no": 403, "absent": 404}
        expected = dict.fromkeys(("visitor", "nobody", "superuser"), 401)
        expected |= dict(
            zip(
                ("member", "other creator", "creator", "admin"),
                [statuses[word] for word in row.who.split()],
                strict=True,
            )
        )
        expected["foreign admin"] = 404 if "community_id" in _arguments(routed) else row.status
        for role in ROLES:
            answer = ask(here, role, routed.method, path, body, with_key=True)
            if answer.status != expected[role]:
                wrong.append(
                    (action, role, f"{answer.status} in place of {expected[role]}", answer.body[:200])
                )
            wrong += [(action, role, *fault) for fault in _faults(here, role, answer)]

    assert not wrong, "\n".join(map(str, wrong))


def test_whether_one_may_and_what_is_there_is_told_before_faults_of_the_input(here: TwoCommunities) -> None:
    """Rule 11.931. Each role gets 403 or 404 as with good input, and admins get 404 for each absent id."""
    wrong: list[Any] = []
    for action, row in api_rows.TABLE.items():
        routed = ACTIONS[action]
        body = dict.fromkeys(_fields_of(routed), 0.5)  # no field but an answer's value takes such a number
        if routed.is_write and not body:
            continue
        query = "" if routed.is_write else "?unknown=1"
        path = _path(routed, place=here.own, of={})
        expected = {"yes": 400, "no": 403, "absent": 404}
        asked = list(zip(("member", "other creator", "creator", "admin"), row.who.split(), strict=True))
        requests = [(path, role, expected[word]) for role, word in asked]
        for name in set(_arguments(routed)) - {"community_id"}:
            absent = _absent(here.own.ids.get(row.of.get(name, name)))
            requests.append((_path(routed, place=here.own, of={name: absent}), "admin", 404))
        for address, role, status in requests:
            answer = ask(here, role, routed.method, address + query, body or None, with_key=True)
            if answer.status != status:
                wrong.append((action, address, role, f"{answer.status} for {status}", answer.body[:200]))

    assert not wrong, "\n".join(map(str, wrong))


def _fields_of(routed: Routed) -> list[str]:
    """The fields of an action's body, at the top."""
    schemas = described()["components"]["schemas"]
    content = described()["paths"][routed.path][routed.method].get("requestBody", {}).get("content", {})
    schema = content.get("application/json", {}).get("schema", {})
    of = [schema, *schema.get("oneOf", [])]
    named = [schemas[each["$ref"].rpartition("/")[2]] if "$ref" in each else each for each in of]
    return [name for each in named for name in each.get("properties", {})]


def _absent(value: Any) -> Any:
    return ABSENT_UUID if isinstance(value, UUID) else ABSENT_NUMBER if isinstance(value, int) else "nothing"


def _compared(here: TwoCommunities, action: str, foreign: Any, absent: Any) -> list[Any]:
    """How the answers to an id of another community and to an absent one differ: path and body of each."""
    routed = ACTIONS[action]
    answers = [
        ask(here, "foreign admin", routed.method, path, body, with_key=True)
        for path, body in (foreign[:2], absent[:2])
    ]
    said = [
        each.body.replace(str(id).lower(), "ID")
        for each, id in zip(answers, (foreign[2], absent[2]), strict=True)
    ]
    wrong: list[Any] = [(action, *fault) for fault in _faults(here, "foreign admin", answers[0])]
    if answers[0].status != answers[1].status or said[0] != said[1]:
        wrong.append(
            (action, foreign[:2], answers[0].status, answers[1].status, said[0][:300], said[1][:300])
        )
    return wrong


def test_another_communitys_objects_look_exactly_like_absent_ones(here: TwoCommunities) -> None:
    """Rule 11.10, for each id in each path: below the other community, and below one's own."""
    wrong: list[Any] = []
    for action, row in api_rows.TABLE.items():
        routed, body = ACTIONS[action], _filled(row.body, here.other.ids)
        for name in _arguments(routed):
            if name == "template_id" or (action, name) == api_rows.COPYABLE:
                continue
            value = here.own.ids[row.of.get(name, name)]
            query = row.query.format(**here.other.ids)
            paths = [
                _path(routed, place=here.other, of={name: each}) + query for each in (value, _absent(value))
            ]
            wrong += _compared(here, action, (paths[0], body, value), (paths[1], body, _absent(value)))
        if "community_id" in _arguments(routed):
            absent = {"community_id": ABSENT_NUMBER}
            paths = [_path(routed, place=here.own, of=of) for of in ({}, absent)]
            ids = here.own.community.pk, ABSENT_NUMBER
            wrong += _compared(here, action, (paths[0], body, ids[0]), (paths[1], body, ids[1]))

    assert not wrong, "\n".join(map(str, wrong))


def test_a_test_key_sees_and_changes_nothing_of_the_live_side(
    here: TwoCommunities, monkeypatch: MonkeyPatch
) -> None:
    """Rule 1.762. The key of an admin of the first community, with each id of that community."""
    wrong: list[Any] = []
    with taken_back():
        made = here.own.callers["admin"].post("/api_keys", {"name": "Tests", "mode": "test"}).json()
        monkeypatch.setitem(here.keys, "nobody", made["key"])
        here.own.callers["admin"].client.get("/v1/communities", headers={"X-API-Key": made["key"]})
        User.objects.filter(pk=here.own.callers["admin"].user.pk).update(name="Maker")
        Member.objects.filter(user=here.own.callers["admin"].user.pk).update(nick="Maker")
        test = Community.objects.get(test_of=here.own.community)
        Community.objects.filter(pk=test.pk).update(name="Tests", topics=[], icon_url=None)
        CommunitySettings.objects.filter(pk=test.pk).update(thank_you_custom_message="", xp_name="XP")
        monkeypatch.setattr(here, "all_rows", dump())
        for action, row in api_rows.TABLE.items():
            routed, body = ACTIONS[action], _filled(row.body, here.own.ids)
            path = _path(routed, place=here.own, of={}) + row.query.format(**here.own.ids)
            answer = ask(here, "nobody", routed.method, path, body, with_key=True)
            names = set(_arguments(routed)) - {"community_id", "template_id"}
            if names and answer.status != 404:
                wrong.append((action, answer.status, answer.body[:200]))
            wrong += [(action, "says", word) for word in here.hidden_from("nobody") if answer.says(word)]
            # The test side, which counts its projects, names its community.
            changed = here.harmed_by({**answer.changes, COMMUNITY: set()})
            is_harmed = changed or answer.changes.get(COMMUNITY, set()) & here.rows[COMMUNITY]
            wrong += [(action, "changes", changed)] if is_harmed else []

    assert not wrong, "\n".join(map(str, wrong))


def test_ids_of_another_community_in_queries_look_absent(here: TwoCommunities) -> None:
    wrong: list[Any] = []
    for action, parameter, of in api_rows.QUERIES:
        path = _path(ACTIONS[action], place=here.other, of={})
        value = here.own.ids[of]
        foreign, absent = ((f"{path}?{parameter}={id}", None, id) for id in (value, _absent(value)))
        wrong += _compared(here, action, foreign, absent)

    assert not wrong, "\n".join(map(str, wrong))


def test_ids_of_another_community_in_bodies_look_absent(here: TwoCommunities) -> None:
    wrong: list[Any] = []
    for action, _, of, body in api_rows.BODIES:
        path, value = _path(ACTIONS[action], place=here.other, of={}), here.own.ids[of]
        requests = []
        for each in (value, _absent(value)):
            id = str(each) if of in api_rows.TEXTS else each
            requests.append((path, _filled(body, here.other.ids | {"ID": id}), each))
        wrong += _compared(here, action, *requests)

    assert not wrong, "\n".join(map(str, wrong))


def test_a_project_that_a_member_must_not_see_is_not_found(here: TwoCommunities) -> None:
    wrong = []
    with taken_back():
        Project.objects.filter(pk=here.own.ids["project_id"]).update(status="inactive")
        for action, row in api_rows.TABLE.items():
            if "project_id" in _arguments(ACTIONS[action]) and action not in api_rows.OF_CLOSED_ONES:
                path, body = _path(ACTIONS[action], place=here.own, of={}), _filled(row.body, here.own.ids)
                path += row.query.format(**here.own.ids)
                answer = ask(here, "member", ACTIONS[action].method, path, body, with_key=True)
                wrong += [(action, answer.status)] if answer.status != 404 else []

    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("action", api_rows.STATES)
def test_projects_that_are_closed_or_private_have_fewer_readers(here: TwoCommunities, action: str) -> None:
    expected, wrong = {"yes": api_rows.TABLE[action].status, "no": 403, "absent": 404}, []
    for fields, who in api_rows.STATES[action]:
        for role, word in zip(("member", "other creator", "creator", "admin"), who.split(), strict=True):
            with taken_back():
                Project.objects.filter(pk=here.own.ids["project_id"]).update(**fields)
                path = _path(ACTIONS[action], place=here.own, of={})
                path += api_rows.TABLE[action].query.format(**here.own.ids)
                answer = ask(here, role, ACTIONS[action].method, path, with_key=True)
            if answer.status != expected[word]:
                wrong.append((fields, role, answer.status))

    assert not wrong, "\n".join(map(str, wrong))
