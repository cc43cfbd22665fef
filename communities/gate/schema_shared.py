"""Parts that several operations of the OpenAPI description have in common, moved into its components.

The description repeats nothing large, so that it is small and generated clients have one type for one thing:
refusals, parameters, enumerations, and objects that are sent in the same form as they are read.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

Schema = dict[str, Any]

_JSON = "application/json"
LONGEST_FURTHER_EXAMPLE = 250  # characters
LEAST_REPEATED = 60  # characters of a description
LEAST_SHOWN = 0.5  # of an example, the part that shows other objects, which have examples of their own
LEAST_INHERITED = 300  # characters of the fields that an object has in common with another
_EMPTY_TEXT = {"type": "string", "maxLength": 0}
_SENT = "Request"  # The end of the names of components that describe bodies of requests.


def share(result: Schema, **_: Any) -> Schema:
    """Move what is repeated into components; drf-spectacular's last post-processing hook."""
    result = json.loads(json.dumps(result, default=str))  # Parts that are one object become their own.
    components = result["components"]
    operations = list(_operations(result))
    components["schemas"] = _one_schema_for_both_ways(result)
    _clean(result)
    components["schemas"] |= _named_enums(result)
    _inherit(components["schemas"])
    _move_examples(result)
    _part_examples(components["schemas"])
    _shorten(components["schemas"])
    components["responses"] |= _shared_responses(operations)
    components["parameters"] = _shared_parameters(operations)
    for kind in components:
        components[kind] = dict(sorted(components[kind].items()))
    return result


def _operations(result: Schema) -> Iterator[Schema]:
    for place in ("paths", "webhooks"):
        for methods in result[place].values():
            yield from methods.values()


def _walk(node: Any) -> Iterator[Schema]:
    """All objects of the description, an object before its parts. Examples are data and no part of it."""
    if isinstance(node, dict):
        yield node
        for key, value in node.items():
            if key not in ("example", "examples", "enum", "const", "default"):
                yield from _walk(value)
    elif isinstance(node, list):
        for each in node:
            yield from _walk(each)


def _one_schema_for_both_ways(result: Schema) -> Schema:
    """The components. A part of a body that is read as it is sent gets one name in place of two.

    drf-spectacular describes it twice, and says only for requests that a text must not be empty.
    """
    schemas: Schema = result["components"]["schemas"]
    twice = {name + _SENT: name for name in schemas if name + _SENT in schemas}
    while changed := [
        sent for sent, read in twice.items() if _form(schemas[sent], twice) != _form(schemas[read], twice)
    ]:
        for sent in changed:
            del twice[sent]
    for node in _walk(result):
        name = str(node.get("$ref", "")).rpartition("/")[2]
        if name in twice:
            node["$ref"] = _ref("schemas", twice[name])["$ref"]
    return {
        twice.get(name, name): schemas[name + _SENT] if name + _SENT in twice else schema
        for name, schema in schemas.items()
        if name not in twice
    } | {read: schemas[sent] for sent, read in twice.items()}


def _form(schema: Schema, twice: Mapping[str, str]) -> str:
    """The schema as text, with one name for each pair of synonyms, and without the least length of texts."""

    def plain(node: Any) -> Any:
        if isinstance(node, list):
            return [plain(each) for each in node]
        if not isinstance(node, dict):
            return node
        found = {key: plain(value) for key, value in node.items() if key != "minLength"}
        name = str(found.get("$ref", "")).rpartition("/")[2]
        return found | _ref("schemas", twice[name]) if name in twice else found

    return json.dumps(plain(schema), sort_keys=True)


def _clean(result: Schema) -> None:
    """Correct what drf-spectacular writes: types that are null twice, and its notes about enumerations."""
    for node in _walk(result):
        node.pop("x-spec-enum-id", None)
        if "$ref" in node:
            node.pop("example", None)
        if _EMPTY_TEXT in node.get("oneOf", ()):
            _allow_empty(node)
        if isinstance(node.get("type"), list):
            node["type"] = list(dict.fromkeys(node["type"]))


def _inherit(schemas: Schema) -> None:
    """Describe an object that is read and has all fields of another as that one and fields of its own."""
    fields_of = {
        name: schema["properties"]
        for name, schema in schemas.items()
        if "properties" in schema and not name.endswith((_SENT, "Patch"))
    }
    required_of = {name: schemas[name].get("required", []) for name in fields_of}
    for name, fields in fields_of.items():
        required = required_of[name]
        bases = [
            (len(json.dumps(theirs)), base)
            for base, theirs in fields_of.items()
            if theirs.items() < fields.items() and {*required_of[base]} <= {*required}
        ]
        size, base = max(bases, default=(0, ""))
        if size > LEAST_INHERITED:
            own: Schema = {
                "type": "object",
                "properties": {key: field for key, field in fields.items() if key not in fields_of[base]},
            }
            if further := [key for key in required if key in own["properties"]]:
                own["required"] = further
            rest = {key: value for key, value in schemas[name].items() if key not in own | {"required": ()}}
            schemas[name] = rest | {"allOf": [_ref("schemas", base), own]}


