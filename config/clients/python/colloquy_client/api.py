"""The operations of the interface, as calls for a client to send. Written by generate.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from colloquy_client.calls import Call, Download, Pages, segment
from colloquy_client.types import (
    Achievement,
    AchievementList,
    Action,
    Analysis,
    AnswerRequest,
    AnswerToQuestion,
    ApiKey,
    ApiKeyList,
    AuditEntry,
    AuditEntryList,
    Award,
    AwardRequest,
    Block,
    BlockPatch,
    Bom,
    Category,
    Changes,
    CloneRequest,
    Codebook,
    CodebookPatch,
    Community,
    CommunityList,
    CommunitySettings,
    CommunitySettingsPatch,
    Conversation,
    ConversationRequest,
    Converted,
    ConvertRequest,
    Covers,
    CreatedLinks,
    CrossTable,
    Dashboard,
    DashboardRequest,
    Delivery,
    DeliveryList,
    DeliveryStatus,
    DeliveryWithBody,
    Event,
    EventList,
    EventWithoutDataType,
    FiltersProvider,
    Imported,
    LeaderboardListPeriod,
    Link,
    LinkList,
    LinksExportFormat,
    LinksRequest,
    Member,
    MemberList,
    MemberOrMembers,
    MemberPatch,
    MembersListSort,
    MoveRequest,
    NewApiKey,
    NewApiKeyRequest,
    NewMemberOrMembersRequest,
    NewProject,
    NewProjectRequest,
    NewProjectStatus,
    NewProjectType,
    NewWebhook,
    NewWebhookRequest,
    OpenRequest,
    Order,
    Outcome,
    Person,
    Picture,
    PictureRequest,
    Project,
    ProjectList,
    ProjectParticipation,
    ProjectPatch,
    ProjectsListSort,
    QuestionRequest,
    ReadingRequest,
    Redelivered,
    RedeliverRequest,
    Response,
    ResponseChange,
    ResponseList,
    ResponsesExportForm,
    ResponsesExportFormat,
    ResponsesExportHeaders,
    ResponsesExportMissing,
    ResponsesExportValues,
    ResponsesRequest,
    Results,
    ResultsCount,
    Revision,
    RevisionRequest,
    Role,
    Script,
    Suspected,
    Template,
    TemplateList,
    TemplateWithScript,
    Token,
    TokenRequest,
    VerifiedSource,
    VerifiedSourceList,
    Webhook,
    WebhookList,
    WebhookPatch,
    XpEntry,
    XpEntryList,
)


def communities_list(
    *, page: int | None = None, per_page: int | None = None
) -> Pages[CommunityList, Community]:
    """List communities."""
    return Pages("GET", "/v1/communities", query={"page": page, "per_page": per_page})


def communities_get() -> Call[Community]:
    """Read a community."""
    return Call("GET", "")


def achievements_list(
    *, page: int | None = None, per_page: int | None = None
) -> Pages[AchievementList, Achievement]:
    """List achievements."""
    return Pages("GET", "achievements", query={"page": page, "per_page": per_page})


def api_keys_list(*, page: int | None = None, per_page: int | None = None) -> Pages[ApiKeyList, ApiKey]:
    """List API keys."""
    return Pages("GET", "api_keys", query={"page": page, "per_page": per_page})


def api_keys_create(body: NewApiKeyRequest) -> Call[NewApiKey]:
    """Create an API key."""
    return Call("POST", "api_keys", body=body)


def api_keys_revoke(key_id: str) -> Call[None]:
    """Revoke an API key."""
    return Call("DELETE", f"api_keys/{segment(key_id)}")


def api_keys_rotate(key_id: str) -> Call[NewApiKey]:
    """Rotate an API key."""
    return Call("POST", f"api_keys/{segment(key_id)}/rotate")


def audit_list(
    *,
    action: Action | None = None,
    actor_id: int | None = None,
    actor_pseudonym: str | None = None,
    after: str | None = None,
    per_page: int | None = None,
    project_id: int | None = None,
    search: str | None = None,
    since: str | None = None,
    until: str | None = None,
) -> Pages[AuditEntryList, AuditEntry]:
    """Read the audit trail."""
    return Pages(
        "GET",
        "audit",
        query={
            "action": action,
            "actor_id": actor_id,
            "actor_pseudonym": actor_pseudonym,
            "after": after,
            "per_page": per_page,
            "project_id": project_id,
            "search": search,
            "since": since,
            "until": until,
        },
    )


def conversations_get(conversation_id: str) -> Call[Conversation]:
    """Read a conversation."""
    return Call("GET", f"conversations/{segment(conversation_id)}")


def conversations_answer(conversation_id: str, body: AnswerRequest) -> Call[Conversation]:
    """Answer the current block."""
    return Call("POST", f"conversations/{segment(conversation_id)}/answers", body=body)


def conversations_back(conversation_id: str, body: MoveRequest | None = None) -> Call[Conversation]:
    """Go one step back."""
    return Call("POST", f"conversations/{segment(conversation_id)}/back", body=body)


def conversations_continue(conversation_id: str, body: MoveRequest | None = None) -> Call[Conversation]:
    """Go past a content or action block."""
    return Call("POST", f"conversations/{segment(conversation_id)}/continue", body=body)


def conversations_create_token(conversation_id: str, body: TokenRequest | None = None) -> Call[Token]:
    """Let a page lead a conversation."""
    return Call("POST", f"conversations/{segment(conversation_id)}/tokens", body=body)


def deliveries_get(delivery_id: str) -> Call[DeliveryWithBody]:
    """Read a delivery."""
    return Call("GET", f"deliveries/{segment(delivery_id)}")


def deliveries_redeliver(delivery_id: str) -> Call[Delivery]:
    """Deliver again."""
    return Call("POST", f"deliveries/{segment(delivery_id)}/redeliver")


def events_list(
    *,
    after: str | None = None,
    order: Order | None = None,
    per_page: int | None = None,
    since: str | None = None,
    type: EventWithoutDataType | None = None,
    until: str | None = None,
) -> Pages[EventList, Event]:
    """List events."""
    return Pages(
        "GET",
        "events",
        query={
            "after": after,
            "order": order,
            "per_page": per_page,
            "since": since,
            "type": type,
            "until": until,
        },
    )


def leaderboard_list(
    *, page: int | None = None, per_page: int | None = None, period: LeaderboardListPeriod | None = None
) -> Pages[MemberList, Member]:
    """Read the leaderboard."""
    return Pages("GET", "leaderboard", query={"page": page, "per_page": per_page, "period": period})


def links_revoke_by_id(link_id: str) -> Call[None]:
    """Revoke a personal link by its id."""
    return Call("DELETE", f"links/{segment(link_id)}")


def members_list(
    *,
    access: Role | None = None,
    after: int | None = None,
    page: int | None = None,
    per_page: int | None = None,
    platform_id: str | None = None,
    search: str | None = None,
    sort: MembersListSort | None = None,
    updated_after: str | None = None,
    user_id: int | None = None,
) -> Pages[MemberList, Member]:
    """List members."""
    return Pages(
        "GET",
        "members",
        query={
            "access": access,
            "after": after,
            "page": page,
            "per_page": per_page,
            "platform_id": platform_id,
            "search": search,
            "sort": sort,
            "updated_after": updated_after,
            "user_id": user_id,
        },
    )


def members_create(body: NewMemberOrMembersRequest | None = None) -> Call[MemberOrMembers]:
    """Add members."""
    return Call("POST", "members", body=body)


def members_get(member_id: str) -> Call[Member]:
    """Read a member."""
    return Call("GET", f"members/{segment(member_id)}")


def members_update(
    member_id: str, body: MemberPatch | None = None, *, if_match: str | None = None
) -> Call[Member]:
    """Change a member."""
    return Call("PATCH", f"members/{segment(member_id)}", body=body, if_match=if_match)


def members_data_get(member_id: str) -> Call[Person]:
    """Read all data stored about a person."""
    return Call("GET", f"members/{segment(member_id)}/data")


def members_data_erase(member_id: str) -> Call[None]:
    """Erase a person."""
    return Call("DELETE", f"members/{segment(member_id)}/data")


def xp_list(
    member_id: str, *, page: int | None = None, per_page: int | None = None
) -> Pages[XpEntryList, XpEntry]:
    """Read a member's XP ledger."""
    return Pages("GET", f"members/{segment(member_id)}/xp", query={"page": page, "per_page": per_page})


