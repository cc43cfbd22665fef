"""Addresses with values: the parameters that the page takes, and the effect of an address that staff try."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote, urlencode, urlsplit

from django.core.exceptions import TooManyFieldsSent
from django.http import HttpRequest, HttpResponse, QueryDict
from django.views.decorators.http import require_safe

from surveys.admin.frame import ProjectPage, project_tab
from surveys.engine.flow.wording import heading
from surveys.engine.language import names
from surveys.engine.script import Block, Script
from surveys.models import Project
from surveys.services.conversations import prefill
from surveys.services.conversations.prefill import Parameter, Use
from surveys.services.ground import metadata
from surveys.services.previews import service as previews
from surveys.services.representations.project import web_url
from surveys.services.scripts import cache as script_cache

MOST_IN_EXAMPLE = 2
MAX_ADDRESS = 8_000  # characters
MAX_PROMPT = 80
ANY_VALUE = "example"  # of a field; some names have a better one
EXAMPLES = {
    "utm_source": "newsletter",
    "utm_medium": "email",
    "utm_campaign": "spring",
    "campaign": "spring",
    "source": "newsletter",
    "first_name": "Ann",
    "last_name": "Bell",
    "name": "Ann",
}
TOO_LONG = "This address is too long to be tried."

_SAID = {
    Use.SKIPS: "Questions that are filled in are passed, and saved once the respondent presses a button.",
    Use.PAGE: "Belongs to the page itself and fills in nothing.",
    Use.UNKNOWN: "Left out: no question and no declared field has this name.",
    Use.TOO_LONG: "Left out: the values are longer than about 2,000 characters together.",
}
_NO_SKIP = "Skips nothing: only skip=1 skips, never in polls, and never on anonymous projects."


@dataclass(frozen=True, slots=True)
class Row:
    """One parameter of the page: its effect, and an example in the spelling of an address."""

    name: str
    meaning: str
    example: str


@dataclass(frozen=True, slots=True)
class Tried:
    """The effect of one parameter of an address."""

    name: str
    text: str
    says: str
    is_taken: bool


@project_tab("share")
@require_safe
def values(request: HttpRequest, page: ProjectPage) -> HttpResponse:
    """The parameters of the page, an example, and a field to try an address."""
    project = page.project
    script = script_cache.script_of(project)
    rows = [*_fields(project), *_questions(project, script)]
    address = request.GET.get("address", "").strip()
    tried, fault = _tried(project, script, address)
    context = {
        "rows": rows,
        "example": example_address(project),
        "without": list(_without(project, script)),
        "tried_address": address,
        "tried": tried,
        "fault": fault,
        "may_skip": not (project.is_poll or project.is_anonymous),
        "here": request.path,
        "back": page.address("share"),
        "script_address": page.address("script"),
        "delivery_address": page.address("delivery"),
    }
    return page.render(request, "admin/surveys/project/address_values.html", context)


def example_address(project: Project) -> str:
    """The page's address with the first declared field and the first questions; empty if it takes no
    parameters.
    """
    script = script_cache.script_of(project)
    parts = [row.example for row in [*list(_fields(project))[:1], *list(_questions(project, script))]]
    chosen = parts[:MOST_IN_EXAMPLE]
    return f"{web_url(project)}?{'&'.join(chosen)}" if chosen else ""


def _fields(project: Project) -> Iterator[Row]:
    for key, allowed in metadata.declared(project).items():
        meaning = "A field, stored with the response"
        if allowed:
            meaning += f", with one of these values: {', '.join(allowed)}"
        yield Row(
            key, f"{meaning}.", urlencode({key: allowed[0] if allowed else EXAMPLES.get(key, ANY_VALUE)})
        )


def _questions(project: Project, script: Script) -> Iterator[Row]:
    number = {block.id: n for n, block in enumerate(script.blocks, start=1)}
    for block, name, texts in prefill.examples(project, script):
        prompt = f"block {number[block.id]}: {_prompt(block, script)}"
        meaning = f"Sets the order shown in {prompt}" if block.type == "ranking" else f"Fills in {prompt}"
        yield Row(name, meaning, _written(name, texts))


def _written(name: str, texts: Sequence[str]) -> str:
    """A parameter in the spelling of an address; several options are one parameter if none contains a
    comma.
    """
    if any("," in text for text in texts):
        return urlencode([(name, text) for text in texts])
    return f"{quote(name)}={','.join(map(quote, texts))}"


def _without(project: Project, script: Script) -> Iterator[str]:
    """The questions that no address can fill in, and the reasons."""
    taken = {block.id for block in prefill.questions(project, script).values()}
    for block in script.blocks:
        if block.asks and not prefill.may_fill_in(project, block):
            yield f"{block.name}: {prefill.NOT_TYPED}."
        elif block.asks and block.id not in taken:
            is_page = names.is_page_parameter(block.title)
            why = "the page uses this word itself" if is_page else "a declared field has the same name"
            yield f"{block.name}: {why}."


def _prompt(block: Block, script: Script) -> str:
    line = " ".join(heading(block.prompt, script).split())
    return line if len(line) <= MAX_PROMPT else f"{line[: MAX_PROMPT - 1].rstrip()}…"


# --- Trying an address --------------------------------------------------------------------------------


def _tried(project: Project, script: Script, address: str) -> tuple[list[Tried], str]:
    """The effect of each parameter of an address, or the reason why it cannot be tried."""
    if len(address) > MAX_ADDRESS:
        return [], TOO_LONG
    page, text = _parts(address)
    try:
        is_other = page and not urlsplit(page).path.rstrip("/").endswith(f"/s/{project.slug}")
        query = QueryDict(text)
    except TooManyFieldsSent:
        return [], TOO_LONG
    except ValueError:
        return [], "This is no address."
    if is_other:
        return [], f"This address leads to another page. Those of this project begin with {web_url(project)}."
    sent: Mapping[str, Sequence[str]] = dict(query.lists())
    language = (previews.locale_of(project) or "en").replace("_", "-")
    found = prefill.explain(project=project, query=sent, language=language)
    return [Tried(each.name, each.text, *_says(each, script)) for each in found], ""


def _parts(address: str) -> tuple[str, str]:
    """The address of a page, which is empty if only values were typed, and the values after it."""
    address = address.partition("#")[0]
    page, mark, query = address.partition("?")
    if "=" in page or not (mark or "/" in page):
        return "", address
    return page, query


def _says(parameter: Parameter, script: Script) -> tuple[str, bool]:
    match parameter.use:
        case Use.FIELD:
            return "Stored with the response as a field.", True
        case Use.FILLED:
            assert parameter.block is not None
            prompt = _prompt(parameter.block, script)
            if parameter.block.type == "ranking":
                return (
                    f"Sets the order shown in “{prompt}”. It is no answer until the respondent takes it.",
                    True,
                )
            return f"Fills in “{prompt}”.", True
        case Use.INVALID:
            return f"Left out: {parameter.reason}", False
        case Use.SKIPS:
            return _SAID[Use.SKIPS], True
    if parameter.name == prefill.SKIP:
        return _NO_SKIP, False
    return _SAID[parameter.use], False