def _allow_empty(field: Schema) -> None:
    """Describe a text that may also be empty as one text in place of two."""
    (text,) = (each for each in field.pop("oneOf") if each != _EMPTY_TEXT)
    if text.get("format") == "uri":
        text["format"] = "uri-reference"  # an empty text is such a reference
    if pattern := text.get("pattern"):
        text["pattern"] = f"^({pattern.removeprefix('^').removesuffix('$')})?$"
    field |= text


def _move_examples(result: Schema) -> None:
    """Move examples of responses from the operations to the returned objects.

    A list needs no example of its own, nor does an event: readers see those of its parts.
    """
    schemas = result["components"]["schemas"]
    for operation in _operations(result):
        bodies = [body for status, body in operation["responses"].items() if status < "400"]
        for content in (body.get("content", {}).get(_JSON) for body in bodies):
            if content and "$ref" in content["schema"] and "examples" in content:
                _move(content, schemas)
    for methods in result["webhooks"].values():
        for operation in methods.values():
            content = operation["requestBody"]["content"][_JSON]
            data = schemas[_name(content["schema"])]["allOf"][1]["properties"]["data"]
            examples = [each["value"]["data"] for each in content.pop("examples").values()]
            for name, part in schemas[_name(data)]["properties"].items():
                if "$ref" in part:
                    _add_examples(schemas[_name(part)], [each[name] for each in examples])
                else:
                    part["examples"] = [each[name] for each in examples]


def _move(content: Schema, schemas: Schema) -> None:
    schema, values = (
        schemas[_name(content["schema"])],
        [each["value"] for each in content["examples"].values()],
    )
    if (items := schema.get("properties", {}).get("data", {}).get("items")) and "$ref" in items:
        schema, values = schemas[_name(items)], [each for value in values for each in value["data"]]
    _add_examples(schema, values)
    del content["examples"]


def _part_examples(schemas: Schema) -> None:
    """Replace the example of an object that mostly shows other objects by examples of its fields.

    The other objects have examples of their own, or get these.
    """
    for schema in [*schemas.values()] * 2:  # Those that get an example may in turn show others.
        if "allOf" not in schema and any("examples" in schemas[name] for name in _kinds(schema)):
            schema.pop("examples", None)  # One of its kinds shows what it is.
        own = schema.get("allOf", [schema])[-1]
        if not schema.get("examples") or "properties" not in own:
            continue
        example: Schema = schema["examples"][0]
        fields = {key: own["properties"][key] for key in example if key in own["properties"]}
        shown = {
            key: name
            for key, field in fields.items()
            if isinstance(example[key], dict | list) and example[key] and (name := _object_in(field))
        }
        whole = example if own is schema else {key: example[key] for key in fields}
        is_derived = own is not schema and "examples" in schemas[_name(schema["allOf"][0])]
        size = sum(len(json.dumps(example[key])) for key in shown)
        if size < LEAST_SHOWN * len(json.dumps(whole)) and not is_derived:
            continue
        del schema["examples"]
        for key, field in fields.items():
            if key in shown:
                values = example[key] if isinstance(example[key], list) else [example[key]]
                target = schemas[shown[key]]
                if isinstance(values[0], dict) and "examples" not in target:
                    target["examples"] = values[:1]
            elif _shows_more(example[key], field):
                field["examples"] = [example[key]]


def _shows_more(value: Any, field: Schema) -> bool:
    """Whether the example of a field shows more than a value that the reference makes from its schema."""
    if _object_in(field) and not isinstance(value, str):
        return not value
    if isinstance(value, bool):
        return not value
    return bool(value) if isinstance(value, str | list | dict) else value not in (None, 1)


def _object_in(field: Schema) -> str:
    """The name of the object that a field has, or a list of; empty without one."""
    return next(iter(_kinds({"anyOf": [field, field.get("items", {})]}) + _kinds(field)), "")


def _kinds(schema: Schema) -> list[str]:
    """The names of the objects that an object or a field is one of."""
    return [
        _name(each) for way in ("allOf", "anyOf", "oneOf") for each in schema.get(way, ()) if "$ref" in each
    ]


def _add_examples(schema: Schema, values: list[Any]) -> None:
    """Add the examples that show something new: not another example of an object with the same keys, nor
    another long one.
    """
    examples = schema.setdefault("examples", [])
    seen = [_shape(each) for each in examples]
    for value in values:
        is_long = bool(examples) and len(json.dumps(value)) > LONGEST_FURTHER_EXAMPLE
        if _shape(value) not in seen and not is_long:
            examples.append(value)
            seen.append(_shape(value))


def _shape(value: Any) -> Any:
    """The keys and the nulls of a value. Examples with the same shape are of the same kind."""
    if isinstance(value, dict):
        return {key: _shape(each) for key, each in value.items()}
    return [_shape(each) for each in value[:1]] if isinstance(value, list) else value is None