def xp_award(member_id: str, body: AwardRequest) -> Call[Award]:
    """Give or take XP by hand."""
    return Call("POST", f"members/{segment(member_id)}/xp", body=body)


def pictures_create(body: PictureRequest) -> Call[Picture]:
    """Upload a picture."""
    return Call("POST", "pictures", body=body)


def projects_list(
    *,
    after: int | None = None,
    author_id: int | None = None,
    page: int | None = None,
    per_page: int | None = None,
    search: str | None = None,
    sort: ProjectsListSort | None = None,
    status: NewProjectStatus | None = None,
    type: NewProjectType | None = None,
    updated_after: str | None = None,
) -> Pages[ProjectList, Project]:
    """List projects."""
    return Pages(
        "GET",
        "projects",
        query={
            "after": after,
            "author_id": author_id,
            "page": page,
            "per_page": per_page,
            "search": search,
            "sort": sort,
            "status": status,
            "type": type,
            "updated_after": updated_after,
        },
    )


def projects_create(body: NewProjectRequest) -> Call[NewProject]:
    """Create a project."""
    return Call("POST", "projects", body=body)


def projects_get(project_id: str) -> Call[Project]:
    """Read a project."""
    return Call("GET", f"projects/{segment(project_id)}")


def projects_put(
    project_id: str, body: ProjectPatch | None = None, *, if_match: str | None = None
) -> Call[Project]:
    """Change a project."""
    return Call("PUT", f"projects/{segment(project_id)}", body=body, if_match=if_match)


