"""Creating and changing projects. `opening` and `schedule` open and close them, `removal` deletes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from typing import Any

from django.db.models import Q

from communities import services as communities
from communities.ground.actors import Actor
from communities.ground.audit_actions import Action
from communities.ground.errors import ChannelRequired, Conflict, Unavailable, refuse_all, violation
from communities.ground.transactions import in_transaction
from communities.models import CommunitySettings
from communities.services.chat import guilds, installations
from surveys.engine.intake.field_paths import stored_paths
from surveys.engine.rules import script as script_rules
from surveys.engine.script import Block, Bucket, Script, Violation
from surveys.models import Analysis, Conversation, PersonalLink, Project, buckets_in_order
from surveys.models import Bucket as BucketRow
from surveys.services import events, public_messages
from surveys.services.ground import access, history, lookup, metadata, script_settings
from surveys.services.projects import fields as project_fields
from surveys.services.projects import pictures, removal, schedule, server_rules
from surveys.services.scripts import cache as script_cache
from surveys.services.scripts import editing as scripts
from surveys.services.scripts import outro, planning
from surveys.services.scripts.planning import NewScript
from webhooks.events import EventType

SECONDS_TO_ASK_AGAIN = 30  # until the next question to the chat platform, if it cannot be reached


@dataclass(frozen=True)
class CreatedProject:
    """A new project, its script, and the paths of unknown script fields."""

    project: Project
    script: Script
    ignored: tuple[str, ...]


# --- Creating -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ProjectPlan:
    """A new project in memory, with a script. Both have passed every rule and are not saved yet."""

    actor: Actor
    project: Project
    new: NewScript
    bucket_names: tuple[str, ...]
    settings: CommunitySettings


@in_transaction
def create_project(
    *, actor: Actor, fields: Mapping[str, Any], script: object = None, at: datetime
) -> CreatedProject:
    """Create an inactive project with the submitted script, or an empty one.

    Refuses as `plan_project` does.
    """
    return save_plan(plan=plan_project(actor=actor, fields=fields, script=script, at=at), at=at)


@in_transaction
def save_plan(
    *,
    plan: ProjectPlan,
    generation: Mapping[str, object] | None = None,
    at: datetime,
) -> CreatedProject:
    """Save a planned project with its script. `generation` describes how AI writes the script, if AI does."""
    project, new = plan.project, plan.new
    project.generation = generation
    scripts.reserve_achievements(project.community_id, new.script)
    outro.number_achievement(project)
    project.script_is_scored = new.script.is_scored
    script = insert(
        project,
        new.script.blocks,
        outro.initial(project, plan.settings),
        like=new.script,
        bucket_names=plan.bucket_names,
    )
    history.record_creation(
        Action.PROJECT_CREATED, project, actor=plan.actor, bucket_names=plan.bucket_names, at=at
    )
    events.project_changed(EventType.PROJECT_CREATED, project, at=at)
    return CreatedProject(project, script, new.ignored)


def plan_project(
    *, actor: Actor, fields: Mapping[str, Any], script: object = None, at: datetime
) -> ProjectPlan:
    """Plan a project of the actor with these fields and this script; nothing is saved.

    `fields` are the validated fields of the interface, `script` is raw JSON. Refuses broken rules (all
    violations at once), and premium fields on the basic tier.
    """
    settings = communities.get_settings(community_id=actor.community_id)
    privacy_mode, rounds = project_fields.PRIVACY_BY_DEFAULT[settings.default_anonymous_mode]
    project = Project(
        community_id=actor.community_id,
        author_id=actor.user_id,
        type=fields["type"],
        created_at=at,
        privacy_mode=privacy_mode,
        rounds_times_to_day=rounds,
        max_completes_per_user=1 if fields["type"] == Project.Type.POLL else None,
    )
    violations = project_fields.apply_fields(project, fields, default_privacy=(privacy_mode, rounds), at=at)
    declared = project_fields.bucket_names(fields) or ()
    violations += access.ping_faults(actor=actor, after=project.delivery, before=None)
    new, faults = _read_script(actor, project, script, declared)
    violations += faults
    if not faults:
        violations += script_settings.settle(project, new.script)
    if violations:
        refuse_all(violations)
    access.require_premium(actor=actor, after=project.delivery, before=None)
    return ProjectPlan(actor, project, new, declared or new.bucket_names, settings)


def plan_with_draft(*, plan: ProjectPlan, blocks: Sequence[Mapping[str, Any]], scoring: bool) -> ProjectPlan:
    """The plan of a project without a script, with these blocks as its script and scoring on or off.

    Refuses blocks that break a rule.
    """
    plan.project.scoring_enabled = scoring
    new, violations = _read_script(plan.actor, plan.project, {"blocks": blocks}, plan.bucket_names)
    if violations:
        refuse_all(violations)
    return replace(plan, new=new, bucket_names=plan.bucket_names or new.bucket_names)


def _read_script(
    actor: Actor, project: Project, script: object, bucket_names: tuple[str, ...]
) -> tuple[NewScript, list[Violation]]:
    return planning.read_new(
        script,
        is_poll=project.is_poll,
        scoring_enabled=project.scoring_enabled,
        bucket_names=bucket_names,
        chat=project.response_channel == Project.ResponseChannel.CHAT,
        xp_limit=access.xp_limit(actor=actor),
        is_anonymous=project.is_anonymous,
    )


def insert(
    project: Project,
    blocks: Sequence[Block],
    outro: Sequence[Block],
    *,
    like: Script,
    bucket_names: Sequence[str],
) -> Script:
    """Save a new project with its script and buckets, with the counts that its representation needs."""
    project.revision = 1 if blocks else 0
    project.block_count = len(blocks)
    project.question_count = sum(block.asks for block in blocks)
    project.updated_at = project.created_at
    project.save(force_insert=True)
    script = scripts.add(project.pk, blocks, outro=outro, like=like)
    scripts.add_buckets(project.pk, bucket_names)
    pictures.want_new(project)
    communities.count_projects(community_id=project.community_id, total=1)
    project.completion_count = project.response_count = project.listed_count = 0
    return script


# --- Changing -------------------------------------------------------------------------------------


@in_transaction
def update_project(*, actor: Actor, project_id: int, fields: Mapping[str, Any], at: datetime) -> Project:
    """Change the submitted fields; a submitted group changes only the fields that it contains (rule 1.42).

    Refuses another privacy mode, and to keep responses longer, once there are responses, other scoring while
    active, premium fields on the basic tier, and broken rules.
    """
    project = lookup.lock(actor=actor, project_id=project_id)
    schedule.settle(project, at=at)
    was, stored = copy(project), [bucket.name for bucket in buckets_in_order(project)]
    default_privacy = (Project.PrivacyMode(project.privacy_mode), project.rounds_times_to_day)
    if project_fields.clears_privacy(fields):
        settings = communities.get_settings(community_id=actor.community_id)
        default_privacy = project_fields.PRIVACY_BY_DEFAULT[settings.default_anonymous_mode]
    violations = list(project_fields.apply_fields(project, fields, default_privacy=default_privacy, at=at))
    violations += access.ping_faults(actor=actor, after=project.delivery, before=was.delivery)
    violations += _settle_scoring(project, was, fields, stored=stored, at=at)
    if project.response_channel != was.response_channel:
        violations += chat_faults(project, script_cache.script_of(was))
    if project.is_anonymous and not was.is_anonymous:
        stored_script = script_cache.script_of(was)
        violations += script_rules.check_anonymous(stored_script)
    violations += _script_setting_faults(project, was)
    violations += access.settings_faults(actor=actor, after=project, before=was)
    violations += _reward_faults(actor, project, was)
    if violations:
        refuse_all(violations)
    access.require_premium(actor=actor, after=project.delivery, before=was.delivery)
    if (project.privacy_mode, project.rounds_times_to_day) != (was.privacy_mode, was.rounds_times_to_day):
        _change_privacy(project, at=at)
    kept, told = project.keep_responses_days, was.keep_responses_days
    if told is not None and (kept is None or kept > told):
        if _has_responses(project):
            raise Conflict(
                "`keep_responses_days` can only be lowered once there are responses: respondents were told "
                "when their answers are deleted."
            )
        _end_unanswered(project, at=at)
    if project.delivery != was.delivery:
        schedule.follow_delivery(project, at=at)
        if project.is_live_at(at) or project.is_pending_at(at):
            require_post_channel(project)
            require_chat_platform(project)
        schedule.note_public(project, at=at)
    script = script_cache.script_of(was)
    if faults := server_faults(project, script, at=at, was=was):
        refuse_all(faults)
    _update_outro(project, was)
    project.save()
    pictures.want_new(project, was=was)
    updated = lookup.get(community_id=actor.community_id, project_id=project_id)
    public_messages.ask(updated, at=at)
    if _differs(updated, was):
        events.project_changed(EventType.PROJECT_UPDATED, updated, at=at)
    history.record_change(
        Action.PROJECT_UPDATED,
        updated,
        actor=actor,
        at=at,
        before=history.project_fields(was, bucket_names=stored),
        after=history.project_fields(
            updated, bucket_names=[bucket.name for bucket in buckets_in_order(updated)]
        ),
    )
    return updated


def _script_setting_faults(project: Project, was: Project) -> list[Violation]:
    """The faults of the settings that refer to the script. Positions in them become names, and the counts
    of quotas that change are forgotten.
    """
    if not (project.quotas or project.end or project.ends or was.quotas):
        return []
    script = script_cache.script_of(was)
    buckets = tuple(Bucket(bucket.name) for bucket in buckets_in_order(project))
    after = replace(script, scoring_enabled=project.scoring_enabled, buckets=buckets)
    faults = script_settings.settle(project, outro.with_own_thanks(after, project))
    if not faults:
        script_settings.keep_counts(project, was.quotas, script, after)
    return faults


def _reward_faults(actor: Actor, project: Project, was: Project) -> list[Violation]:
    """The rewards of the end, if an actor who may not read responses changes them, and they would reveal how
    people have answered (rule 1.184).
    """
    if project.rewards == was.rewards or not project.gives_at_end:
        return []
    if access.may_read_people(actor=actor, project=project):
        return []
    script = script_cache.script_of(was)
    if not script_settings.depending(was, script).completes:
        return []
    message = (
        "`rewards`: only owners of the project and admins change this: `ends` or `quotas` name answers, and "
        "what the end gives would tell others how somebody answered."
    )
    return [Violation("rewards", "not_allowed", message)]


def _differs(updated: Project, was: Project) -> bool:
    """Whether readers see a change of a project; buckets and the outro raise the revision."""
    return any(
        getattr(updated, field.attname) != getattr(was, field.attname)
        for field in Project._meta.concrete_fields
        if field.name not in ("updated_at", "was_open_to_web")
    )


def _update_outro(project: Project, was: Project) -> None:
    """Update the outro to the project's rewards, also while the project is active."""
    outro.number_achievement(project, was=was)
    if project.rewards == was.rewards and project.name == was.name:
        return
    script = script_cache.script_of(was)
    outro_blocks = outro.updated(script.outro, project, was=was)
    if scripts.save_outro(project, script, outro_blocks) and project.revision == was.revision:
        project.revision += 1


