"""Templates in the API, and as scripts of new projects.

search_templates(type=…, category=…, search=…)   templates, by category and name
find("net-promoter-score")                       one template
draft("net-promoter-score")                      its script, for a new project
"""

from __future__ import annotations

from communities.ground.errors import NotFound, refuse
from surveys.ai.local.drafts import builder, library
from surveys.ai.local.drafts.library import Template
from surveys.ai.provider import ProposedScript

__all__ = ["Template", "as_json", "as_json_with_script", "categories", "draft", "find", "search_templates"]


def search_templates(
    *, type: str | None = None, category: str | None = None, search: str | None = None
) -> list[Template]:
    """Return the templates of a type and a category that contain every word of the search, in any case."""
    words = (search or "").casefold().split()
    return [
        template
        for template in library.all_templates()
        if (type is None or template.type == type)
        and (category is None or template.category == category)
        and all(word in _searchable_text(template) for word in words)
    ]


def categories() -> list[str]:
    """Return all categories, in alphabetical order."""
    return list(dict.fromkeys(template.category for template in library.all_templates()))


def find(template_id: str) -> Template:
    """Return a template by its id. Raises NotFound if there is none."""
    template = library.get(template_id)
    if template is None:
        raise NotFound("There is no such template.")
    return template


def draft(template_id: str, *, type: str | None = None) -> ProposedScript:
    """Return the script of a template for a new project of a type.

    Refuses an unknown id as a violation of the field `template`, and the template of a survey for a poll. The
    template of a poll also suits a survey.
    """
    template = library.get(template_id)
    if template is None:
        refuse("template", "not_found", f"`template` {template_id} does not exist. See `GET /v1/templates`.")
    if type == "poll" and template.type != "poll":
        message = f"`template` {template_id} is a survey; a poll needs a template for polls."
        refuse("template", "not_allowed", message)
    return builder.neutral_draft(template)


def as_json(template: Template) -> dict[str, object]:
    """A template in a list."""
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
    """A whole template. It can be sent back as a new project, which ignores the fields it does not need."""
    buckets = [{"name": name, "order": n} for n, name in enumerate(template.buckets)]
    return {
        **as_json(template),
        "scoring": {"buckets": buckets},
        "script": {"blocks": [dict(block) for block in builder.neutral_draft(template).blocks]},
    }


def _searchable_text(template: Template) -> str:
    return " ".join([template.id, template.name, template.description, *template.keywords]).casefold()