def projects_patch(
    project_id: str, body: ProjectPatch | None = None, *, if_match: str | None = None
) -> Call[Project]:
    """Change some fields of a project."""
    return Call("PATCH", f"projects/{segment(project_id)}", body=body, if_match=if_match)


def projects_delete(project_id: str, *, if_match: str | None = None) -> Call[None]:
    """Delete a project."""
    return Call("DELETE", f"projects/{segment(project_id)}", if_match=if_match)


def analysis_get(project_id: str, *, ai: bool | None = None, status: Covers | None = None) -> Call[Analysis]:
    """Read the analysis."""
    return Call("GET", f"projects/{segment(project_id)}/analysis", query={"ai": ai, "status": status})


def analysis_create(
    project_id: str, *, ai: bool | None = None, status: Covers | None = None
) -> Call[Analysis]:
    """Analyse the responses."""
    return Call("POST", f"projects/{segment(project_id)}/analysis", query={"ai": ai, "status": status})


def analysis_cross_table(
    project_id: str,
    *,
    columns: str,
    provider: FiltersProvider | None = None,
    rows: str,
    status: Covers | None = None,
    submitted_after: str | None = None,
    submitted_before: str | None = None,
    suspected: Suspected | None = None,
    weight_by: str | None = None,
    where: str | None = None,
    fields: Mapping[str, str] | None = None,
) -> Call[CrossTable | ResultsCount]:
    """Cross two questions."""
    return Call(
        "GET",
        f"projects/{segment(project_id)}/analysis/cross",
        query={
            "columns": columns,
            "provider": provider,
            "rows": rows,
            "status": status,
            "submitted_after": submitted_after,
            "submitted_before": submitted_before,
            "suspected": suspected,
            "weight_by": weight_by,
            "where": where,
            **{f"field.{name}": value for name, value in (fields or {}).items()},
        },
    )


def analysis_participation(
    project_id: str,
    *,
    provider: FiltersProvider | None = None,
    status: Covers | None = None,
    submitted_after: str | None = None,
    submitted_before: str | None = None,
    suspected: Suspected | None = None,
    where: str | None = None,
    fields: Mapping[str, str] | None = None,
) -> Call[ProjectParticipation]:
    """Count begun and completed responses over time."""
    return Call(
        "GET",
        f"projects/{segment(project_id)}/analysis/participation",
        query={
            "provider": provider,
            "status": status,
            "submitted_after": submitted_after,
            "submitted_before": submitted_before,
            "suspected": suspected,
            "where": where,
            **{f"field.{name}": value for name, value in (fields or {}).items()},
        },
    )


def analysis_ask(project_id: str, body: QuestionRequest) -> Call[AnswerToQuestion]:
    """Ask the results."""
    return Call("POST", f"projects/{segment(project_id)}/analysis/questions", body=body)