def chat_faults(project: Project, script: Script) -> list[Violation]:
    """Violations of a script that the chat platform could not show, if chat is the project's channel."""
    if project.response_channel != Project.ResponseChannel.CHAT:
        return []
    return script_rules.check_chat(script)


def server_faults(
    project: Project, script: Script, *, at: datetime, was: Project | None = None
) -> list[Violation]:
    """Roles and a channel that the community may not use, by the state in which its server was last read.

    Reward roles must be harmless and below the bot's own role. Empty while the community is not connected.
    With `was`, values that were there before are accepted, so that clients may send back the values that they
    read. An id that the server did not have when it was last read may be new. Such an id is accepted in a
    change, if that was long ago, or if a channel was not looked up because the platform could not be asked
    (`server_rules.look`). Opening by chat then raises Unavailable.
    """
    everyone = list(server_rules.check_everyone(project, was=was))
    guild = guilds.stored(community_id=project.community_id)
    if guild is None:
        return everyone
    faults = [*everyone, *server_rules.check(project, script, guild, was=was)]
    is_old = guild.at < at - guilds.FRESH
    new = server_rules.unasked_paths(project, guild)
    new |= server_rules.unknown_paths(project, script, guild) if is_old else set()
    known = [fault for fault in faults if fault.field not in new]
    is_by_chat = project.response_channel == Project.ResponseChannel.CHAT
    if faults and not known and was is None and is_by_chat:
        words = "The chat platform cannot be asked about this server right now; please retry shortly."
        raise Unavailable(words, retry_after=SECONDS_TO_ASK_AGAIN)
    return known


