"""Admin pages for projects, scripts and conversations. Staff can correct wording; the rest is read-only.

Tables with composite keys (answers, completions, tallies) cannot be registered in Django's admin. The page of
a conversation shows its answers, the page of a project its counts. Completions are not shown at all.
"""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import Count, F, Model, QuerySet
from django.forms import BaseModelFormSet, ModelForm
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from communities.admin import LockedAdmin
from surveys.engine.intake.fields import MAX_PROMPT
from surveys.engine.script import CALCULATED
from surveys.engine.walk.runner import State
from surveys.models import Block, Bucket, Conversation, Option, Project, ProjectQuerySet


class NoAddOrDelete:
    """Admin mixin for rows that only the API adds and deletes."""

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class BucketInline(NoAddOrDelete, admin.TabularInline[Bucket, Project]):
    model = Bucket
    fields = ("name", "order")
    readonly_fields = ("name", "order")
    extra = 0


@admin.register(Project)
class ProjectAdmin(NoAddOrDelete, LockedAdmin[Project]):
    """Staff can correct the name and `is_cloneable`; other fields have rules and change only in the API."""

    list_display = ["name", "id", "community", "type", "status", "privacy_mode", "block_count", "created_at"]
    list_filter = ["type", "status", "privacy_mode", "participation"]
    list_select_related = ["community"]
    search_fields = ["name", "=id", "=slug", "community__name"]
    date_hierarchy = "created_at"
    ordering = ["-created_at", "-id"]
    show_full_result_count = False
    inlines = [BucketInline]
    editable = ("name", "is_cloneable")
    counts = ("responses", "completions", "answered_blocks", "results")

    def get_queryset(self, request: HttpRequest) -> ProjectQuerySet:
        projects = Project.objects.select_related("community", "author")
        return projects.with_counts() if _is_one(request) else projects

    def get_readonly_fields(self, request: HttpRequest, obj: Project | None = None) -> list[str]:
        names = [field.name for field in Project._meta.fields if field.name not in self.editable]
        return [*names, *self.counts]

    def get_fields(self, request: HttpRequest, obj: Project | None = None) -> list[Any]:
        return [*self.editable, *self.get_readonly_fields(request, obj)]

    @admin.display(description="responses")
    def responses(self, project: Project) -> int:
        return int(getattr(project, "listed_count", 0))

    @admin.display(description="completions")
    def completions(self, project: Project) -> int:
        return int(getattr(project, "completion_count", 0))

    @admin.display(description="answered blocks")
    def answered_blocks(self, project: Project) -> int:
        return int(getattr(project, "response_count", 0))

    @admin.display(description="results")
    def results(self, project: Project) -> SafeString:
        address = reverse("pages:staff-results", args=[project.pk])
        return format_html('<a href="{}">Charts, themes and export</a>', address)


class OptionInline(NoAddOrDelete, admin.TabularInline[Option, Block]):
    model = Option
    fields = ["value", "label", "emoji", "display_order", "anchor_position", "is_archived"]
    readonly_fields = ["value", "display_order", "anchor_position", "is_archived"]
    ordering = ["is_archived", "display_order", "id"]
    extra = 0


class WordingForm(ModelForm[Block]):
    """Form for wording, with the same limits as the API."""

    def clean_prompt(self) -> str:
        prompt: str = self.cleaned_data["prompt"]
        if not prompt.strip() and self.instance.type != CALCULATED:
            raise ValidationError("The prompt must not be blank.")
        return prompt

    def clean(self) -> dict[str, Any]:
        for name, text in list(self.cleaned_data.items()):
            if isinstance(text, str) and len(text) > MAX_PROMPT:
                self.add_error(name, f"Must have at most {MAX_PROMPT:,} characters.")
        return self.cleaned_data


