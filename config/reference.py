"""The reference of `/docs`: the OpenAPI description as data for templates, read once for each process.

Operations are grouped by their tag. A group also has the objects that no group before it uses, so that a
reader finds them beside the operations.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from http import HTTPStatus
from typing import Any

from django.urls import reverse
from django.utils.text import slugify
from markupsafe import Markup

from communities.gate import schema_words
from config import documents, openapi
from config.samples import Sample, pretty, samples

Json = dict[str, Any]

TAGS = (
    "Communities",
    "Members",
    "Projects",
    "Scripts",
    "Templates",
    "Conversations",
    "Responses",
    "Analysis",
    "Personal links",
    "Webhooks",
    "Webhook deliveries",
    "Events",
    "API keys",
    "Audit trail",
)
JSON = "application/json"
_WHO = "Who may call: "
_LEAD = re.compile(r"\*\*([^*]+)\*\*\s*")
_MOST_VALUES = 8  # that are listed beside a field
_DEEPEST = 8  # levels of an example


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an object, or a parameter: its type and its limits in words."""

    name: str
    type: Markup
    description: Markup
    is_required: bool = False
    place: str = ""  # of a parameter: `path`, `query` or `header`
    value: str = ""  # an example


@dataclass(frozen=True, slots=True)
class Object:
    """A component of the description that has fields, or is one of several others."""

    name: str
    description: Markup
    fields: Sequence[Field]
    kinds: Sequence[Markup] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """A status that refuses a request, with the codes of its errors."""

    status: str
    name: str
    codes: Sequence[str]
    description: Markup


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of the interface, or the delivery of one type of events."""

    id: str
    method: str
    path: str
    title: str
    description: Markup
    words: str  # its description, for the search
    who: Markup
    parameters: Sequence[Field]
    body: Sequence[Field]
    body_type: Markup
    answers: Sequence[tuple[str, Markup]]
    example: str
    sent: str
    refusals: Sequence[Refusal]
    samples: Sequence[Sample]


@dataclass(frozen=True, slots=True)
class Group:
    """The operations of a tag, and the objects that they use and no group before."""

    name: str
    operations: list[Operation] = field(default_factory=list)
    objects: list[Object] = field(default_factory=list)

    @property
    def slug(self) -> str:
        return slugify(self.name)


def address_of(slug: str) -> str:
    """Return the address of the page of a group."""
    return reverse("docs-reference-group", args=[slug])


@cache
def groups() -> Mapping[str, Group]:
    """Return the groups by the last part of their addresses, in the order of the menu."""
    return _Reader(openapi.description()).groups()


@cache
def introduction() -> Sequence[tuple[str, str, Markup]]:
    """Return the parts of the description's introduction: heading, anchor, text. The first has no heading."""
    parts = list[tuple[str, list[str]]]([("", [])])
    for paragraph in str(openapi.description()["info"]["description"]).split("\n\n"):
        if lead := _LEAD.match(paragraph):  # `**Keys.** Every request …`, or `**Errors** are …`
            heading = lead[1].removesuffix(".")
            parts.append((heading, []))
            paragraph = (
                paragraph[lead.end() :] if heading != lead[1] else f"{heading} {paragraph[lead.end() :]}"
            )
        parts[-1][1].append(paragraph)
    return [(heading, slugify(heading), documents.rendered("\n\n".join(texts))) for heading, texts in parts]


@cache
def refusals() -> Sequence[Refusal]:
    """Return the refusals that operations share, by status."""
    found = {each.status: each for each in _usual()}
    for name, response in openapi.description()["components"]["responses"].items():
        for status in HTTPStatus:  # a shared response has the name of its status
            if slugify(status.phrase) == slugify(_words(name)):
                found.setdefault(str(status.value), _refusal(str(status.value), response))
    return [found[status] for status in sorted(found) if found[status].codes]


@cache
def _usual() -> Sequence[Refusal]:
    """The refusals of every operation, which the description has as one response."""
    return [_as_refusal(status, *found) for status, found in schema_words.REFUSALS.items()]


def _refusal(status: str, response: Json) -> Refusal:
    examples = response.get("content", {}).get(JSON, {}).get("examples", {}).values()
    return _as_refusal(status, response["description"], [each["value"] for each in examples])


def _as_refusal(status: str, description: str, examples: Sequence[Json]) -> Refusal:
    codes = list(dict.fromkeys(each["error"] for each in examples))
    return Refusal(status, HTTPStatus(int(status)).phrase, codes, documents.rendered(description))


def _words(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)


