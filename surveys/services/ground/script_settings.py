"""The values that a project stores about its script: the settings `quotas`, `end` and `ends`, and the
dashboard.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from communities.ground.statements import Part, prepared
from communities.ground.web_addresses import is_link
from surveys.engine import where
from surveys.engine.language import names, piping, references
from surveys.engine.language.lexer import ParseError
from surveys.engine.rules import carrying, dependence
from surveys.engine.rules.compared_values import Comparisons
from surveys.engine.rules.dependence import SCREEN_OUT, Dependence
from surveys.engine.rules.logic import MAX_SEARCHED
from surveys.engine.rules.script import LINK_OF_ANONYMOUS, check_ends, has_link, has_token_in_link
from surveys.engine.script import Block, Script, Violation
from surveys.models import Dashboard, Project
from surveys.services.ground import selecting

RESPONSE_ID = "response_id"  # the token in addresses
ENDS = "settings.ends"


def settle(project: Project, script: Script) -> list[Violation]:
    """Write positions in new settings as names, in memory (rule 6.185). Returns the faults of the settings.

    Columns are those of the texts as sent; a text that only its names make too long is a fault too.
    """
    found = list(faults(project, script))
    return found or (list(faults(project, script)) if carry(project, script, script.blocks) else [])


def faults(project: Project, script: Script) -> Iterator[Violation]:
    """Yield the faults of expressions that the script does not allow, and of the addresses of ends."""
    has_address = any(each.get("url") or has_link(each.get("message")) for _, each in _items(project))
    searched: dict[str, int] = {}
    is_readable = True
    for path, item in _items(project):
        if "where" in item:
            found = list(where.faults(item["where"], script=script, path=f"{path}.where"))
            yield from found or (
                _revealed_by_expression(path, item, has_address) if project.is_anonymous else ()
            )
            setting = path.partition("[")[0]
            is_readable &= not found
            if not found:
                searched[setting] = searched.get(setting, 0) + where.searched(item["where"], script=script)
        if item.get(SCREEN_OUT) and project.is_poll:
            message = "A poll screens nobody out: its one answer is the vote."
            yield Violation(f"{path}.{SCREEN_OUT}", "not_allowed", message)
        if item.get("url") and (fault := _fault_of_address(item["url"], project)):
            yield Violation(f"{path}.url", *fault)
        if "url" in item and project.is_anonymous and has_token_in_link(item.get("message"), script):
            message = LINK_OF_ANONYMOUS.format(key=f"{path}.message")
            yield Violation(f"{path}.message", "not_allowed", message)
    for setting, characters in searched.items():
        if characters > MAX_SEARCHED:
            limit = f"{MAX_SEARCHED:,} characters in texts by `in`"
            message = f"The expressions of `{setting}` look for more than {limit}."
            yield Violation(setting, "too_long", message)
    if project.is_anonymous and is_readable:
        yield from _revealed_by_limits(project, script)
        for told in check_ends(script, depending(project, script)):
            yield Violation(ENDS, told.code, f"`{ENDS}` and `{told.field}` do not fit. {told.message}")


def depending(project: Project, script: Script, *, before: Script | None = None) -> Dependence:
    """The parts that depend on answers because of the ends and quotas of a project.

    `before` is the script that they refer to, if a write replaces that one by `script`. On anonymous projects
    people who are screened out get what others get (rule 1.181), so only a quota decides who completes.
    """

    def carried(items: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        if before is None or before is script:
            return list(items)
        blocks = script.blocks
        return [
            {**each, "where": where.carried(each["where"], before=before, after=blocks)} for each in items
        ]

    if not project.ends and not project.quotas:
        return dependence.NOTHING
    return dependence.of_settings(
        script,
        ends=carried(project.ends),
        quotas=carried(project.quotas),
        rewards_all=project.is_anonymous,
    )


def _revealed_by_expression(path: str, item: Mapping[str, Any], has_address: bool) -> Iterator[Violation]:
    """Yield the violations of an expression that would reveal answers on an anonymous project: to another
    site by the end that a browser reaches, or to others by who still completes.
    """
    column = dependence.column_of_answer(item["where"])
    if column is None:
        return
    if "url" in item and has_address:
        message = (
            "On anonymous projects where an end has a `url` or a link, `where` can name only `field.<name>` "
            "and `language`: another site would learn the answers by the end that a browser reaches."
        )
        yield Violation(f"{path}.where", "not_allowed", message, column)
    if "limit" in item:
        message = (
            "On anonymous projects the `where` of a quota can name only `field.<name>` and `language`: once "
            "the quota is full, what others get for completing would tell how they have answered."
        )
        yield Violation(f"{path}.where", "not_allowed", message, column)


def _revealed_by_limits(project: Project, script: Script) -> Iterator[Violation]:
    """Yield a limit of an anonymous project that counts only people whose answers have not screened them out.
    Every visitor sees whether the limit is reached, and so how the one person before has answered.
    """
    limit = "max_completes" if project.max_completes is not None else "quotas"
    by_ends = dependence.of_settings(script, ends=project.ends, quotas=(), rewards_all=False)
    if by_ends.completes and getattr(project, limit):
        message = (
            f"On anonymous projects `{limit}` cannot be set beside an end that screens out by answers: every "
            "visitor sees when the limit is reached, and would learn whether somebody was screened out."
        )
        yield Violation(f"settings.{limit}", "not_allowed", message)


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
    """Yield the faults of a script write that takes away what stored expressions name."""
    for path, text in _expressions(project):
        yield from _missed(path, text, before, script, field="blocks")


def missed_by_dashboard(project: Project, before: Script, script: Script) -> Iterator[Violation]:
    """Yield the faults of new `scoring` that takes away what the dashboard's expression names."""
    for path, text in _of_dashboard(project):
        yield from _missed(path, text, before, script, field="scoring")