@admin.register(Block)
class BlockAdmin(NoAddOrDelete, LockedAdmin[Block]):
    """Staff can correct wording at any time; structure and logic change only through the API."""

    list_display = ["name", "id", "project", "section", "position", "type", "short_prompt", "is_archived"]
    list_filter = ["type", "section", "is_archived"]
    list_select_related = ["project"]
    search_fields = ["name", "prompt", "=id", "=project__id", "project__name"]
    ordering = ["-project_id", "is_archived", "position"]
    show_full_result_count = False
    inlines = [OptionInline]
    form = WordingForm
    editable = ("prompt", "when_correct", "when_incorrect")

    def get_readonly_fields(self, request: HttpRequest, obj: Block | None = None) -> list[str]:
        return [field.name for field in Block._meta.fields if field.name not in self.editable]

    def get_fields(self, request: HttpRequest, obj: Block | None = None) -> list[Any]:
        return [*self.editable, *self.get_readonly_fields(request, obj)]

    @admin.display(description="prompt")
    def short_prompt(self, block: Block) -> str:
        return block.prompt[:80]

    def lock(self, row: Block) -> None:
        """Lock the project until the transaction ends, as every write of its script does."""
        list(Project.objects.select_for_update().filter(pk=row.project_id))

    def save_model(self, request: HttpRequest, obj: Block, form: ModelForm[Block], change: bool) -> None:
        """Save only the changed fields, because the form turns null into an empty text in the others."""
        obj.save(update_fields=form.changed_data)

    def save_related(
        self,
        request: HttpRequest,
        form: ModelForm[Block],
        formsets: list[BaseModelFormSet[Any, Any]],
        change: bool,
    ) -> None:
        """Increase the script's revision, so that no process serves the old wording from its cache."""
        super().save_related(request, form, formsets, change)
        Project.objects.filter(pk=form.instance.project_id).update(revision=F("revision") + 1)


@admin.register(Conversation)
class ConversationAdmin(NoAddOrDelete, admin.ModelAdmin[Conversation]):
    """Read-only. No field shows what an anonymous conversation stores about its respondent."""

    list_display = ["id", "project", "user", "provider", "session_number", "answers_given", "completed_at"]
    list_filter = ["provider", "is_listed", ("completed_at", admin.EmptyFieldListFilter)]
    list_select_related = ["project", "user"]
    search_fields = ["=id", "=project__id", "project__name", "=user__id", "=platform_id"]
    ordering = ["-id"]
    show_full_result_count = False
    fields = (
        "id",
        "project",
        "user",
        "platform_id",
        "provider",
        "session_number",
        "started_at",
        "updated_at",
        "completed_at",
        "answer_table",
        "gave",
    )
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Conversation]:
        conversations = Conversation.objects.defer("sealed_respondent", "respondent")
        if _is_one(request):
            return conversations
        return conversations.defer("state").annotate(answer_rows=Count("answers"))

    def has_change_permission(self, request: HttpRequest, obj: Conversation | None = None) -> bool:
        return False

    @admin.display(description="answer rows")
    def answers_given(self, conversation: Conversation) -> int:
        return int(getattr(conversation, "answer_rows", 0))

    @admin.display(description="answers")
    def answer_table(self, conversation: Conversation) -> SafeString:
        answers = conversation.answers.select_related("block", "option").order_by(
            "block__position", "ordinal"
        )
        rows = format_html_join(
            "",
            "<tr><th>{}</th><td>{}</td><td>{}</td></tr>",
            (
                (answer.block.name, answer.value, (answer.option and answer.option.label) or "")
                for answer in answers
            ),
        )
        return format_html("<table>{}</table>", rows)

    @admin.display(description="XP given by its blocks")
    def gave(self, conversation: Conversation) -> SafeString | str:
        """The XP that each block gave. Empty if anonymous: it would link a member's XP to the answers."""
        fired = {} if conversation.project.is_anonymous else State.from_json(conversation.state).fired
        blocks = Block.objects.filter(pk__in=fired).order_by("position", "pk").values_list("pk", "name")
        rows = format_html_join(
            "", "<tr><th>{}</th><td>{}</td></tr>", ((name, fired[pk]) for pk, name in blocks)
        )
        return format_html("<table>{}</table>", rows) if rows else self.get_empty_value_display()


def _is_one(request: HttpRequest) -> bool:
    """Whether the request is for the page of one object, not for the list."""
    match = request.resolver_match
    return match is not None and "object_id" in match.kwargs