def require_post_channel(project: Project) -> None:
    """Refuse delivery by chat without a channel for the invitation (rule 2.6)."""
    if project.response_channel != Project.ResponseChannel.CHAT:
        return
    invitation = (project.delivery or {}).get("invitation") or {}
    if not invitation.get("post_channel_id"):
        field = "delivery.invitation.post_channel_id"
        message = f"`{field}` is required if `response_channel` is `chat`."
        raise ChannelRequired(message, violations=[violation(field, "required", message)])


def require_chat_platform(project: Project) -> None:
    """Refuse delivery by chat while the community is not connected to the platform (rule 2.5)."""
    if project.response_channel != Project.ResponseChannel.CHAT:
        return
    if not installations.is_configured():
        raise Conflict("No chat platform is connected, so `response_channel` cannot be `chat`.")
    if not installations.is_connected(community_id=project.community_id):
        raise Conflict(
            "This community is not connected with the chat platform, so `response_channel` cannot be `chat`. "
            "An admin adds the bot to its server under Chat."
        )


def become_anonymous(project: Project, script: Script) -> None:
    """Make a project without responses anonymous in memory, unless its hidden fields, its ends or its script
    do not allow that.
    """
    before = project.privacy_mode
    project.privacy_mode = Project.PrivacyMode.ANONYMOUS
    of_settings = script_settings.faults(project, outro.with_own_thanks(script, project))
    if any(chain(metadata.faults(project), of_settings, script_rules.check_anonymous(script))):
        project.privacy_mode = before


