"""The settings of a project that refer to its script: `quotas`, `end` and `ends`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from communities.ground.web_addresses import is_link
from surveys.engine import where
from surveys.engine.language import piping
from surveys.engine.language.lexer import ParseError
from surveys.engine.rules import carrying
from surveys.engine.rules.compared_values import Comparisons
from surveys.engine.rules.script import LINK_OF_ANONYMOUS, has_token_in_link
from surveys.engine.script import Block, Script, Violation
from surveys.models import Project, QuotaCount

RESPONSE_ID = "response_id"  # the token in addresses


def settle(project: Project, script: Script) -> list[Violation]:
    """Write positions in new settings as names, in memory (rule 6.185). Returns the faults of the settings.

    Columns are those of the texts as sent; a text that only its names make too long is a fault too.
    """
    found = list(faults(project, script))
    return found or (list(faults(project, script)) if carry(project, script, script.blocks) else [])


def faults(project: Project, script: Script) -> Iterator[Violation]:
    """Yield the faults of expressions that the script does not allow, and of the addresses of ends."""
    for path, item in _items(project):
        if "where" in item:
            yield from where.faults(item["where"], script=script, path=f"{path}.where")
        if item.get("url") and (fault := _fault_of_address(item["url"], project)):
            yield Violation(f"{path}.url", *fault)
        if "url" in item and project.is_anonymous and has_token_in_link(item.get("message"), script):
            message = LINK_OF_ANONYMOUS.format(key=f"{path}.message")
            yield Violation(f"{path}.message", "not_allowed", message)


def doubts(project: Project, script: Script) -> Iterator[Violation]:
    """Yield what looks like a mistake in valid expressions (rule 6.250). Each has the path of its setting."""
    comparisons: Comparisons | None = None
    for path, item in _items(project):
        if "where" in item:
            comparisons = comparisons or Comparisons(script)
            try:
                yield from where.doubts(item["where"], comparisons=comparisons, path=f"{path}.where")
            except ParseError:  # only in a form that is being corrected
                continue


def missed(project: Project, before: Script, script: Script) -> Iterator[Violation]:
    """Yield the faults of a script write that takes away what the expressions name."""
    for path, item in _items(project):
        if "where" not in item:
            continue
        text = where.carried(item["where"], before=before, after=script.blocks)
        for fault in where.faults(text, script=script, path="where"):
            message = f"`{path}.where` would not fit this script. {fault.message} Change that setting first."
            yield Violation("blocks", "in_use", message)


def carry(project: Project, before: Script, after: Sequence[Block]) -> list[str]:
    """Let the settings follow new names and values of the script, in memory. Returns the changed fields.

    Positions become names, so that no write of the script moves what they mean (rule 6.185).
    """
    if not project.quotas and not project.end and not project.ends:
        return []
    was = {name: getattr(project, name) for name in ("quotas", "end", "ends")}
    project.quotas = [_carried(each, before, after) for each in project.quotas]
    project.end = project.end and _carried(project.end, before, after)
    project.ends = [_carried(each, before, after) for each in project.ends]
    return [name for name, value in was.items() if getattr(project, name) != value]


def forget_counts(project: Project) -> None:
    """Have the responses of each quota counted anew, where they are next asked for."""
    QuotaCount.objects.filter(project=project).delete()


def _items(project: Project) -> Iterator[tuple[str, dict[str, Any]]]:
    yield from ((f"settings.quotas[{n}]", each) for n, each in enumerate(project.quotas))
    if project.end:
        yield "settings.end", project.end
    yield from ((f"settings.ends[{n}]", each) for n, each in enumerate(project.ends))


def _carried(item: dict[str, Any], before: Script, after: Sequence[Block]) -> dict[str, Any]:
    changed = dict(item)
    if "where" in item:
        changed["where"] = where.carried(item["where"], before=before, after=after)
    for key in ("url", "message"):
        if item.get(key) and "url" in item:  # the message of a quota has no tokens
            changed[key] = carrying.carried_text(item[key], before=before, after=after)
    return changed


def _fault_of_address(address: str, project: Project) -> tuple[str, str] | None:
    """The code and message of a fault; None if there is none."""
    if not is_link(address):
        return "invalid", "`url` must be an address that begins with https://, with its host written out."
    if project.is_anonymous and any(True for _ in piping.mentions(address)):
        message = (
            "On anonymous projects `url` can hold no token: another site would learn whose answers these are."
        )
        return "not_allowed", message
    return None
