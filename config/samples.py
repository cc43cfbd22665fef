"""Samples of requests for the reference of `/docs`: the same request for curl, Python and TypeScript."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

_PLACE = re.compile(r"\{(\w+)\}")
_LONGEST_LINE = 76
_WORDS = {True: "true", False: "false", None: "null"}
_PYTHON_WORDS = {True: "True", False: "False", None: "None"}


class Sample(NamedTuple):
    """An example in one language. `language` is one of `documents.LANGUAGES`."""

    language: str
    code: str


def pretty(value: Any, words: Mapping[bool | None, str] = _WORDS, indent: int = 0) -> str:
    """JSON with short objects and lists on one line. `words` are those of the language."""
    line = _line(value, words)
    if not isinstance(value, dict | list) or len(line) + indent <= _LONGEST_LINE or not value:
        return line
    inner = " " * (indent + 2)
    if isinstance(value, dict):
        rows = [f"{json.dumps(key)}: {pretty(each, words, indent + 2)}" for key, each in value.items()]
    else:
        rows = [pretty(each, words, indent + 2) for each in value]
    return f"{line[0]}\n{inner}" + f",\n{inner}".join(rows) + f"\n{' ' * indent}{line[-1]}"


def _line(value: Any, words: Mapping[bool | None, str]) -> str:
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{json.dumps(key)}: {_line(each, words)}" for key, each in value.items()) + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(_line(each, words) for each in value) + "]"
    if value is None or isinstance(value, bool):
        return words[value]
    return json.dumps(value, ensure_ascii=False)


def _query(parameters: Sequence[Mapping[str, Any]]) -> str:
    """The required parameters of the query, as an example."""
    needed = [each["name"] for each in parameters if each["in"] == "query" and each.get("required")]
    return "&".join(f"{name}={'csv' if name == 'format' else 'a_block'}" for name in needed)


def samples(method: str, path: str, parameters: Sequence[Mapping[str, Any]], sent: Any) -> Sequence[Sample]:
    """The same request in each language. `parameters` are those of the description."""
    query = _query(parameters)
    target = path + (f"?{query}" if query else "")
    return [_curl(method, target, sent), _python(method, target, sent), _typescript(method, target, sent)]


def _constant(place: re.Match[str]) -> str:
    """The variable with an id of the path: `PROJECT`; but `KEY` is the API key itself."""
    name = place[1].upper()
    return name if name == "KEY_ID" else name.removesuffix("_ID")


def _curl(method: str, path: str, sent: Any) -> Sample:
    address = _PLACE.sub(lambda place: f"${_constant(place)}", path)
    verb = "" if method == ("GET" if sent is None else "POST") else f"-X {method} "
    lines = [f'curl {verb}"$SITE{address}"', '-H "X-API-Key: $KEY"']
    if method != "GET":
        lines.append('-H "Idempotency-Key: $(openssl rand -hex 16)"')
    if sent is not None:
        body = pretty(sent).replace("'", "'\\''")
        lines += ['-H "Content-Type: application/json"', f"-d '{body}'"]
    return Sample("sh", " \\\n  ".join(lines))


def _python(method: str, path: str, sent: Any) -> Sample:
    constants = ["SITE", "KEY", *map(_constant, _PLACE.finditer(path))]
    address = _PLACE.sub(lambda place: f"{{{_constant(place)}}}", path)
    headers = ['"X-API-Key": KEY']
    headers += ['"Idempotency-Key": str(uuid.uuid4())'] if method != "GET" else []
    headers += ['"Content-Type": "application/json"'] if sent is not None else []
    imports = ["json", "os", "urllib.request", *(["uuid"] if method != "GET" else [])]
    body = f"body = {pretty(sent, _PYTHON_WORDS)}\n" if sent is not None else ""
    data = "\n    data=json.dumps(body).encode()," if sent is not None else ""
    is_empty = method == "DELETE"
    shown = "print(response.status)" if is_empty else "print(json.load(response))"
    if "/export" in path:
        shown = "print(response.read().decode())"
    if shown == "print(response.status)" and sent is None:
        imports.remove("json")
    if "/export" in path:
        imports.remove("json")
    lines = "\n".join(f"import {each}" for each in imports)
    names = "\n".join(f'{each} = os.environ["{each}"]' for each in constants)
    code = (
        f"{lines}\n\n{names}\n\n{body}request = urllib.request.Request(\n"
        f'    f"{{SITE}}{address}",{data}\n'
        f"    headers={{{', '.join(headers)}}},\n"
        f'    method="{method}",\n)\n'
        f"with urllib.request.urlopen(request) as response:\n    {shown}"
    )
    return Sample("python", code)


def _typescript(method: str, path: str, sent: Any) -> Sample:
    constants = ["SITE", "KEY", *map(_constant, _PLACE.finditer(path))]
    address = _PLACE.sub(lambda place: f"${{{_constant(place)}}}", path)
    headers = ['"X-API-Key": KEY!']
    headers += ['"Idempotency-Key": crypto.randomUUID()'] if method != "GET" else []
    headers += ['"Content-Type": "application/json"'] if sent is not None else []
    body = f"\n  body: JSON.stringify({_indented(pretty(sent))})," if sent is not None else ""
    code = (
        f"const {{ {', '.join(constants)} }} = process.env;\n\n"
        f"const response = await fetch(`${{SITE}}{address}`, {{\n"
        f'  method: "{method}",\n'
        f"  headers: {{ {', '.join(headers)} }},{body}\n}});\n"
        "if (!response.ok) throw new Error(await response.text());\n"
    )
    shown = "response.status" if method == "DELETE" else "await response.json()"
    return Sample("ts", code + f"console.log({'await response.text()' if '/export' in path else shown});")


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")