def _shorten(schemas: Schema) -> None:
    """Explain a field once: where another object has a field with the same long words, refer to the first.

    Objects that are read come before those that are sent, and large ones before small ones.
    """
    explained: dict[tuple[str, str], str] = {}

    def order(name: str) -> tuple[bool, int, str]:
        return name.endswith((_SENT, "Patch")), -len(schemas[name].get("properties", ())), name

    for owner in sorted(schemas, key=order):
        for node in _walk(schemas[owner]):
            for name, field in node.get("properties", {}).items():
                words = field.get("description", "")
                first = explained.setdefault((name, words), owner)
                if first != owner and len(words) >= LEAST_REPEATED:
                    field["description"] = f"As in `{first}`."


def _name(reference: Schema) -> str:
    return str(reference["$ref"]).rpartition("/")[2]


def _named_enums(result: Schema) -> Schema:
    """Give each enumeration a component. Its name is that of its field if several objects have this field
    with the same values, else that of its object and its field.

    Null is no member of an enumeration: where null is allowed, the schema lists null beside the reference.
    """
    places = list(_enums(result))
    values_of: dict[str, set[str]] = {}
    owners_of: dict[str, set[str]] = {}
    for name, owner, field in places:
        values_of.setdefault(name, set()).add(_values(field))
        owners_of.setdefault(_values(field), set()).add(owner)
    names: dict[str, str] = {}
    taken = set(result["components"]["schemas"])
    for name, owner, field in places:
        values = _values(field)
        if values not in names:
            is_plain = len(values_of[name]) == 1 and len(owners_of[values]) > 1 and name not in taken
            names[values] = name if is_plain else owner + name
        reference = _ref("schemas", names[values])
        is_nullable = None in field.pop("enum")
        del field["type"]
        field.pop("minLength", None)
        field.update({"anyOf": [reference, {"type": "null"}]} if is_nullable else reference)
    return {name: {"type": "string", "enum": json.loads(values)} for values, name in names.items()}


def _enums(result: Schema) -> Iterator[tuple[str, str, Schema]]:
    """Each enumeration of texts: the name of its field, of the object with that field, and its schema."""
    for owner, schema in result["components"]["schemas"].items():
        for node in _walk(schema):
            for key, field in node.get("properties", {}).items():
                for each in (field, field.get("items", {})):
                    if _is_enum(each):
                        yield _pascal(key), owner.removesuffix(_SENT).removesuffix("Patch"), each
    for operation in _operations(result):
        owner = _pascal(operation["operationId"])
        for parameter in operation.get("parameters", []):
            schema = parameter.get("schema", {})
            for each in (schema, schema.get("items", {})):
                if _is_enum(each):
                    yield _pascal(parameter["name"]), owner, each


def _is_enum(schema: Any) -> bool:
    return isinstance(schema, dict) and len([each for each in schema.get("enum", []) if each is not None]) > 1


def _values(field: Schema) -> str:
    return json.dumps([each for each in field["enum"] if each is not None])


def _shared_responses(operations: list[Schema]) -> Schema:
    """Name the refusals that several operations have, and refer to them."""
    count = Counter(
        json.dumps(response, sort_keys=True)
        for operation in operations
        for status, response in operation["responses"].items()
        if status.isdecimal() and status >= "400"
    )
    named: Schema = {}
    for operation in operations:
        for status, response in operation["responses"].items():
            if status.isdecimal() and count[json.dumps(response, sort_keys=True)] > 1:
                name = _pascal(HTTPStatus(int(status)).phrase)
                if named.setdefault(name, response) == response:
                    operation["responses"][status] = _ref("responses", name)
    return named


def _shared_parameters(operations: list[Schema]) -> Schema:
    """Name the parameters that several operations have, and refer to them. The most frequent one of a name is
    shared.
    """
    count = Counter(
        (each["name"], json.dumps(each, sort_keys=True))
        for operation in operations
        for each in operation.get("parameters", [])
    )
    named: Schema = {}
    for (name, text), times in count.most_common():
        if times > 1:
            shared = json.loads(text)
            if named.setdefault(_pascal(name), shared)["in"] != shared["in"]:
                named.setdefault(f"{_pascal(name)}In{_pascal(shared['in'])}", shared)
    of_text = {json.dumps(each, sort_keys=True): name for name, each in named.items()}
    for operation in operations:
        operation["parameters"] = [
            _ref("parameters", of_text[text])
            if (text := json.dumps(each, sort_keys=True)) in of_text
            else each
            for each in operation.get("parameters", [])
        ]
        if not operation["parameters"]:
            del operation["parameters"]
    return named


def _ref(kind: str, name: str) -> Schema:
    return {"$ref": f"#/components/{kind}/{name}"}


def _pascal(name: str) -> str:
    words = "".join(each if each.isalnum() else " " for each in name).split()
    return "".join(word[0].upper() + word[1:] for word in words)