def analysis_results(
    project_id: str,
    *,
    provider: FiltersProvider | None = None,
    segment_by: str | None = None,
    status: Covers | None = None,
    submitted_after: str | None = None,
    submitted_before: str | None = None,
    suspected: Suspected | None = None,
    weight_by: str | None = None,
    where: str | None = None,
    fields: Mapping[str, str] | None = None,
) -> Call[Results | ResultsCount]:
    """Count the answers."""
    return Call(
        "GET",
        f"projects/{segment(project_id)}/analysis/results",
        query={
            "provider": provider,
            "segment_by": segment_by,
            "status": status,
            "submitted_after": submitted_after,
            "submitted_before": submitted_before,
            "suspected": suspected,
            "weight_by": weight_by,
            "where": where,
            **{f"field.{name}": value for name, value in (fields or {}).items()},
        },
    )


def codebooks_get(block_id: str, project_id: str) -> Call[Codebook]:
    """Read the themes of an open question."""
    return Call("GET", f"projects/{segment(project_id)}/blocks/{segment(block_id)}/codebook")


def codebooks_patch(
    block_id: str, project_id: str, body: CodebookPatch | None = None, *, if_match: str | None = None
) -> Call[Codebook]:
    """Change the themes of an open question."""
    return Call(
        "PATCH",
        f"projects/{segment(project_id)}/blocks/{segment(block_id)}/codebook",
        body=body,
        if_match=if_match,
    )


def projects_clone(project_id: str, body: CloneRequest | None = None) -> Call[Project]:
    """Copy a project."""
    return Call("POST", f"projects/{segment(project_id)}/clone", body=body)


def projects_close(project_id: str) -> Call[Project]:
    """Close a project."""
    return Call("POST", f"projects/{segment(project_id)}/close")


def conversations_begin(project_id: str, body: ConversationRequest | None = None) -> Call[Conversation]:
    """Begin a conversation."""
    return Call("POST", f"projects/{segment(project_id)}/conversations", body=body)


def dashboards_get(project_id: str) -> Call[Dashboard]:
    """Read the dashboard of a project."""
    return Call("GET", f"projects/{segment(project_id)}/dashboard")


def dashboards_put(
    project_id: str, body: DashboardRequest, *, if_match: str | None = None
) -> Call[Dashboard]:
    """Keep a dashboard of a project."""
    return Call("PUT", f"projects/{segment(project_id)}/dashboard", body=body, if_match=if_match)


def dashboards_delete(project_id: str, *, if_match: str | None = None) -> Call[None]:
    """Remove the dashboard of a project."""
    return Call("DELETE", f"projects/{segment(project_id)}/dashboard", if_match=if_match)


def links_list(
    project_id: str, *, page: int | None = None, per_page: int | None = None
) -> Pages[LinkList, Link]:
    """List personal links."""
    return Pages("GET", f"projects/{segment(project_id)}/links", query={"page": page, "per_page": per_page})


def links_create(project_id: str, body: LinksRequest | None = None) -> Call[CreatedLinks]:
    """Create personal links."""
    return Call("POST", f"projects/{segment(project_id)}/links", body=body)


def links_revoke(link_id: str, project_id: str) -> Call[None]:
    """Revoke a personal link."""
    return Call("DELETE", f"projects/{segment(project_id)}/links/{segment(link_id)}")


def links_export(
    project_id: str, *, bom: Bom | None = None, format: LinksExportFormat | None = None
) -> Download:
    """Export personal links."""
    return Download(
        "GET", f"projects/{segment(project_id)}/links/export", query={"bom": bom, "format": format}
    )


def projects_open(project_id: str, body: OpenRequest | None = None) -> Call[Project]:
    """Open a project."""
    return Call("POST", f"projects/{segment(project_id)}/open", body=body)