def make_anonymous(project: Project, *, at: datetime) -> None:
    """Make a locked project without responses anonymous, as far as `become_anonymous` does."""
    before = project.privacy_mode
    become_anonymous(project, script_cache.script_of(project))
    if project.privacy_mode != before:
        _change_privacy(project, at=at)
        project.save(update_fields=["privacy_mode"])


def _change_privacy(project: Project, *, at: datetime) -> None:
    """Delete conversations without answers, because they began in another privacy mode (rule 1.43).

    Refuses if there are responses.
    """
    if _has_responses(project):
        raise Conflict("`privacy_mode` cannot change once there are responses.")
    removal.end_running_analyses(project)
    Analysis.objects.filter(project=project).delete()  # these cover responses that have been deleted
    _end_unanswered(project, at=at)
    if project.is_anonymous:  # links of anonymous projects have no metadata (`links/fields`)
        links = PersonalLink.objects.filter(project=project)
        links.filter(sealed_metadata__isnull=False).update(sealed_metadata=None)


def _end_unanswered(project: Project, *, at: datetime) -> None:
    """Delete conversations of a project without responses. Their links can be used again."""
    removal.delete_unanswered(project, at=at)
    PersonalLink.objects.filter(project=project, used_at__isnull=False).update(used_at=None)


def _has_responses(project: Project) -> bool:
    """Whether there are responses, those included that were screened out."""
    conversations = Conversation.objects.filter(project=project)
    return conversations.filter(Q(is_listed=True) | Q(completed_at__isnull=False)).exists()


def _settle_scoring(
    project: Project, was: Project, fields: Mapping[str, Any], *, stored: list[str], at: datetime
) -> list[Violation]:
    """Save the submitted buckets, and check the stored script against them. `stored` are the current buckets.

    While scoring is off, reads show no buckets, so an empty list sent back changes nothing.
    """
    names = project_fields.bucket_names(fields)
    if names is None or (not names and not project.scoring_enabled and fields.get("scoring") is not None):
        names = tuple(stored)
    sets_scoring = "scoring" in fields or not was.scoring_enabled
    if not names and project.scoring_enabled and sets_scoring:
        script = script_cache.script_of(project)
        names = planning.first_buckets(replace(script, scoring_enabled=True))
    if project.scoring_enabled == was.scoring_enabled and list(names) == stored:
        return []
    if project.is_live_at(at):
        raise Conflict("Scoring cannot change while the project is active.")
    script = script_cache.script_of(project)
    after = replace(script, scoring_enabled=project.scoring_enabled, buckets=tuple(map(Bucket, names)))
    violations = script_rules.check(
        after,
        block_paths=stored_paths(after),
        chat=False,
        bucket_keys=after.bucket_keys or None,
        path="script.blocks",
    )
    violations += script_settings.missed_by_dashboard(project, script, after)
    if script.blocks and violations:
        return violations
    if list(names) != stored:
        BucketRow.objects.filter(project=project).delete()
        scripts.add_buckets(project.pk, names)
    project.revision += 1
    return []
