"""The description of the interface: as promised, complete, and true to the routes."""

from __future__ import annotations

import ast
import difflib
import gzip
import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from django.test import Client
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiYamlRenderer
from drf_spectacular.validation import validate_schema

from communities.gate.envelope import STATUS
from communities.gate.validation import VIOLATION_CODES
from config import reference
from surveys.api.conversation_examples import ACTIVE
from surveys.engine.script import BLOCK_TYPES
from tests.support import our_code
from tests.support.cases import try_each
from tests.support.openapi import ANY_REFUSAL, as_sent, component, described
from tests.support.openapi import operations as all_operations
from tests.support.routes import routed_actions
from webhooks.events import EventType

PROMISED = Path(__file__).parent / "openapi.yml"
EVERYWHERE = {"400", "401", "403", "404", "429", "500", "503"}
OF_WRITES = {"409", "413", "415"}
STRINGS = "Community", "Project", "Response", "Member", "Webhook", "Delivery", "ApiKey"
INTEGERS = "SeenBlockFields", "XpEntry", "VerifiedSource"
RATE_HEADERS = {"X-Request-Id", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"}


LONGEST_DESCRIPTION = 700  # characters
OWN_REFUSALS = {"400", "402", "409"}
FILES = {"text/csv", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"}


def operations() -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (method, path, operation)
        for path, methods in described()["paths"].items()
        for method, operation in methods.items()
    ]


def contents() -> list[tuple[str, dict[str, Any]]]:
    """Every body of requests and responses, with its place in the description; except bodies of files."""
    found = []
    for _, _, operation in operations():
        name = operation["operationId"]
        if "requestBody" in operation:
            found.append((f"{name} request", operation["requestBody"]["content"]["application/json"]))
        for status, response in operation["responses"].items():
            if not response.get("content", {}).keys() <= FILES:
                found.append((f"{name} {status}", response["content"]["application/json"]))
    for name, path in described()["webhooks"].items():
        found.append((f"{name} told", path["post"]["requestBody"]["content"]["application/json"]))
    return found


def test_the_description_is_the_one_that_was_promised() -> None:
    """Rule 11.29."""
    schema = SchemaGenerator().get_schema(request=None, public=True)
    now = OpenApiYamlRenderer().render(schema, renderer_context={}).decode()

    difference = difflib.unified_diff(PROMISED.read_text().splitlines(), now.splitlines(), lineterm="", n=1)
    assert not list(difference), "`make schema` writes tests/openapi.yml anew; read what changes for callers."


@pytest.mark.long
def test_it_is_a_valid_description() -> None:
    validate_schema(described())


def test_every_routed_action_is_described_and_nothing_else() -> None:
    routed = {(route.method, route.path) for route in routed_actions()}

    assert {(method, path) for method, path, _ in operations()} == routed


@try_each("field", ["operationId", "summary", "description", "tags", "security"])
def test_every_operation_says_what_it_is(field: str) -> None:
    silent = [f"{method} {path}" for method, path, operation in operations() if not operation.get(field)]

    assert silent == []


def test_operations_have_names_of_their_own() -> None:
    names = [operation["operationId"] for _, _, operation in operations()]

    assert len(names) == len(set(names))


def test_ids_are_strings_or_integers() -> None:
    """Rule 1.1."""
    schemas = described()["components"]["schemas"]

    def kinds(*names: str) -> set[str]:
        return {str(schemas[name]["properties"]["id"]["type"]) for name in names}

    assert kinds(*STRINGS) == {"string"}
    assert kinds(*INTEGERS) == {"integer"}
    assert kinds("BlockFields", "Option") == {"['integer', 'null']"}  # null where they are added


def test_the_reference_shows_an_example_of_every_body_that_fits() -> None:
    """Rule 11.904."""
    schema = as_sent()
    by_id = {each["operationId"]: each for each in all_operations(schema)}
    misfits, shown = [], 0
    for each in (each for group in reference.groups().values() for each in group.operations):
        described = by_id[each.id]
        answers = [body for status, body in described["responses"].items() if status < "3"][:1]
        for body, text in [
            (described.get("requestBody"), each.sent),
            *((body, each.example) for body in answers),
        ]:
            content = (body or {}).get("content", {}).get("application/json")
            if content:
                whole = {**content["schema"], "components": schema["components"]}
                validator = jsonschema_rs.Draft202012Validator(whole)
                misfits += [
                    f"{each.id}: {error.message}" for error in validator.iter_errors(json.loads(text))
                ]
                shown += 1

    assert misfits == []
    assert shown > 100


def test_an_example_that_the_reference_puts_together_shows_one_object_at_one_moment() -> None:
    """Rule 11.950."""
    shown = {each.id: each.example for group in reference.groups().values() for each in group.operations}

    assert json.loads(shown["conversations_get"]) == ACTIVE
    assert json.loads(shown["analysis_get"])["status"] == "completed"


def test_every_example_fits_its_schema() -> None:
    components = {"components": described()["components"]}
    misfits = []
    told = [
        (f"{where}, {name}", content["schema"], example["value"])
        for where, content in contents()
        for name, example in content.get("examples", {}).items()
    ]
    told += [
        (name, schema, example)
        for name, schema in components["components"]["schemas"].items()
        for example in schema.get("examples", [])
    ]
    validators: dict[str, jsonschema_rs.Draft202012Validator] = {}  # many contents have the same schema
    for where, schema, example in told:
        if str(schema) not in validators:
            validators[str(schema)] = jsonschema_rs.Draft202012Validator({**schema, **components})
        misfits += [
            f"{where}: {error.message} at {list(error.instance_path)}"
            for error in validators[str(schema)].iter_errors(example)
        ]

    assert len(told) > 100
    assert misfits == []


def test_every_schema_is_a_valid_one() -> None:
    for name, schema in described()["components"]["schemas"].items():
        assert jsonschema_rs.meta.is_valid(
            {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
        ), name


def test_nothing_is_described_that_nothing_refers_to() -> None:
    schema = as_sent()
    text = str(schema)

    for kind in ("schemas", "responses", "parameters", "headers"):
        assert [n for n in schema["components"][kind] if f"'#/components/{kind}/{n}'" not in text] == []


def test_enumerations_have_names() -> None:
    schema = as_sent()

    def unnamed(node: Any, path: str) -> list[str]:
        if isinstance(node, list):
            return [found for n, each in enumerate(node) for found in unnamed(each, f"{path}/{n}")]
        if not isinstance(node, dict):
            return []
        own = (
            [path] if len([each for each in node.get("enum", []) if each]) > 1 and path.count("/") > 3 else []
        )
        parts = [(key, each) for key, each in node.items() if key not in ("examples", "example")]
        return own + [found for key, each in parts for found in unnamed(each, f"{path}/{key}")]

    assert unnamed(schema, "") == []


def test_blocks_steps_answers_and_events_are_unions_by_type() -> None:
    schemas = described()["components"]["schemas"]

    for name in ("Block", "SeenBlock"):
        assert set(schemas[name]["discriminator"]["mapping"]) == set(BLOCK_TYPES)
    assert set(schemas["WebhookEvent"]["discriminator"]["mapping"]) == set(EventType.values)
    assert len(schemas["AnswerRequest"]["anyOf"]) == 5
    assert schemas["Deletion"]["properties"]["deleted"]["const"] is True


def test_what_operations_have_in_common_is_described_once() -> None:
    schema = as_sent()
    told = [methods["post"] for methods in schema["webhooks"].values()]
    for operation in all_operations(schema):
        for status, response in operation["responses"].items():
            assert "$ref" in response or status in OWN_REFUSALS or status < "400" or operation in told


def test_every_operation_tells_of_every_refusal() -> None:
    """Rule 11.900."""
    schema = as_sent()
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            assert operation["responses"]["default"] == ANY_REFUSAL, f"{method} {path}"
    text = component(ANY_REFUSAL)["description"]
    assert [status for status in EVERYWHERE | OF_WRITES if f"`{status}`: " not in text] == []


def test_every_refusal_tells_of_the_limit_and_its_request() -> None:
    for method, path, operation in operations():
        for status, response in operation["responses"].items():
            if status >= "400":
                assert set(response["headers"]) >= RATE_HEADERS, f"{method} {path} {status}"
    assert [name for name in RATE_HEADERS if f"`{name}`" not in described()["info"]["description"]] == []


def test_every_operation_says_who_may_call_it() -> None:
    for method, path, operation in operations():
        assert "Who may call: " in operation["description"], f"{method} {path}"


def test_operations_are_described_in_short() -> None:
    """Rule 11.908."""
    long = {name: len(text) for name, text in _descriptions() if len(text) > LONGEST_DESCRIPTION}

    assert long == {}


def _descriptions() -> list[tuple[str, str]]:
    """Each description of an operation, and each of a field or an object."""
    schemas = described()["components"]["schemas"]
    fields = [
        (f"{name}.{key}", field.get("description", ""))
        for name, schema in schemas.items()
        for part in schema.get("allOf", [schema])
        for key, field in part.get("properties", {}).items()
    ]
    objects = [(name, schema.get("description", "")) for name, schema in schemas.items()]
    return fields + objects + [(each["operationId"], each["description"]) for _, _, each in operations()]


def test_refusals_that_ask_to_wait_tell_for_how_long() -> None:
    for _, _, operation in operations():
        assert {"Retry-After"} <= set(operation["responses"]["429"]["headers"])
        assert {"Retry-After"} <= set(operation["responses"]["503"]["headers"])


def test_writes_take_an_idempotency_key_and_reads_do_not() -> None:
    for method, path, operation in operations():
        names = {parameter["name"] for parameter in operation.get("parameters", [])}
        assert ("Idempotency-Key" in names) == (method != "get"), f"{method} {path}"


def test_moves_that_a_retry_repeats_say_how_to_repeat_them_safely() -> None:
    schemas = described()["components"]["schemas"]
    texts = {
        operation["operationId"]: operation["description"]
        for _, _, operation in operations()
        if "block_id" in (body := schemas.get(_body_of(operation), {})).get("properties", {})
        and "block_id" not in body.get("required", [])
    }

    assert texts.keys() >= {"conversations_back", "conversations_continue"}
    for name, text in texts.items():
        assert ("`block_id`" in text, "`Idempotency-Key`" in text) == (True, True), name


def _body_of(operation: dict[str, Any]) -> str:
    """The name of the schema of an operation's JSON body; empty without one."""
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    return content.get("schema", {}).get("$ref", "").rpartition("/")[2]


def test_both_vocabularies_are_listed_for_people_and_for_programs() -> None:
    text = described()["info"]["description"]
    schemas = described()["components"]["schemas"]

    assert [code for code in [*STATUS, *VIOLATION_CODES] if f"`{code}`" not in text] == []
    assert schemas["ViolationCode"]["enum"] == list(VIOLATION_CODES)
    assert {*schemas["ErrorError"]["enum"], "rate_limit_exceeded"} == set(STATUS)


def test_every_code_that_the_source_gives_to_a_violation_is_in_the_vocabulary() -> None:
    makers = {"violation", "Violation", "refuse", "field_violation", "InvalidAnswer", "report"}
    calls = [
        node
        for module in our_code.modules(*makers)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and len(node.args) > 1
        if getattr(node.func, "id", getattr(node.func, "attr", None)) in makers
    ]

    codes = {call.args[1].value for call in calls if isinstance(call.args[1], ast.Constant)}

    assert "cursor_expired" in codes
    assert codes <= set(VIOLATION_CODES)


def test_blocks_are_described_from_the_table_the_engine_reads_by() -> None:
    assert {"Script", "Block", "BlockPatch", "Option", "Scale"} <= set(described()["components"]["schemas"])


def test_every_event_is_described_for_people_and_for_programs() -> None:
    text = described()["info"]["description"]

    assert set(described()["webhooks"]) == set(EventType.values)
    assert [name for name in EventType.values if f"`{name}`" not in text] == []


def test_anybody_gets_it_over_http() -> None:
    answer = Client().get("/v1/openapi.json")

    assert answer.status_code == 200
    assert answer["Content-Type"] == "application/json"
    assert answer.json()["info"]["version"] == "1.0.0"
    assert answer.json()["paths"].keys() == described()["paths"].keys()


def test_it_can_be_kept_by_caches() -> None:
    assert "max-age" in Client().get("/v1/openapi.json")["Cache-Control"]


def test_a_copy_that_the_client_has_is_not_sent_again() -> None:
    first = Client().get("/v1/openapi.json", headers={"Accept-Encoding": "gzip"})

    assert first["Content-Encoding"] == "gzip"
    assert len(first.content) < 66_000
    assert len(gzip.decompress(first.content)) < 310_000
    again = Client().get("/v1/openapi.json", headers={"If-None-Match": first["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert Client().get("/v1/openapi.json", headers={"If-None-Match": '"other"'}).status_code == 200