def _missed(path: str, text: str, before: Script, script: Script, *, field: str) -> Iterator[Violation]:
    carried = where.carried(text, before=before, after=script.blocks)
    faults = [*where.faults(carried, script=script, path="where")]
    if faults and any(where.faults(text, script=before, path="where")):
        return  # An earlier version let a script change without it, so this write takes nothing away.
    for fault in faults:
        message = f"`{path}` would not fit this script. {fault.message} Change that expression first."
        yield Violation(field, "in_use", message)


def changed_meanings(project: Project, before: Script, script: Script) -> Iterator[Violation]:
    """Yield what a script write would let stored expressions select instead (rule 1.152)."""
    if before == script:
        return
    for path, text in _expressions(project):
        carried = where.carried(text, before=before, after=script.blocks)
        if _meaning(carried, script) != _meaning(text, before):
            message = f"Only owners of the project and admins change what `{path}` refers to."
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


def carry_dashboard(project: Project, before: Script, after: Sequence[Block]) -> None:
    """Let the dashboard follow as the settings do, and save its expression."""
    for _, text in _of_dashboard(project):
        carried = where.carried(text, before=before, after=after)
        if carried != text:
            dashboard = project.dashboard
            dashboard.where = carried
            dashboard.save(update_fields=["where"])


def count_key(text: str) -> str:
    """The key of a quota's count: a hash of its `where`."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def keep_counts(project: Project, was: Sequence[Mapping[str, Any]], before: Script, after: Script) -> None:
    """Forget the counts of quotas that mean something else now, or that are new.

    `was` are the earlier quotas. Those that are forgotten are counted anew where they are next asked for.
    """
    if not project.quotas and not was:
        return
    texts = {each["where"] for each in was} & {each["where"] for each in project.quotas}
    kept = [each for each in texts if _means_the_same(each, before, after)]
    forget_counts(project.pk, but=[count_key(each) for each in kept])


def _means_the_same(text: str, before: Script, after: Script) -> bool:
    return before == after or (
        selecting.meaning(text, script=before) == selecting.meaning(text, script=after)
    )


def _meaning(text: str, script: Script) -> tuple[Part, Mapping[object, object]] | None:
    """The responses that an expression selects, and its points; None if it does not fit the script."""
    if any(where.faults(text, script=script, path="where")):
        return None
    return selecting.meaning(text, script=script), _points(text, script)


def _points(text: str, script: Script) -> Mapping[object, object]:
    """The points behind the scores of an expression, by block and option; empty without a score."""
    reader = Block(type="content_block", precondition=text)
    deciding = [script.blocks[n] for n in references.needed(reader, script, len(script.blocks))]
    meanings = {
        references.resolve(mention.name, script)
        for block in (reader, *deciding)
        for mention in (*references.named_by_condition(block), *references.named_by_formula(block))
    }
    if not any(isinstance(each, str) and names.field_key(each) is None for each in meanings):
        return {}
    return {
        (block.id, option.id): (option.score_values, is_right)
        for block in deciding
        for n, option in enumerate(block.options)
        if (is_right := n in block.correct_places or option.id in (block.correct_answer_ids or ()))
        or option.score_values
    }


def forget_counts(project_id: int, *, but: Sequence[str]) -> None:
    """Forget the counts of quotas but for those with these keys."""
    with prepared() as cursor:
        cursor.execute(
            "DELETE FROM surveys_quotacount WHERE project_id = %s AND key <> ALL(%s::text[])",
            [project_id, list(but)],
        )


def _items(project: Project) -> Iterator[tuple[str, dict[str, Any]]]:
    yield from ((f"settings.quotas[{n}]", each) for n, each in enumerate(project.quotas))
    if project.end:
        yield "settings.end", project.end
    yield from ((f"settings.ends[{n}]", each) for n, each in enumerate(project.ends))


def _expressions(project: Project) -> Iterator[tuple[str, str]]:
    """Yield the expressions of the settings and of the dashboard, each with its path."""
    yield from ((f"{path}.where", item["where"]) for path, item in _items(project) if "where" in item)
    yield from _of_dashboard(project)


def _of_dashboard(project: Project) -> Iterator[tuple[str, str]]:
    board: Dashboard | None = getattr(project, "dashboard", None)
    if board is not None and board.where:
        yield "dashboard.where", board.where


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
        return (
            "invalid",
            "`url` must be an address that begins with https:// and a valid host without tokens.",
        )
    if project.is_anonymous and any(True for _ in piping.mentions(address)):
        message = (
            "On anonymous projects `url` can hold no token: another site would learn whose answers these are."
        )
        return "not_allowed", message
    return None
