"""The state of the script editor when its page opens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import orjson
from django.conf import settings
from django.urls import reverse
from django.utils.text import Truncator

from communities.ground import wire
from communities.ground.words import plural
from surveys.admin.frame import ProjectPage, address_of
from surveys.ai import provider_is_free
from surveys.ai.provider import SENTIMENTS
from surveys.engine.flow import vocabulary
from surveys.engine.flow.wording import heading
from surveys.engine.intake import fields as limits
from surveys.engine.intake.reader import MAX_BLOCKS
from surveys.engine.language.names import expression_form
from surveys.engine.rules.option import CHAT_OPTIONS
from surveys.engine.script import Script
from surveys.engine.walk.defaults import ACKNOWLEDGED
from surveys.engine.walk.follow_ups import SHORT
from surveys.models import Project
from surveys.services.ai_work import codebook
from surveys.services.drafts import answers as block_answers
from surveys.services.drafts import checking, collisions, points
from surveys.services.drafts import service as drafts
from surveys.services.drafts.service import SavedScript, UnsavedScript
from surveys.services.ground import access, metadata
from surveys.services.representations import project as project_json
from surveys.services.representations import script as script_json
from surveys.services.scripts import cache as script_cache
from xp.services import achievements

Json = dict[str, Any]
MAX_ACHIEVEMENTS = 200
MAX_CALLED = 60  # characters of a question
_PROJECT_FIELDS = ("id", "name", "status", "delivery", "rewards", "scoring")
_PAGES = (
    *("draft", "save", "duplicate", "scoring", "logic", "flow", "export", "archived"),
    *("preview", "preview_state", "preview_restart", "generate", "templates", "projects", "versions"),
)


def of_page(page: ProjectPage) -> Json:
    """The state that the page embeds, as plain JSON values."""
    project = page.project
    values = of_project(page)
    draft = drafts.get(actor=page.actor, project=project) if page.may_edit else None
    answered = block_answers.answered_blocks(project_id=project.pk) if page.may_read_counts else ()
    state = {
        **values,
        "draft": draft and _draft(project, draft),
        "check": check(page, draft.blocks if draft else values["script"]["blocks"]),
        "answered": sorted(answered),
        "archived": _archived_count(project) if page.may_read_counts else 0,
        "may_edit": page.may_edit,
        "is_live": project.is_live_at(page.at),
        "has_model": not provider_is_free(),
        "user_id": str(page.actor.user_id),
        "urls": _urls(project),
    }
    plain: Json = orjson.loads(wire.render(state))
    return plain


def of_project(page: ProjectPage) -> Json:
    """The project, its stored script, and the words for the script."""
    project = page.project
    script = script_cache.script_of(project)
    blocks = script_json.all_blocks(project, script)
    return {
        "project": _project(page),
        "script": {"blocks": blocks},
        "revision": project.revision,
        "fingerprint": collisions.fingerprint(blocks),
        "vocabulary": _vocabulary(page, script),
    }


def after_save(page: ProjectPage, saved: SavedScript) -> Json:
    """The parts of the state that a save has changed. The blocks have the keys of the draft."""
    current = ProjectPage(saved.project, page.actor, page.tab, page.at)
    return {
        "script": {"blocks": saved.blocks},
        "revision": saved.project.revision,
        "fingerprint": collisions.fingerprint(saved.blocks),
        "archived": _archived_count(saved.project),
        "draft": None,
        "check": check(current, saved.blocks),
        "is_live": saved.project.is_live_at(page.at),
    }


def after_keep(page: ProjectPage, draft: UnsavedScript) -> Json:
    """The response to a draft that was stored."""
    return {
        "version": draft.version,
        "saved_at": draft.saved_at,
        "check": check(page, draft.blocks),
    }


def _archived_count(project: Project) -> int:
    return len(script_cache.of(project).stored.archived)


def _draft(project: Project, draft: UnsavedScript) -> Json:
    return {
        **draft.as_json(),
        "blocks": points.with_stored(project, draft.blocks),
        "is_behind": drafts.is_behind(draft, project=project),
    }


def check(page: ProjectPage, blocks: list[Any]) -> Json:
    return checking.check(actor=page.actor, project=page.project, blocks=blocks, at=page.at)


def _project(page: ProjectPage) -> Json:
    values = project_json.project_as_json(page.project, at=page.at)
    return {**{key: values[key] for key in _PROJECT_FIELDS}, "info": {"type": page.project.type}}


def _vocabulary(page: ProjectPage, script: Script) -> Json:
    project = page.project
    described = achievements.in_community(community_id=project.community_id)[:MAX_ACHIEVEMENTS]
    is_chat = project.response_channel == Project.ResponseChannel.CHAT
    return {
        **vocabulary.as_json(script, declared_fields=metadata.declared(project)),
        "achievements": [{"number": each.number, "name": each.name} for each in described],
        "limits": {
            "blocks": MAX_BLOCKS,
            "options": CHAT_OPTIONS if is_chat else limits.MAX_OPTIONS,
            "menu_options": CHAT_OPTIONS if is_chat else limits.MAX_MENU_OPTIONS,
            "prompt": limits.MAX_PROMPT,
            "value": limits.MAX_VALUE,
            "label": limits.MAX_LABEL,
            "pause": limits.MAX_PAUSE,
            "xp": limits.MAX_XP,
        },
        "acknowledged": ACKNOWLEDGED,
        "asks_further": not (project.is_anonymous or provider_is_free()),
        "further_help": _further_help(),
        "tier": page.actor.tier,
        "readings": list(_readings(page, script)),
    }


def _readings(page: ProjectPage, script: Script) -> Iterator[Json]:
    """What an analysis has read, as conditions that select responses name it (rule 6.963)."""
    if not access.may_read_people(actor=page.actor, project=page.project):
        return
    titles = codebook.ids_by_title(project_id=page.project.pk)
    for block in script.blocks:
        if block.is_read and (known := titles.get(block.id or 0)):
            name = expression_form(block.name or "").strip("()")
            question = Truncator(heading(block.prompt, script)).chars(MAX_CALLED)
            yield {
                "name": f"themes.{name}",
                "called": f"Themes: {question}",
                "meaning": "What the answer mentions, as an analysis has read it.",
                "kind": "choices",
                "choices": sorted(known),
            }
            yield {
                "name": f"sentiment.{name}",
                "called": f"Sentiment: {question}",
                "meaning": "The sentiment of the answer, as an analysis has read it.",
                "kind": "choice",
                "choices": list(SENTIMENTS),
            }


def _further_help() -> str:
    price = settings.CREDITS_FOR_10_FOLLOW_UPS
    costs = f" Each ten cost {plural(price, 'credit')}." if price else ""
    kept = settings.CREDITS_KEPT_FROM_FOLLOW_UPS
    stops = f" and the community has more than {plural(kept, 'credit')}" if price and kept else ""
    return (
        f"An AI asks up to two further questions about an answer of less than {SHORT} characters.{costs} "
        f"It asks while the project has had fewer than {settings.FOLLOW_UPS_PER_PROJECT_AND_DAY:,} in a day"
        f"{stops}."
    )


def _urls(project: Project) -> Json:
    """The editor's own addresses. In `answers`, 0 is a placeholder for the id of a block."""
    urls = {name: reverse(f"admin:surveys_project_script_{name}", args=[project.pk]) for name in _PAGES}
    return {
        **urls,
        "answers": reverse("admin:surveys_project_script_answers", args=[project.pk, 0]),
        "results": address_of(project.pk, "results"),
        "sign_in": f"{reverse('admin:login')}?{urlencode({'next': address_of(project.pk, 'script')})}",
    }
