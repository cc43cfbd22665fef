"""The template library as the interface tells it, and a template as the script of a new project.

listed(type=…, category=…, search=…)   templates, by category and name
find("net-promoter-score")             one; raises NotFound
draft("net-promoter-score")            its script, to make a project of; raises NotFound
as_json(template)  as_json_with_script(template)
"""

from __future__ import annotations

from communities.errors import NotFound, refuse
from surveys.ai.local.drafts import builder, library
from surveys.ai.local.drafts.library import Template
from surveys.ai.provider import ScriptDraft

__all__ = ["Template", "as_json", "as_json_with_script", "draft", "find", "listed"]


def listed(
    *, type: str | None = None, category: str | None = None, search: str | None = None
) -> list[Template]:
    """Templates of a type and of a category that say every word of the search, in any case."""
    words = (search or "").casefold().split()
    return [
        template
        for template in library.all_templates()
        if (type is None or template.type == type)
        and (category is None or template.category == category)
        and all(word in _said(template) for word in words)
    ]


def categories() -> list[str]:
    return list(dict.fromkeys(template.category for template in library.all_templates()))


def find(template_id: str) -> Template:
    """Refuses an id that no template has."""
    template = library.get(template_id)
    if template is None:
        raise NotFound("There is no such template.")
    return template


def draft(template_id: str, *, type: str | None = None) -> ScriptDraft:
    """The script of a template, without a topic of its own, for a new project of a type.

    Refuses an id that no template has, as a fault of the field `template`, and a survey for a poll; a poll's
    question may well be all that a survey asks.
    """
    template = library.get(template_id)
    if template is None:
        refuse("template", "not_found", f"`template` {template_id} does not exist. See `GET /v1/templates`.")
    if type == "poll" and template.type != "poll":
        message = f"`template` {template_id} is a survey; a poll needs a template for polls."
        refuse("template", "not_allowed", message)
    return builder.neutral_draft(template)


def as_json(template: Template) -> dict[str, object]:
    """What a list tells of a template."""
    return {
        "id": template.id,
        "name": template.name,
        "description": template.description,
        "type": template.type,
        "category": template.category,
        "question_count": template.question_count,
        "estimated_minutes": template.estimated_minutes,
        "scoring_enabled": template.scoring_enabled,
    }


def as_json_with_script(template: Template) -> dict[str, object]:
    """All of it. The answer can be sent back as a new project: what it has too much is ignored there."""
    buckets = [{"name": name, "order": n} for n, name in enumerate(template.buckets)]
    return {
        **as_json(template),
        "scoring": {"buckets": buckets},
        "script": {"blocks": [dict(block) for block in builder.neutral_draft(template).blocks]},
    }


def _said(template: Template) -> str:
    return " ".join([template.id, template.name, template.description, *template.keywords]).casefold()