def responses_list(
    project_id: str,
    *,
    after: str | None = None,
    member_id: int | None = None,
    order: Order | None = None,
    outcome: Outcome | None = None,
    page: int | None = None,
    per_page: int | None = None,
    platform_id: str | None = None,
    provider: FiltersProvider | None = None,
    session_number: int | None = None,
    status: Covers | None = None,
    submitted_after: str | None = None,
    submitted_before: str | None = None,
    suspected: Suspected | None = None,
    updated_after: str | None = None,
    user_id: int | None = None,
    where: str | None = None,
    fields: Mapping[str, str] | None = None,
) -> Pages[ResponseList, Response]:
    """List responses."""
    return Pages(
        "GET",
        f"projects/{segment(project_id)}/responses",
        query={
            "after": after,
            "member_id": member_id,
            "order": order,
            "outcome": outcome,
            "page": page,
            "per_page": per_page,
            "platform_id": platform_id,
            "provider": provider,
            "session_number": session_number,
            "status": status,
            "submitted_after": submitted_after,
            "submitted_before": submitted_before,
            "suspected": suspected,
            "updated_after": updated_after,
            "user_id": user_id,
            "where": where,
            **{f"field.{name}": value for name, value in (fields or {}).items()},
        },
    )


def responses_import(
    project_id: str,
    body: ResponsesRequest | bytes | None = None,
    *,
    dry_run: bool | None = None,
    emit_events: bool | None = None,
    give_xp: bool | None = None,
) -> Call[Imported]:
    """Import past responses."""
    return Call(
        "POST",
        f"projects/{segment(project_id)}/responses",
        body=body,
        query={"dry_run": dry_run, "emit_events": emit_events, "give_xp": give_xp},
    )


def responses_changes(
    project_id: str, *, cursor: str | None = None, per_page: int | None = None
) -> Pages[Changes, ResponseChange]:
    """Read what has changed in a project."""
    return Pages(
        "GET",
        f"projects/{segment(project_id)}/responses/changes",
        query={"cursor": cursor, "per_page": per_page},
    )


def responses_export(
    project_id: str,
    *,
    bom: Bom | None = None,
    form: ResponsesExportForm | None = None,
    format: ResponsesExportFormat | None = None,
    headers: ResponsesExportHeaders | None = None,
    missing: ResponsesExportMissing | None = None,
    outcome: Outcome | None = None,
    provider: FiltersProvider | None = None,
    status: Covers | None = None,
    submitted_after: str | None = None,
    submitted_before: str | None = None,
    suspected: Suspected | None = None,
    values: ResponsesExportValues | None = None,
    where: str | None = None,
    fields: Mapping[str, str] | None = None,
) -> Download:
    """Export responses."""
    return Download(
        "GET",
        f"projects/{segment(project_id)}/responses/export",
        query={
            "bom": bom,
            "form": form,
            "format": format,
            "headers": headers,
            "missing": missing,
            "outcome": outcome,
            "provider": provider,
            "status": status,
            "submitted_after": submitted_after,
            "submitted_before": submitted_before,
            "suspected": suspected,
            "values": values,
            "where": where,
            **{f"field.{name}": value for name, value in (fields or {}).items()},
        },
    )


def scripts_get(project_id: str, *, expand: Literal["outro"] | None = None) -> Call[Script]:
    """Read the script of a project."""
    return Call("GET", f"projects/{segment(project_id)}/script", query={"expand": expand})


def scripts_put(project_id: str, body: Script | None = None, *, if_match: str | None = None) -> Call[Script]:
    """Replace the script of a project."""
    return Call("PUT", f"projects/{segment(project_id)}/script", body=body, if_match=if_match)


def blocks_get(block_id: str, project_id: str) -> Call[Block]:
    """Read one block."""
    return Call("GET", f"projects/{segment(project_id)}/script/blocks/{segment(block_id)}")


def blocks_put(
    block_id: str, project_id: str, body: BlockPatch | None = None, *, if_match: str | None = None
) -> Call[Block]:
    """Change one block."""
    return Call(
        "PUT",
        f"projects/{segment(project_id)}/script/blocks/{segment(block_id)}",
        body=body,
        if_match=if_match,
    )


def blocks_patch(
    block_id: str, project_id: str, body: BlockPatch | None = None, *, if_match: str | None = None
) -> Call[Block]:
    """Change one block."""
    return Call(
        "PATCH",
        f"projects/{segment(project_id)}/script/blocks/{segment(block_id)}",
        body=body,
        if_match=if_match,
    )


def scripts_revise(project_id: str, body: RevisionRequest) -> Call[Revision]:
    """Have AI change the script."""
    return Call("POST", f"projects/{segment(project_id)}/script/revise", body=body)


def responses_get(response_id: str) -> Call[Response]:
    """Read a response."""
    return Call("GET", f"responses/{segment(response_id)}")


