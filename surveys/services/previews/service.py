"""Previews of scripts: the respondent's page for an unsaved draft. Nothing is stored in a table.

    preview = open_preview(actor=…, project=…, …)   with the walk as it was left
    preview.answered(raw), .proceeded(), .back()    another preview, after a move
    preview.restarted(), .jumped(key), .revised(block_id), .sent()

The script is the actor's own draft, else the stored script, else a template of the library.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from communities.ground import brands
from communities.ground.actors import Actor
from communities.services.people import members
from surveys.models import Project
from surveys.services.drafts import service as drafts
from surveys.services.previews import memory, samples, source, view, walk
from surveys.services.previews.source import PreviewScript
from surveys.services.previews.view import PreviewView
from surveys.services.previews.walk import Walk


@dataclass(frozen=True)
class Preview:
    """One staff member's preview of one script.

    `place` identifies the preview in the cache and in signed forms; it begins with the person.
    """

    project: Project
    source: PreviewScript
    walk: Walk
    place: str
    staff_name: str
    at: datetime
    feedback: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether there is no block to show."""
        return not self.source.script.blocks

    def view(self) -> PreviewView:
        """The preview as the page draws it."""
        return view.of_walk(
            source=self.source,
            walk=self.walk,
            project=self.project,
            staff_name=self.staff_name,
            at=self.at,
            feedback=self.feedback,
        )

    def seal(self) -> str:
        """The signed field of the preview's form."""
        return memory.seal(self.place, self.walk)

    def remember(self) -> bool:
        """Keep the walk for the next reload. Returns whether that worked."""
        return memory.remember(self.place, self.walk)

    def carried_by(self, seal: str) -> Preview:
        """The preview with the walk from the submitted form, if the form belongs to this preview."""
        carried = memory.unsealed(self.place, seal)
        if carried is None:
            return self
        return replace(self, walk=walk.follow(self.source, self.project, carried))

    def answered(self, raw: Mapping[str, object]) -> Preview:
        """The preview after an answer. Raises InvalidRequest and Conflict as `walk.answer` does."""
        next_walk, feedback = walk.answer(self.source, self.project, self.walk, raw)
        return replace(self, walk=next_walk, feedback=feedback)

    def at_group(self) -> Preview:
        """The preview at the first question of the current group."""
        return replace(self, walk=walk.at_group(self.source, self.walk))

    def group_answered(self, raws: Sequence[Mapping[str, object]]) -> Preview:
        """The preview after the answers to a group. Raises as `answered` does."""
        return self._at(walk.answer_group(self.source, self.project, self.walk, raws))

    def proceeded(self) -> Preview:
        """The preview after a block that asks nothing. Raises Conflict at a question and at the end."""
        return self._at(walk.proceed(self.source, self.project, self.walk))

    def back(self) -> Preview:
        """The preview one step earlier. Raises Conflict at the first step."""
        return self._at(walk.back(self.source, self.project, self.walk))

    def revised(self, block_id: int) -> Preview:
        """The preview at a question to which its review leads back. Raises Conflict elsewhere."""
        return self._at(walk.revise(self.source, self.project, self.walk, block_id))

    def sent(self) -> Preview:
        """The preview at its end, after its review. Raises Conflict elsewhere."""
        return self._at(walk.send(self.source, self.project, self.walk))

    def restarted(self) -> Preview:
        """The preview from the start, without answers and with another order of shuffled options."""
        return self._at(walk.begin(self.source, self.project))

    def jumped(self, key: str) -> Preview:
        """The preview at the block with this key."""
        return self._at(walk.jump(self.source, self.project, self.walk, key))

    def _at(self, moved: Walk) -> Preview:
        return replace(self, walk=moved, feedback=None)


def open_preview(*, actor: Actor, project: Project, template: str | None = None, at: datetime) -> Preview:
    """The actor's preview of a project that they may read, with the walk of the last visit.

    It shows their draft, or the stored script if they have none. With `template` it shows that template of
    the library in the design of the project. Raises InvalidRequest for an unknown template.
    """
    place = f"{actor.user_id}:{project.pk}"
    if template is not None:
        script = source.of_template(project=project, template_id=template, at=at)
        place = f"{place}:{template}"
    elif (draft := drafts.get(actor=actor, project=project)) is not None:
        script = source.of_blocks(project=project, blocks=draft.blocks, at=at)
    else:
        script = source.of_project(project)
    last_walk = memory.recall(place)
    current = walk.begin(script, project) if last_walk is None else walk.follow(script, project, last_walk)
    return Preview(project, script, current, place, _name(actor), at)


def _name(actor: Actor) -> str:
    """The name of the staff member, which replaces `[UserName]`."""
    names = members.display_names(community_id=actor.community_id, user_ids=[actor.user_id])
    return names.get(actor.user_id, "")


def brand_of(project: Project) -> dict[str, str | None]:
    """The brand of the community."""
    return brands.of(samples.settings_of(project))


def locale_of(project: Project) -> str | None:
    """The language of the community, which its pages declare."""
    return samples.settings_of(project).locale or project.community.locale