class _Reader:
    """Reads one description. Objects belong to the first group whose operations reach them."""

    def __init__(self, description: Json) -> None:
        self._description = description
        self._components: Json = description["components"]
        self._schemas: Json = self._components["schemas"]
        self._group_of: dict[str, str] = {}

    def groups(self) -> Mapping[str, Group]:
        by_tag: dict[str, list[tuple[str, str, Json]]] = {tag: [] for tag in TAGS}
        for path, methods in self._description["paths"].items():
            for method, operation in methods.items():
                by_tag[operation["tags"][0]].append((method.upper(), path, operation))
        for name, methods in self._description["webhooks"].items():
            by_tag["Events"].append(("EVENT", name, methods["post"]))
        for tag, found in by_tag.items():
            for _, _, operation in found:
                self._claim(operation, slugify(tag))
        made = [Group(tag, [self._operation(*each) for each in found]) for tag, found in by_tag.items()]
        by_slug = {group.slug: group for group in made}
        for name in self._group_of:
            if (each := self._object(name)) is not None:
                by_slug[self._group_of[name]].objects.append(each)
        return by_slug

    def _claim(self, node: Any, slug: str) -> None:
        if isinstance(node, list):
            for each in node:
                self._claim(each, slug)
        elif isinstance(node, dict):
            for key, value in node.items():
                if key == "$ref" and value.startswith("#/components/"):
                    kind, name = value.split("/")[2:]
                    if kind == "schemas" and name not in self._group_of:
                        self._group_of[name] = slug
                        self._claim(self._schemas[name], slug)
                    elif kind == "parameters":
                        self._claim(self._components[kind][name], slug)
                elif key not in ("example", "examples"):
                    self._claim(value, slug)

    # --- Operations -----------------------------------------------------------------------------------

    def _operation(self, method: str, path: str, operation: Json) -> Operation:
        words, _, who = operation["description"].partition(_WHO)
        parameters = [self._resolved(each) for each in operation.get("parameters", [])]
        content = self._resolved(operation.get("requestBody", {})).get("content", {})
        schema = content.get(JSON, {}).get("schema", {})
        examples = [each["value"] for each in content.get(JSON, {}).get("examples", {}).values()]
        sent = examples[0] if examples else self._example(schema) if schema and method == "EVENT" else None
        is_event = method == "EVENT"
        answers = [each for each in operation["responses"].items() if each[0] < "4" or is_event]
        made = Operation(
            id=operation["operationId"],
            method=method,
            path=path,
            title=operation["summary"],
            description=documents.rendered(words),
            words=words,
            who=documents.rendered(who).removeprefix(Markup("<p>")).removesuffix(Markup("</p>\n")),
            parameters=[self._parameter(each) for each in parameters],
            body=self._fields(schema),
            body_type=self._type(schema) if schema else Markup(""),
            answers=[(status, self._answer(each)) for status, each in answers],
            example=self._response_example(answers) if not is_event else "",
            sent=pretty(sent) if sent is not None else "",
            refusals=[] if is_event else self._refusals(method, operation["responses"]),
            samples=() if is_event else samples(method, path, parameters, sent),
        )
        return made

    def _refusals(self, method: str, responses: Json) -> Sequence[Refusal]:
        """The refusals of an operation: its own, and those of all operations."""
        own = {
            status: _refusal(status, self._resolved(each))
            for status, each in responses.items()
            if "400" <= status < "600"
        }
        is_write = method != "GET"
        usual = {
            each.status: each
            for each in _usual()
            if is_write or each.status not in schema_words.STATUSES_OF_WRITES
        }
        return [found for _, found in sorted((usual | own).items())]

    def _parameter(self, parameter: Json) -> Field:
        return Field(
            parameter["name"],
            self._type(parameter.get("schema", {})),
            documents.rendered(parameter.get("description", "")),
            bool(parameter.get("required")),
            parameter["in"],
        )

    def _answer(self, response: Json) -> Markup:
        response = self._resolved(response)
        schema = response.get("content", {}).get(JSON, {}).get("schema")
        if schema:
            return self._type(schema)
        return documents.rendered(response["description"] or "The file.")

    def _response_example(self, answers: Sequence[tuple[str, Json]]) -> str:
        for _, response in answers:
            content = self._resolved(response).get("content", {}).get(JSON)
            if content:
                return pretty(self._example(content["schema"]))
        return ""

    # --- Objects --------------------------------------------------------------------------------------

    def _object(self, name: str) -> Object | None:
        """The component as an object; None for an enumeration, because its fields list its values."""
        schema = self._schemas[name]
        kinds = [self._type(each) for each in schema.get("oneOf", schema.get("anyOf", []))]
        fields = self._fields(schema)
        if not fields and not kinds:
            return None
        return Object(name, documents.rendered(schema.get("description", "")), fields, kinds)

    def _fields(self, schema: Json) -> Sequence[Field]:
        schema = self._merged(schema)
        required = schema.get("required", ())
        return [
            Field(
                name,
                self._type(each),
                documents.rendered(self._said(each)),
                name in required,
                value=json.dumps(each["examples"][0], ensure_ascii=False) if each.get("examples") else "",
            )
            for name, field in schema.get("properties", {}).items()
            for each in [self._text_of(field)]
        ]

    def _text_of(self, field: Json) -> Json:
        """A field that refers to a text, as that text; any other field as it is."""
        target = self._resolved(field)
        is_text = target.get("type") == "string" and "enum" not in target
        return (
            {**target, **{key: value for key, value in field.items() if key != "$ref"}} if is_text else field
        )

    def _said(self, schema: Json) -> str:
        """The description of a field, with the values of its enumeration, and its limits."""
        texts = [schema.get("description", "")]
        if values := self._values(schema):
            listed = ", ".join(f"`{value}`" for value in values[:_MOST_VALUES])
            texts.append(f"One of {listed}{' …' if len(values) > _MOST_VALUES else ''}.")
        limits = [
            words.format(schema[key])
            for key, words in (
                ("minimum", "at least {:,}"),
                ("maximum", "at most {:,}"),
                ("maxLength", "at most {:,} characters"),
                ("maxItems", "at most {:,} elements"),
            )
            if isinstance(schema.get(key), int | float) and abs(schema[key]) < 1e15
        ]
        if limits:
            text = ", ".join(limits)
            texts.append(f"{text[0].upper()}{text[1:]}.")
        if schema.get("readOnly"):
            texts.append("Read-only.")
        return " ".join(filter(None, texts))

    def _values(self, schema: Json) -> Sequence[str]:
        for each in [schema, *schema.get("anyOf", ()), *schema.get("oneOf", ())]:
            found = self._resolved(each)
            if "enum" in found:
                return [str(value) for value in found["enum"] if value is not None]
        return [schema["const"]] if isinstance(schema.get("const"), str) else []

    def _type(self, schema: Json) -> Markup:
        """The type in words, with links to objects."""
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            target = self._resolved(schema)
            if "enum" in target:
                return Markup("text")
            slug = self._group_of.get(name)
            address = f"{address_of(slug)}#{name}" if slug else f"#{name}"
            return Markup('<a href="{}">{}</a>').format(address, name)
        for key in ("oneOf", "anyOf"):
            if key in schema:
                parts = list(dict.fromkeys(map(self._type, schema[key])))
                return Markup(" or ").join(parts)
        if len(schema.get("allOf", ())) == 1:
            return self._type(schema["allOf"][0])
        kinds = schema.get("type", "object")
        names = [self._kind(each, schema) for each in ([kinds] if isinstance(kinds, str) else kinds)]
        return Markup(" or ").join(names)

    def _kind(self, kind: str, schema: Json) -> Markup:
        if kind == "array":
            return Markup("list of ") + self._type(schema.get("items", {}))
        if kind == "object" and isinstance(more := schema.get("additionalProperties"), dict):
            return Markup("map of ") + self._type(more)
        if kind == "string":
            return Markup(
                {"date-time": "time", "uuid": "UUID", "uri": "address"}.get(schema.get("format", ""), "text")
            )
        return Markup({"boolean": "true or false", "object": "object", "number": "number"}.get(kind, kind))

    def _resolved(self, node: Json) -> Json:
        while "$ref" in node:
            kind, name = node["$ref"].split("/")[2:]
            node = self._components[kind][name]
        return node

    def _merged(self, schema: Json) -> Json:
        """The schema of an object with the parts of `allOf` in one."""
        schema = self._resolved(schema)
        if "allOf" not in schema:
            return schema
        parts = [self._merged(each) for each in schema["allOf"]]
        properties = {name: each for part in parts for name, each in part.get("properties", {}).items()}
        required = [name for part in parts for name in part.get("required", ())]
        merged = {"properties": properties, "required": required}
        examples = schema.get("examples") or (
            [{key: value for part in parts for key, value in self._example(part).items()}]
            if any(part.get("examples") for part in parts)
            else []
        )
        return merged | ({"examples": examples} if examples else {})

    def _example(self, schema: Json, depth: int = 0) -> Any:
        """A value of the schema: its own example, or one that is made of those of its parts."""
        if "example" in schema:
            return schema["example"]
        whole = self._merged(schema)
        if examples := schema.get("examples") or whole.get("examples"):
            return examples[0]
        schema = whole
        if "const" in schema or "enum" in schema:
            return schema.get("const", (schema.get("enum") or [None])[0])
        for key in ("oneOf", "anyOf"):
            if key in schema:
                is_plain = {"type": "null"} in schema[key] and not self._shows(schema[key][0])
                return None if is_plain else self._example(schema[key][0], depth + 1)
        if depth > _DEEPEST:
            return None
        if "properties" in schema:
            return {name: self._example(each, depth + 1) for name, each in schema["properties"].items()}
        kinds = schema.get("type", "object")
        if "null" in kinds and "items" not in schema:
            return None
        match kinds if isinstance(kinds, str) else kinds[0]:
            case "array":
                return [self._example(schema.get("items", {}), depth + 1)]
            case "string":
                return _TEXTS.get(schema.get("format", ""), "text")
            case "integer" | "number":
                return max(schema.get("minimum", 1), 1)
            case "boolean":
                return True
        return {}

    def _shows(self, schema: Json) -> bool:
        """Whether an object has an example, or a field with one."""
        merged = self._merged(schema)
        return bool(merged.get("examples")) or any(
            "examples" in each or ("$ref" in each and self._shows(each))
            for each in merged.get("properties", {}).values()
        )


_TEXTS = {
    "date-time": "2026-01-31T09:30:00Z",
    "uuid": "019c1234-5678-7abc-8def-0123456789ab",
    "uri": "https://example.org",
}