def responses_delete(response_id: str, *, if_match: str | None = None) -> Call[None]:
    """Delete a response."""
    return Call("DELETE", f"responses/{segment(response_id)}", if_match=if_match)


def readings_put(block_id: str, response_id: str, body: ReadingRequest) -> Call[Response]:
    """Put right what was read in one answer."""
    return Call("PUT", f"responses/{segment(response_id)}/blocks/{segment(block_id)}/reading", body=body)


def responses_all_changes(
    *, cursor: str | None = None, per_page: int | None = None
) -> Pages[Changes, ResponseChange]:
    """Read what has changed in all projects."""
    return Pages("GET", "responses/changes", query={"cursor": cursor, "per_page": per_page})


def scripts_convert(body: ConvertRequest) -> Call[Converted]:
    """Convert a questionnaire of another system."""
    return Call("POST", "scripts/convert", body=body)


def settings_get() -> Call[CommunitySettings]:
    """Read a community's settings."""
    return Call("GET", "settings")


def settings_patch(
    body: CommunitySettingsPatch | None = None, *, if_match: str | None = None
) -> Call[CommunitySettings]:
    """Change a community's settings."""
    return Call("PATCH", "settings", body=body, if_match=if_match)


def verified_sources_list(
    *, page: int | None = None, per_page: int | None = None
) -> Pages[VerifiedSourceList, VerifiedSource]:
    """List verified sources."""
    return Pages("GET", "verified_sources", query={"page": page, "per_page": per_page})


def webhooks_list(*, page: int | None = None, per_page: int | None = None) -> Pages[WebhookList, Webhook]:
    """List webhooks."""
    return Pages("GET", "webhooks", query={"page": page, "per_page": per_page})


def webhooks_create(body: NewWebhookRequest) -> Call[NewWebhook]:
    """Register a webhook."""
    return Call("POST", "webhooks", body=body)


def webhooks_get(webhook_id: str) -> Call[Webhook]:
    """Read a webhook."""
    return Call("GET", f"webhooks/{segment(webhook_id)}")


def webhooks_patch(
    webhook_id: str, body: WebhookPatch | None = None, *, if_match: str | None = None
) -> Call[Webhook]:
    """Change a webhook."""
    return Call("PATCH", f"webhooks/{segment(webhook_id)}", body=body, if_match=if_match)


def webhooks_delete(webhook_id: str, *, if_match: str | None = None) -> Call[None]:
    """Delete a webhook."""
    return Call("DELETE", f"webhooks/{segment(webhook_id)}", if_match=if_match)


def deliveries_list(
    webhook_id: str,
    *,
    after: str | None = None,
    event_type: EventWithoutDataType | None = None,
    page: int | None = None,
    per_page: int | None = None,
    since: str | None = None,
    status: DeliveryStatus | None = None,
    until: str | None = None,
) -> Pages[DeliveryList, Delivery]:
    """List a webhook's deliveries."""
    return Pages(
        "GET",
        f"webhooks/{segment(webhook_id)}/deliveries",
        query={
            "after": after,
            "event_type": event_type,
            "page": page,
            "per_page": per_page,
            "since": since,
            "status": status,
            "until": until,
        },
    )


def webhooks_ping(webhook_id: str) -> Call[Delivery]:
    """Ping a webhook."""
    return Call("POST", f"webhooks/{segment(webhook_id)}/ping")


def webhooks_redeliver(webhook_id: str, body: RedeliverRequest) -> Call[Redelivered]:
    """Deliver many again."""
    return Call("POST", f"webhooks/{segment(webhook_id)}/redeliver", body=body)


def webhooks_rotate_secret(webhook_id: str) -> Call[NewWebhook]:
    """Rotate a webhook's secret."""
    return Call("POST", f"webhooks/{segment(webhook_id)}/rotate_secret")


def templates_list(
    *,
    category: Category | None = None,
    page: int | None = None,
    per_page: int | None = None,
    search: str | None = None,
    type: NewProjectType | None = None,
) -> Pages[TemplateList, Template]:
    """List templates."""
    return Pages(
        "GET",
        "/v1/templates",
        query={"category": category, "page": page, "per_page": per_page, "search": search, "type": type},
    )


def templates_get(template_id: str) -> Call[TemplateWithScript]:
    """Read a template."""
    return Call("GET", f"/v1/templates/{segment(template_id)}")
