"""The objects of the interface. Written by generate.py."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict


class Achievement(TypedDict):
    id: str
    name: str
    image_url: str
    role_id: str | None


class AchievementList(TypedDict):
    data: list[Achievement]
    pagination: Pagination


Action: TypeAlias = Literal[
    "community.created",
    "community.updated",
    "community.set_up",
    "history.exported",
    "settings.updated",
    "picture.uploaded",
    "chat.connected",
    "chat.removed",
    "chat.tried_again",
    "member.created",
    "member.updated",
    "member.invited",
    "member.joined",
    "invitation.sent_again",
    "invitation.revoked",
    "member.exported",
    "member.erased",
    "member.merged",
    "api_key.created",
    "api_key.updated",
    "api_key.rotated",
    "api_key.revoked",
    "verified_source.created",
    "verified_source.updated",
    "verified_source.removed",
    "webhook.created",
    "webhook.updated",
    "webhook.deleted",
    "webhook.restored",
    "webhook.secret_rotated",
    "webhook.pinged",
    "webhook.redelivered",
    "xp.awarded",
    "xp.reset",
    "achievement.created",
    "achievement.updated",
    "project.created",
    "project.cloned",
    "project.updated",
    "project.access_changed",
    "project.deleted",
    "project.restored",
    "project.purged",
    "project.opened",
    "project.scheduled",
    "project.unscheduled",
    "project.closed",
    "project.posted_again",
    "project.address_shortened",
    "script.updated",
    "results.address_renewed",
    "link.created",
    "link.revoked",
    "link.mailed",
    "link.exported",
    "response.deleted",
    "response.deletion_planned",
    "response.deletion_undone",
    "responses.imported",
    "responses.exported",
    "codebook.updated",
    "reading.corrected",
    "analysis.requested",
]

_BlockFields = TypedDict("_BlockFields", {"continue": "NotRequired[Continue | None]"})


class BlockFields(_BlockFields):
    id: NotRequired[int | None]
    name: NotRequired[str | None]
    section: NotRequired[BlockFieldsSection | None]
    description: NotRequired[str | None]
    group: NotRequired[str | None]
    answer_style: NotRequired[BlockFieldsAnswerStyle | None]
    color: NotRequired[str | None]
    image_url: NotRequired[str | None]
    image_alt: NotRequired[str | None]
    thumbnail_url: NotRequired[str | None]
    thumbnail_alt: NotRequired[str | None]
    video_url: NotRequired[str | None]
    options: NotRequired[list[Option] | None]
    min: NotRequired[int | None]
    max: NotRequired[int | None]
    whole: NotRequired[bool | None]
    format: NotRequired[BlockFieldsFormat | None]
    required: NotRequired[bool | None]
    precondition: NotRequired[str | None]
    show_when: NotRequired[Condition | None]
    hide_when: NotRequired[Condition | None]
    action_kind: NotRequired[BlockFieldsActionKind | None]
    action_config: NotRequired[ActionConfig | None]
    correct_answer_ids: NotRequired[list[int] | None]
    correct_answer_index: NotRequired[int | None]
    correct_answer_indexes: NotRequired[list[int] | None]
    when_correct: NotRequired[str | None]
    when_incorrect: NotRequired[str | None]
    scale: NotRequired[Scale | None]
    randomize_options: NotRequired[bool | None]
    rank_top_n: NotRequired[int | None]
    follow_ups: NotRequired[int | None]
    calculated_formula: NotRequired[str | None]
    position: NotRequired[int | None]
    correct_answer_id: NotRequired[int | None]


class ActionConfig(TypedDict):
    xp_amount: NotRequired[int | None]
    source_key: NotRequired[str | None]
    xp_role_id: NotRequired[int | None]
    role_id: NotRequired[str | None]
    fire_scope: NotRequired[ActionConfigFireScope | None]


ActionConfigFireScope: TypeAlias = Literal["respondent", "session"]


class AddedOption(TypedDict):
    option_id: int
    since: str


class Analysis(TypedDict):
    id: str
    project_id: str
    status: AnalysisStatus
    ai: bool
    covers: Covers
    progress: float
    created_at: str
    completed_at: str | None
    completion_count: int
    response_count: int
    credits_used: int
    generated_by: str | None
    summary: str | None
    scores: list[AnalysisScore] | None
    variables: list[AnalysisVariable]
    blocks: list[AnalysisBlock]
    error: str | None


class AnalysisBlock(TypedDict):
    response_count: int | None
    weighted_count: NotRequired[float]
    distribution: list[AnalysisDistributionItem] | None
    stats: AnalysisStats | None
    ranking: list[AnalysisRankingItem] | None
    nps: AnalysisNps | None
    block_id: int
    block_name: str | None
    block_type: BlockType
    prompt: str
    position: int
    is_archived: bool
    drop_off: DropOff | None
    since: NotRequired[str | None]
    added_options: NotRequired[list[AddedOption]]
    could_see_count: NotRequired[int | None]
    histogram: NotRequired[Histogram | None]
    open_text: OpenText | None


class EventFields(TypedDict):
    id: str
    timestamp: str
    api_version: Literal["v1"]
    community_id: str


class AnalysisDistributionItem(TypedDict):
    option_id: int | None
    value: str
    label: str | None
    count: float
    percentage: float


class AnalysisEventData(TypedDict):
    project_id: str
    analysis: Analysis


class AnalysisNps(TypedDict):
    score: float | None
    promoters: float
    passives: float
    detractors: float


class AnalysisRankingItem(TypedDict):
    option_id: int | None
    value: str
    label: str | None
    points: NotRequired[float]
    average_rank: float | None
    first_choice_count: float
    ranked_count: float


class AnalysisStats(TypedDict):
    lower_quartile: NotRequired[float | None]
    median: NotRequired[float | None]
    upper_quartile: NotRequired[float | None]
    standard_deviation: NotRequired[float | None]
    count: int
    weighted_count: NotRequired[float]
    mean: float | None
    min: float | None
    max: float | None


AnalysisStatus: TypeAlias = Literal["pending", "running", "completed", "failed"]


class Answer(TypedDict):
    block_id: int
    value: str | None
    option_id: int | None
    block_name: str | None
    label: str | None
    themes: NotRequired[list[str]]
    sentiment: NotRequired[Sentiment | None]
    other_text: NotRequired[str]
    follow_ups: NotRequired[list[FollowUp]]


class AnswerToQuestion(TypedDict):
    question: str
    answer: str
    claims: list[Claim]
    figures: list[ReferencedFigure]
    can_be_told: bool
    generated_by: str
    credits_used: int


class ApiKey(TypedDict):
    id: str
    community_id: str
    user_id: str
    name: str
    description: str | None
    key_prefix: str
    role: Role | None
    scope: Scope
    mode: ApiKeyMode
    is_active: bool
    created_at: str
    last_used_at: str | None
    expires_at: str | None
    rotated_at: str | None
    rotated_by: str | None
    rotated_by_name: str | None


class ApiKeyList(TypedDict):
    data: list[ApiKey]
    pagination: Pagination


ApiKeyMode: TypeAlias = Literal["live", "test"]


class Attempt(TypedDict):
    attempted_at: str
    response_status: int | None
    error: str | None
    milliseconds: int


class Audience(TypedDict):
    participation: NotRequired[AudienceParticipation]
    response_channel: NotRequired[AudienceResponseChannel]
    required_role_ids: NotRequired[list[str]]
    verified_source_ids: NotRequired[list[int]]


AudienceParticipation: TypeAlias = Literal["private", "open_web"]

AudienceResponseChannel: TypeAlias = Literal["chat", "web"]


class AuditEntry(TypedDict):
    id: str
    happened_at: str
    action: Action
    source: AuditEntrySource
    actor_id: str | None
    actor_name: str | None
    actor_pseudonym: str | None
    api_key_id: str | None
    key_prefix: str | None
    object_type: str
    object_id: str | None
    object_name: str | None
    project_id: str | None
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    request_id: str | None


class AuditEntryList(TypedDict):
    data: list[AuditEntry]
    pagination: Pagination


AuditEntrySource: TypeAlias = Literal["api_key", "admin", "member", "system"]


class Award(TypedDict):
    entry: XpEntry
    member: Any


class AwardRequest(TypedDict):
    amount: int
    note: NotRequired[str | None]


BlockFieldsActionKind: TypeAlias = Literal["give_xp", "give_achievement", "give_role"]

BlockFieldsAnswerStyle: TypeAlias = Literal["full_text", "emoji_only", "select_menu", "buttons"]

BlockFieldsFormat: TypeAlias = Literal["line", "name", "email", "url", "phone", "date"]

BlockFieldsSection: TypeAlias = Literal["intro", "main", "outro"]


class BlockSegment(TypedDict):
    option_id: int | None
    value: str
    label: str | None
    response_count: int | None
    weighted_count: NotRequired[float]
    distribution: list[AnalysisDistributionItem] | None
    stats: AnalysisStats | None
    ranking: list[AnalysisRankingItem] | None
    nps: AnalysisNps | None
    open_text: SegmentText | None


BlockType: TypeAlias = Literal[
    "single_punch",
    "multi_punch",
    "open_text",
    "open_numeric",
    "rating",
    "opinion_scale",
    "nps",
    "ranking",
    "content_block",
    "action_block",
    "calculated_block",
]

Bom: TypeAlias = Literal["0", "1"]


class Bucket(TypedDict):
    name: str
    order: int


class BucketRequest(TypedDict):
    name: str
    order: NotRequired[int]


Category: TypeAlias = Literal[
    "applications",
    "community",
    "content",
    "events",
    "general",
    "learning",
    "market research",
    "members",
    "product",
    "quizzes",
    "satisfaction",
    "team",
    "work",
]


class Change(TypedDict):
    block_id: int | None
    name: str
    change: ChangeChange
    index: int | None
    fields: list[str]


ChangeChange: TypeAlias = Literal["added", "changed", "moved", "removed"]


class Changes(TypedDict):
    data: list[ResponseChange]
    cursor: str
    has_more: bool


class ChoiceAnswer(TypedDict):
    option_id: int
    other_text: NotRequired[str | None]


class ChoicesAnswer(TypedDict):
    option_ids: list[int]
    other_text: NotRequired[str | None]


class Claim(TypedDict):
    text: str
    references: list[str]


class CloneRequest(TypedDict):
    name: NotRequired[str]


class Codebook(TypedDict):
    themes: list[Theme]
    version: int


class CodebookPatch(TypedDict):
    themes: NotRequired[list[ThemeRequest]]
    merge: NotRequired[list[MergeRequest]]


class Community(TypedDict):
    id: str
    name: str
    platform: Literal["chat"]
    tier: CommunityTier
    mode: ApiKeyMode
    bot_credits: int
    locale: str | None
    icon_url: str | None
    created_date: str | None
    total_project_count: int
    active_project_count: int
    topics: list[str]
    user_setup_id: str | None


class CommunityList(TypedDict):
    data: list[Community]
    pagination: Pagination


class CommunitySettings(TypedDict):
    community_id: str
    locale: str | None
    time_zone: str
    default_anonymous_mode: CommunitySettingsDefaultAnonymousMode | None
    privacy_url: str | None
    logo_url: str | None
    accent_color: str | None
    background_color: str | None
    background_url: str | None
    font: Font | None
    corners: Corners | None
    use_xp: bool | None
    xp_name: str | None
    xp_per_question: int | None
    use_leader_board: bool | None
    thank_you_type: CommunitySettingsThankYouType | None
    thank_you_custom_message: str | None
    thank_you_custom_label: str | None
    allow_sign_up: bool
    require_second_factor: bool
    allowed_origins: list[str]


CommunitySettingsDefaultAnonymousMode: TypeAlias = Literal["yes", "no", "more_anonymous"]


class CommunitySettingsPatch(TypedDict):
    locale: NotRequired[str | None]
    time_zone: NotRequired[str]
    default_anonymous_mode: NotRequired[CommunitySettingsDefaultAnonymousMode | None]
    privacy_url: NotRequired[str | None]
    logo_url: NotRequired[str | None]
    accent_color: NotRequired[str | None]
    background_color: NotRequired[str | None]
    background_url: NotRequired[str | None]
    font: NotRequired[Font | None]
    corners: NotRequired[Corners | None]
    use_xp: NotRequired[bool | None]
    xp_name: NotRequired[str | None]
    xp_per_question: NotRequired[int | None]
    use_leader_board: NotRequired[bool | None]
    thank_you_type: NotRequired[CommunitySettingsThankYouType | None]
    thank_you_custom_message: NotRequired[str | None]
    thank_you_custom_label: NotRequired[str | None]
    allow_sign_up: NotRequired[bool]
    require_second_factor: NotRequired[bool]
    allowed_origins: NotRequired[list[str]]


CommunitySettingsThankYouType: TypeAlias = Literal["default", "form_standard", "custom"]

CommunityTier: TypeAlias = Literal["basic", "premium", "vip", "custom"]


class Condition(TypedDict):
    block: NotRequired[str | None]
    variable: NotRequired[str | None]
    op: NotRequired[ConditionOp | None]
    value: NotRequired[str | float | bool | list[str | float | bool] | None]
    all: NotRequired[list[Condition] | None]
    any: NotRequired[list[Condition] | None]


ConditionOp: TypeAlias = Literal["eq", "ne", "lt", "gt", "gte", "lte", "in"]


class Consent(TypedDict):
    text: str
    at: str


class Continue(TypedDict):
    after: ContinueAfter
    pause: NotRequired[int | None]
    label: NotRequired[str | None]


ContinueAfter: TypeAlias = Literal["pause", "click"]


class Conversation(TypedDict):
    id: str
    project_id: str
    status: ConversationStatus
    outcome: Outcome | None
    session_number: int | None
    feedback: str | None
    step: Step | None
    thank_you: str | None
    end: End | None
    outro: list[SeenBlock] | None
    resumed: bool


class ConversationRequest(TypedDict):
    member_id: NotRequired[str | None]
    external_id: NotRequired[str | None]
    display_name: NotRequired[str | None]
    metadata: NotRequired[dict[str, str] | None]
    language: NotRequired[str | None]
    consent: NotRequired[bool | None]


ConversationStatus: TypeAlias = Literal["active", "completed"]

ConvertFormat: TypeAlias = Literal[
    "xlsform", "surveyjs", "typeform", "formbricks", "limesurvey", "qualtrics", "redcap", "csv", "text"
]


class ConvertRequest(TypedDict):
    format: ConvertFormat
    content: str


class Converted(TypedDict):
    blocks: list[Block]
    unmet: list[Unmet]


Corners: TypeAlias = Literal["round", "soft", "square"]

Covers: TypeAlias = Literal["all", "completed", "partial"]


class NewLink(TypedDict):
    id: str
    member_id: str
    url: str
    expires_at: str
    metadata: dict[str, str] | None


class NewLinks(TypedDict):
    data: list[NewLink]


class CrossCell(TypedDict):
    count: float
    row_percentage: float
    column_percentage: float
    percentage: float
    differs: CrossCellDiffers | None


CrossCellDiffers: TypeAlias = Literal["more", "less"]


class CrossDivision(TypedDict):
    by: str
    title: str
    block_id: int | None
    block_name: str | None
    prompt: str | None
    field: str | None
    segments: list[CrossSegment]
    is_multiple: bool


class Segment(TypedDict):
    option_id: int | None
    value: str
    label: str | None
    count: int
    weighted_count: NotRequired[float]


class CrossTable(TypedDict):
    project_id: str
    filters: Filters
    rows: CrossDivision
    columns: CrossDivision
    count: int
    weighted_count: NotRequired[float]
    weighting: Weighting | None
    cells: list[list[CrossCell]]
    test: CrossTest | None
    tested_cells: int
    notes: list[str]


class CrossTest(TypedDict):
    name: CrossTestName
    p: float
    statistic: float | None
    degrees_of_freedom: int | None
    effect: float
    is_beyond_chance: bool
    text: str


CrossTestName: TypeAlias = Literal[
    "chi-squared test", "chi-squared test with Yates' correction", "Fisher's exact test"
]


class Dashboard(TypedDict):
    title: str
    block_ids: list[int]
    where: str | None
    weight_by: str | None
    is_shared: bool


class DashboardRequest(TypedDict):
    title: NotRequired[str]
    block_ids: list[int]
    where: NotRequired[str | None]
    weight_by: NotRequired[str | None]
    is_shared: NotRequired[bool]


class Deletion(TypedDict):
    id: str
    project_id: str
    deleted: Literal[True]


class Delivery(TypedDict):
    id: str
    webhook_id: str
    event_type: str
    event_id: str
    status: DeliveryStatus
    attempt_count: int
    response_status: int | None
    response_body: str | None
    last_attempt_at: str | None
    next_retry_at: str | None
    created_at: str
    error: str | None


class DeliveryList(TypedDict):
    data: list[Delivery]
    pagination: Pagination


DeliveryStatus: TypeAlias = Literal["pending", "delivered", "failed", "abandoned"]

DisabledReason: TypeAlias = Literal["gone", "failing"]


class DropOff(TypedDict):
    left: int
    percentage: float


class EarnedAchievement(TypedDict):
    id: str
    name: str
    image_url: str
    project_id: str | None
    awarded_at: str


class EmbedConfig(TypedDict):
    info_display: NotRequired[EmbedConfigInfoDisplay | None]
    rows: NotRequired[dict[str, bool] | None]


EmbedConfigInfoDisplay: TypeAlias = Literal["embed", "button"]


class End(TypedDict):
    url: str
    label: str
    redirect: bool


class Error(TypedDict):
    error: ErrorError
    message: NotRequired[str]
    violations: NotRequired[list[Violation]]


ErrorError: TypeAlias = Literal[
    "invalid_request",
    "channel_required",
    "missing_api_key",
    "invalid_api_key",
    "payment_required",
    "forbidden",
    "tier_required",
    "not_found",
    "method_not_allowed",
    "conflict",
    "internal_error",
    "unavailable",
]


class EventList(TypedDict):
    data: list[Event]
    pagination: Pagination


EventWithoutDataType: TypeAlias = Literal[
    "project.created",
    "project.updated",
    "project.opened",
    "project.closed",
    "project.deleted",
    "response.submitted",
    "response.updated",
    "response.deleted",
    "analysis.completed",
    "analysis.failed",
    "member.updated",
    "member.erased",
    "webhook.ping",
]

Events: TypeAlias = Literal[
    "project.created",
    "project.updated",
    "project.opened",
    "project.closed",
    "project.deleted",
    "response.submitted",
    "response.updated",
    "response.deleted",
    "analysis.completed",
    "analysis.failed",
    "member.updated",
    "member.erased",
    "webhook.ping",
    "*",
]


class Export(TypedDict):
    data: list[Response]


class FieldEntry(TypedDict):
    option_id: int | None
    value: str
    label: str | None
    count: float
    percentage: float


class FieldSegment(TypedDict):
    option_id: int | None
    value: str
    label: str | None
    count: int
    weighted_count: NotRequired[float]
    distribution: list[FieldEntry]
    other_count: float


class Filters(TypedDict):
    status: Covers
    submitted_after: str | None
    submitted_before: str | None
    provider: FiltersProvider | None
    suspected: bool | None
    fields: dict[str, str]
    where: str | None


FiltersProvider: TypeAlias = Literal[
    "chat", "video", "streaming", "game_store", "membership", "web", "import"
]


class FollowUp(TypedDict):
    question: str
    answer: str | None


Font: TypeAlias = Literal["sans", "serif", "rounded"]


class FurtherEnd(TypedDict):
    where: str
    message: NotRequired[str | None]
    url: NotRequired[str | None]
    label: NotRequired[str | None]
    redirect: NotRequired[bool]
    screen_out: NotRequired[bool]


class Generation(TypedDict):
    status: GenerationStatus
    generated_by: str | None
    error: str | None
    method: GenerationMethod
    confidence: float | None
    understood: list[str]
    unmet: list[str]


GenerationMethod: TypeAlias = Literal["template", "model"]

GenerationStatus: TypeAlias = Literal["pending", "completed", "failed"]


class RankingAnswer(TypedDict):
    ranking: list[int]


class ValueAnswer(TypedDict):
    value: str | float | list[str | float]
    other_text: NotRequired[str | None]


class SkippedAnswer(TypedDict):
    skip: Literal[True]


class Histogram(TypedDict):
    width: float
    is_whole: bool
    ranges: list[HistogramRange]


_HistogramRange = TypedDict("_HistogramRange", {"from": "float"})


class HistogramRange(_HistogramRange):
    to: float
    count: float
    percentage: float


class Imported(TypedDict):
    imported: int
    valid: NotRequired[int]
    left_out: NotRequired[int]


class ImportedAnswerRequest(TypedDict):
    block_id: NotRequired[int | None]
    block_name: NotRequired[str | None]
    value: NotRequired[str | float | None]
    option_id: NotRequired[int | None]
    label: NotRequired[str | None]
    other_text: NotRequired[str | None]


class ImportedConsentRequest(TypedDict):
    text: str
    at: str


class ImportedResponseRequest(TypedDict):
    status: NotRequired[ImportedResponseStatus]
    started_at: str
    submitted_at: NotRequired[str | None]
    platform_id: NotRequired[str | None]
    provider: NotRequired[FiltersProvider | None]
    metadata: NotRequired[dict[str, str] | None]
    consent: NotRequired[ImportedConsentRequest | None]
    language: NotRequired[str | None]
    suspected: NotRequired[bool]
    answers: list[ImportedAnswerRequest]
    skipped_removed: NotRequired[list[int]]


ImportedResponseStatus: TypeAlias = Literal["completed", "partial"]


class Invitation(TypedDict):
    post_channel_id: NotRequired[str | None]
    ping_role_ids: NotRequired[list[str]]
    message: NotRequired[str | None]
    thumbnail_url: NotRequired[str | None]
    image_url: NotRequired[str | None]
    border_color: NotRequired[str | None]
    border_color_closed: NotRequired[str | None]
    footer: NotRequired[str | None]
    embed_config: NotRequired[EmbedConfig | None]
    answer_button_label: NotRequired[str | None]
    answer_button_color: NotRequired[int | None]


LeaderboardListPeriod: TypeAlias = Literal["all", "month"]


class LeftOut(TypedDict):
    missing: int
    not_a_number: int
    zero: int
    negative: int
    too_large: int


class Link(TypedDict):
    id: str
    member_id: str
    name: str | None
    created_at: str
    expires_at: str
    revoked_at: str | None
    used_at: str | None
    mailed_at: str | None
    metadata: dict[str, str] | None


class LinkList(TypedDict):
    data: list[Link]
    pagination: Pagination


class LinkRequest(TypedDict):
    member_id: str
    metadata: NotRequired[dict[str, str] | None]


LinksExportFormat: TypeAlias = Literal["csv", "xlsx"]


class LinksRequest(TypedDict):
    member_id: NotRequired[str]
    member_ids: NotRequired[list[str]]
    links: NotRequired[list[LinkRequest]]
    metadata: NotRequired[dict[str, str] | None]


class Member(TypedDict):
    id: str
    user_id: str
    platform_id: str | None
    name: str | None
    nick: str | None
    avatar_url: str | None
    access: Role
    rank: int | None
    xp_total: int
    xp_monthly: int
    level: int
    participation: int
    achievements: list[EarnedAchievement]
    joined_at: str | None
    left_at: str | None
    updated_at: str


class MemberErasedEventData(TypedDict):
    member_id: str


class MemberEventData(TypedDict):
    member: Member


class MemberList(TypedDict):
    data: list[Member]
    pagination: Pagination


class Members(TypedDict):
    data: list[Member]


class MemberPatch(TypedDict):
    nick: NotRequired[str]
    access: NotRequired[Role]
    platform_id: NotRequired[str | None]


MembersListSort: TypeAlias = Literal["rank", "name", "joined_at", "id"]

_MergeRequest = TypedDict("_MergeRequest", {"from": "list[int]"})


class MergeRequest(_MergeRequest):
    into: int


class MoveRequest(TypedDict):
    block_id: NotRequired[int | None]


class NewApiKeyRequest(TypedDict):
    name: str
    description: NotRequired[str | None]
    expires_at: NotRequired[str | None]
    role: NotRequired[Literal["creator", None]]
    scope: NotRequired[Scope]
    mode: NotRequired[ApiKeyMode]


class NewMemberRequest(TypedDict):
    nick: str
    access: NotRequired[Role]
    platform_id: NotRequired[str | None]


class NewMembersRequest(TypedDict):
    members: list[NewMemberRequest]


class Project(TypedDict):
    id: str
    community_id: str
    name: str
    status: NewProjectStatus
    info: ProjectInfo
    settings: ProjectSettings
    delivery: ProjectDelivery | None
    rewards: Rewards | None
    presentation: Presentation | None
    scoring: Scoring
    generation: Generation | None


class NewProjectRequest(TypedDict):
    privacy_mode: NotRequired[PrivacyMode | None]
    scoring_enabled: NotRequired[bool]
    settings: NotRequired[ProjectSettingsRequest]
    delivery: NotRequired[ProjectDelivery | None]
    rewards: NotRequired[Rewards | None]
    presentation: NotRequired[Presentation | None]
    scoring: NotRequired[ScoringRequest | None]
    name: str
    type: NewProjectType
    intent: NotRequired[str | None]
    template: NotRequired[str | None]
    script: NotRequired[Script | None]


NewProjectStatus: TypeAlias = Literal["active", "inactive"]

NewProjectType: TypeAlias = Literal["convo", "poll"]


class Webhook(TypedDict):
    id: str
    community_id: str
    name: str | None
    url: str
    events: list[str]
    project_ids: list[str] | None
    secret_prefix: str
    is_active: bool
    created_at: str
    updated_at: str
    disabled_reason: DisabledReason | None


class NewWebhookRequest(TypedDict):
    url: str
    events: list[Events]
    project_ids: NotRequired[list[str] | None]
    name: NotRequired[str | None]
    is_active: NotRequired[bool]


class OpenRequest(TypedDict):
    delivery: NotRequired[ProjectDelivery | None]


class OpenText(TypedDict):
    themes: list[OpenTextTheme]
    sentiment: OpenTextSentiment | None
    analysed_count: int
    summary: str | None
    answer_count: int


class OpenTextSentiment(TypedDict):
    positive: float
    neutral: float
    negative: float


class SegmentTheme(TypedDict):
    title: str
    count: float
    percentage: float
    sentiment: Sentiment | None


class Option(TypedDict):
    id: NotRequired[int | None]
    value: str
    label: NotRequired[str | None]
    emoji: NotRequired[str | None]
    score_values: NotRequired[dict[str, float] | None]
    display_order: NotRequired[int | None]
    anchor_position: NotRequired[Literal["last", None]]
    is_exclusive: NotRequired[bool | None]
    is_other: NotRequired[bool | None]
    image_url: NotRequired[str | None]
    image_alt: NotRequired[str | None]


Order: TypeAlias = Literal["asc", "desc"]

Outcome: TypeAlias = Literal["completed", "full", "screened_out"]


class Pagination(TypedDict):
    page: NotRequired[int]
    per_page: int
    total: NotRequired[int]
    has_more: bool


class Participation(TypedDict):
    project_id: str
    project_name: str | None
    completions: int
    sessions: int
    actions: list[str]


class Person(TypedDict):
    member: PersonMember
    user: PersonUser
    set_up_the_community: bool
    identities: list[PersonIdentity]
    api_keys: list[PersonKey]
    project_access: list[PersonAccess]
    projects: list[PersonProject]
    participation: list[Participation]
    standing: PersonStanding
    achievements: list[EarnedAchievement]
    roles: list[RoleGrant]
    entries_for_others: int
    script_requests: list[PersonScriptRequest]
    script_drafts: list[PersonDraft]
    xp_ledger: list[XpEntry]
    responses: list[Response]
    webhook_events: list[PersonWebhookEvent]
    audit_entries: list[PersonAuditEntry]


class PersonAccess(TypedDict):
    project_id: str | None
    level: PersonAccessLevel


PersonAccessLevel: TypeAlias = Literal["read", "edit", "own"]


class PersonAuditEntry(TypedDict):
    id: str
    happened_at: str
    action: str
    is_by_them: bool
    key_prefix: str | None
    object_type: str
    object_id: str | None
    object_name: str | None


class PersonDraft(TypedDict):
    project_id: str
    project_name: str
    saved_at: str
    blocks: list[dict[str, Any]]


class PersonIdentity(TypedDict):
    provider: PersonIdentityProvider
    platform_id: str


PersonIdentityProvider: TypeAlias = Literal["chat", "video", "streaming", "game_store", "membership", "web"]


class PersonKey(TypedDict):
    id: str
    name: str
    description: str | None
    key_prefix: str
    role: Literal["creator", None]
    created_at: str
    last_used_at: str | None
    expires_at: str | None
    revoked_at: str | None


class PersonMember(TypedDict):
    id: str
    community_id: str
    user_id: str
    access: Role
    nick: str | None
    avatar_url: str | None
    joined_at: str | None
    left_at: str | None
    attributes: dict[str, str]


class PersonProject(TypedDict):
    id: str
    name: str


PersonScriptKind: TypeAlias = Literal["script", "revision", "question"]


class PersonScriptRequest(TypedDict):
    project_id: str
    kind: PersonScriptKind
    intent: str
    status: AnalysisStatus
    created_at: str


class PersonStanding(TypedDict):
    xp_total: int
    xp_monthly: int
    participation: int


class PersonUser(TypedDict):
    id: str
    name: str | None


class PersonWebhookEvent(TypedDict):
    id: str
    type: str
    created_at: str
    data: dict[str, Any] | None


class Picture(TypedDict):
    url: str
    width: int
    height: int
    size: int


class PictureRequest(TypedDict):
    content: str


class PingEventData(TypedDict):
    webhook: Webhook


class Presentation(TypedDict):
    theme_id: NotRequired[int | None]
    interviewer_id: NotRequired[int | None]
    branding: NotRequired[str | None]
    chart_emoji: NotRequired[str | None]
    logo_url: NotRequired[str | None]
    accent_color: NotRequired[str | None]
    background_color: NotRequired[str | None]
    background_url: NotRequired[str | None]
    font: NotRequired[Font | None]
    corners: NotRequired[Corners | None]


PrivacyMode: TypeAlias = Literal["transparent", "semi-private", "anonymous"]


class ProjectDelivery(TypedDict):
    opening: NotRequired[Schedule]
    closing: NotRequired[Schedule]
    audience: NotRequired[Audience]
    invitation: NotRequired[Invitation | None]


class ProjectEnd(TypedDict):
    url: NotRequired[str]
    label: NotRequired[str | None]
    redirect: NotRequired[bool]


class ProjectEventData(TypedDict):
    project: Project


class ProjectInfo(TypedDict):
    type: NewProjectType
    created_at: str | None
    updated_at: str
    block_count: int
    is_cloneable: bool
    author_id: str | None
    author_name: str | None
    completion_count: int
    response_count: int
    web_url: str
    short_url: str | None
    scheduled_open_at: str | None
    results_url: str | None


class ProjectList(TypedDict):
    data: list[Project]
    pagination: Pagination


class ProjectParticipation(TypedDict):
    period: ProjectParticipationPeriod
    zone: str
    screened_out: int
    seconds: float | None
    spans: list[Span]
    blocks: list[Reach]
    project_id: str
    filters: Filters


ProjectParticipationPeriod: TypeAlias = Literal["day", "week", "month"]


class ProjectPatch(TypedDict):
    privacy_mode: NotRequired[PrivacyMode | None]
    scoring_enabled: NotRequired[bool]
    settings: NotRequired[ProjectSettingsRequest]
    delivery: NotRequired[ProjectDelivery | None]
    rewards: NotRequired[Rewards | None]
    presentation: NotRequired[Presentation | None]
    scoring: NotRequired[ScoringRequest | None]
    name: NotRequired[str]


class ProjectSettings(TypedDict):
    privacy_mode: PrivacyMode
    max_completes_per_user: int | None
    change_poll: bool | None
    poll_results_mode: ProjectSettingsPollResultsMode | None
    reveal_results: bool | None
    share_results: bool
    lock_graded_answers: bool
    hidden_fields: list[str] | dict[str, list[str]]
    consent: str | None
    max_completes: int | None
    quotas: list[Quota]
    max_begun_per_minute: int | None
    advance_on_choice: bool
    review: bool
    end: ProjectEnd | None
    ends: list[FurtherEnd]
    keep_responses_days: int | None
    mail_copy: bool
    indexed: bool


ProjectSettingsPollResultsMode: TypeAlias = Literal["public", "voters_only", "hidden"]


class ProjectSettingsRequest(TypedDict):
    privacy_mode: NotRequired[PrivacyMode | None]
    max_completes_per_user: NotRequired[int | None]
    change_poll: NotRequired[bool | None]
    poll_results_mode: NotRequired[ProjectSettingsPollResultsMode | None]
    reveal_results: NotRequired[bool | None]
    share_results: NotRequired[bool]
    lock_graded_answers: NotRequired[bool]
    hidden_fields: NotRequired[list[str] | dict[str, list[str]]]
    consent: NotRequired[str | None]
    max_completes: NotRequired[int | None]
    quotas: NotRequired[list[Quota]]
    max_begun_per_minute: NotRequired[int | None]
    advance_on_choice: NotRequired[bool]
    review: NotRequired[bool]
    end: NotRequired[ProjectEnd | None]
    ends: NotRequired[list[FurtherEnd]]
    mail_copy: NotRequired[bool]
    indexed: NotRequired[bool]
    keep_responses_days: NotRequired[int | None]


ProjectsListSort: TypeAlias = Literal["created_at", "-created_at", "name", "id"]

Prompt: TypeAlias = str


class QuestionRequest(TypedDict):
    question: str


class Quota(TypedDict):
    where: str
    limit: int
    message: NotRequired[str | None]


_Range = TypedDict("_Range", {"from": "float | None"})


class Range(_Range):
    value: float | None
    to: float | None
    count: float
    percentage: float


class RateLimited(TypedDict):
    error: Literal["rate_limit_exceeded"]
    retry_after: int


class Reach(TypedDict):
    block_id: int
    seen: int
    answered: int
    left: int


class ReadingRequest(TypedDict):
    themes: list[int]
    sentiment: NotRequired[Sentiment | None]


class RedeliverRequest(TypedDict):
    since: str
    until: NotRequired[str | None]
    status: NotRequired[RedeliverStatus | None]


RedeliverStatus: TypeAlias = Literal["failed", "abandoned", "delivered"]


class Redelivered(TypedDict):
    count: int


class ReferencedFigure(TypedDict):
    reference: str
    text: str
    value: str


class Response(TypedDict):
    id: str
    project_id: str
    session_number: int | None
    status: ImportedResponseStatus
    started_at: str
    submitted_at: str | None
    updated_at: str
    user_id: str | None
    platform_id: str | None
    provider: FiltersProvider | None
    metadata: dict[str, str] | None
    language: str | None
    outcome: Outcome | None
    consent: Consent | None
    suspected: bool
    scores: dict[str, Score] | None
    variables: dict[str, Any]
    answers: list[Answer]


class ResponseDeletedEventData(TypedDict):
    project_id: str
    response_id: str


class ResponseEventData(TypedDict):
    project_id: str
    response: Response


class ResponseList(TypedDict):
    data: list[Response]
    pagination: Pagination


ResponsesExportForm: TypeAlias = Literal["wide", "long"]

ResponsesExportFormat: TypeAlias = Literal["csv", "xlsx", "json", "ndjson", "parquet", "sav"]

ResponsesExportHeaders: TypeAlias = Literal["prompts", "names"]

ResponsesExportMissing: TypeAlias = Literal["empty", "marked"]

ResponsesExportValues: TypeAlias = Literal["labels", "codes", "values"]


class ResponsesRequest(TypedDict):
    data: list[ImportedResponseRequest]


_ResultEntry = TypedDict("_ResultEntry", {"from": "float | None"})


class ResultEntry(_ResultEntry):
    value: str | float | None
    to: float | None
    count: float
    percentage: float


class ResultField(TypedDict):
    count: int
    weighted_count: NotRequired[float]
    distribution: list[FieldEntry]
    other_count: float
    name: str
    other_values: int
    segments: NotRequired[list[FieldSegment]]


class Results(TypedDict):
    project_id: str
    filters: Filters
    conversation_count: int
    completion_count: int
    response_count: int | None
    weighting: Weighting | None
    segment_by: SegmentBy | None
    scores: list[ResultScore] | None
    variables: list[ResultVariable]
    fields: list[ResultField]
    blocks: list[ResultBlock]


class ResultsCount(TypedDict):
    project_id: str
    status: ResultsCountStatus
    progress: float


ResultsCountStatus: TypeAlias = Literal["pending", "running"]


class Revision(TypedDict):
    blocks: list[Block]
    changes: list[Change]
    understood: list[str]
    unmet: list[str]
    generated_by: str
    credits_used: int


class RevisionRequest(TypedDict):
    instruction: str


class Rewards(TypedDict):
    discord_role_id: NotRequired[str | None]
    achievement_id: NotRequired[str | None]
    use_xp: NotRequired[bool | None]
    achievement_enabled: NotRequired[bool | None]
    achievement_image_url: NotRequired[str | None]
    achievement_name: NotRequired[str | None]
    achievement_role_id: NotRequired[str | None]


Role: TypeAlias = Literal["admin", "creator", "member"]


class RoleGrant(TypedDict):
    role_id: str
    project_id: str | None
    project_name: str | None
    created_at: str
    carried_out_at: str | None
    state: RoleGrantState


RoleGrantState: TypeAlias = Literal["granted", "waiting", "refused", "skipped"]


class Scale(TypedDict):
    icon: NotRequired[ScaleIcon | None]
    label_left: NotRequired[str | None]
    label_center: NotRequired[str | None]
    label_right: NotRequired[str | None]


ScaleIcon: TypeAlias = Literal["numbers", "stars", "emoji"]


class Schedule(TypedDict):
    mode: NotRequired[ScheduleMode]
    time: NotRequired[str | None]


ScheduleMode: TypeAlias = Literal["manual", "scheduled"]

Scope: TypeAlias = Literal["all", "read", "conversations"]


class Score(TypedDict):
    name: str
    score: float
    max_score: float
    score_correct: float
    max_score_correct: float


class ScoreCorrect(TypedDict):
    mean: float | None
    min: float | None
    max: float | None
    max_score_correct: float | None


class Scoring(TypedDict):
    enabled: bool
    buckets: list[Bucket]


class ScoringRequest(TypedDict):
    enabled: NotRequired[bool]
    buckets: NotRequired[list[BucketRequest]]


class Script(TypedDict):
    project_id: NotRequired[str]
    blocks: list[Block]
    revision: NotRequired[int]
    warnings: NotRequired[list[ScriptWarning]]


class ScriptWarning(TypedDict):
    field: str
    block_id: int | None
    block_name: str | None
    code: ScriptWarningCode
    message: str


ScriptWarningCode: TypeAlias = Literal[
    "scores_ignored",
    "not_graded",
    "double_award",
    "missing_formula",
    "unknown_variable",
    "unfilled_token",
    "unknown_achievement",
    "tells_the_answers",
    "undeclared_field",
    "reserved_name",
    "unknown_token",
    "ambiguous_name",
    "unknown_value",
    "never_true",
    "similar_options",
    "unseen_character",
    "never_asked",
]

_SeenBlockFields = TypedDict("_SeenBlockFields", {"continue": "Continue | None"})


class SeenBlockFields(_SeenBlockFields):
    id: int
    name: str
    section: str
    prompt: str
    description: str | None
    group: str | None
    answer_style: str | None
    color: str | None
    image_url: str | None
    image_alt: str | None
    thumbnail_url: str | None
    thumbnail_alt: str | None
    video_url: str | None
    min: int | None
    max: int | None
    whole: bool | None
    format: str | None
    required: bool | None
    action_kind: str | None
    scale: Scale | None
    randomize_options: bool | None
    rank_top_n: int | None
    position: int | None


class SeenItem(TypedDict):
    id: int
    value: str
    label: str | None
    emoji: str | None
    display_order: int | None
    anchor_position: str | None
    is_exclusive: NotRequired[bool]
    is_other: NotRequired[bool]
    image_url: NotRequired[str | None]
    image_alt: NotRequired[str]


class SeenOption(TypedDict):
    id: int | None
    value: str
    label: str | None
    emoji: str | None
    display_order: int | None
    anchor_position: str | None
    is_exclusive: NotRequired[bool]
    is_other: NotRequired[bool]
    image_url: NotRequired[str | None]
    image_alt: NotRequired[str]


class SegmentBy(TypedDict):
    by: str
    title: str
    block_id: int | None
    block_name: str | None
    prompt: str | None
    field: str | None
    segments: list[Segment]


class SegmentText(TypedDict):
    themes: list[SegmentTheme]
    sentiment: OpenTextSentiment | None
    analysed_count: int


Sentiment: TypeAlias = Literal["positive", "neutral", "negative"]


class Span(TypedDict):
    begins_on: str
    begun: int
    completed: int


class Step(TypedDict):
    block: SeenBlock
    help: str | None
    skip_label: str | None
    answer: GivenAnswer | None
    is_locked: bool
    follow_up: int
    progress: float
    can_go_back: bool


Suspected: TypeAlias = Literal["true", "false"]


class Template(TypedDict):
    id: str
    name: str
    description: str
    type: NewProjectType
    category: Category
    question_count: int
    estimated_minutes: int
    scoring_enabled: bool


class TemplateList(TypedDict):
    data: list[Template]
    pagination: Pagination


class TemplateScoring(TypedDict):
    buckets: list[Bucket]


class Theme(TypedDict):
    id: int
    title: str
    description: str
    pinned: bool


class ThemeRequest(TypedDict):
    id: NotRequired[int | None]
    title: str
    description: NotRequired[str]
    pinned: NotRequired[bool]


class Token(TypedDict):
    token: str
    conversation_id: str
    expires_at: str


class TokenRequest(TypedDict):
    expires_in: NotRequired[int]


class Unmet(TypedDict):
    where: str
    what: str


class VerifiedSource(TypedDict):
    id: int
    provider: VerifiedSourceProvider
    rule: VerifiedSourceRule
    target: str | None
    label: str
    created_at: str


class VerifiedSourceList(TypedDict):
    data: list[VerifiedSource]
    pagination: Pagination


VerifiedSourceProvider: TypeAlias = Literal["chat", "video", "streaming", "game_store", "membership"]

VerifiedSourceRule: TypeAlias = Literal[
    "has_account", "in_server", "subscribes_to", "follows", "owns", "supports", "has_tier"
]


class Violation(TypedDict):
    field: str
    code: ViolationCode
    message: str
    column: NotRequired[int]
    line: NotRequired[int]


ViolationCode: TypeAlias = Literal[
    "required",
    "null",
    "blank",
    "read_only",
    "invalid",
    "invalid_type",
    "invalid_choice",
    "syntax_error",
    "too_short",
    "too_long",
    "too_small",
    "too_large",
    "too_few",
    "too_many",
    "too_deep",
    "too_many_emoji",
    "not_found",
    "unknown_reference",
    "later_reference",
    "self_reference",
    "not_allowed",
    "conflicting",
    "duplicate",
    "in_use",
    "in_past",
    "cursor_expired",
    "full",
]


class WebhookList(TypedDict):
    data: list[Webhook]
    pagination: Pagination


class WebhookPatch(TypedDict):
    url: NotRequired[str]
    events: NotRequired[list[Events]]
    project_ids: NotRequired[list[str] | None]
    name: NotRequired[str | None]
    is_active: NotRequired[bool]


class Weighting(TypedDict):
    by: str
    field: str
    count: int
    weighted_count: float
    effective_count: float
    largest_share: float
    is_dominated: bool
    left_out: LeftOut


class XpEntry(TypedDict):
    id: int
    delta: int
    balance_after: int
    source_kind: XpEntrySourceKind
    source_ref: int | None
    session_number: int | None
    actor_name: str | None
    actor_pseudonym: str | None
    survey_name: str | None
    note: str | None
    created_at: str | None


class XpEntryList(TypedDict):
    data: list[XpEntry]
    pagination: Pagination


XpEntrySourceKind: TypeAlias = Literal[
    "opening_balance",
    "unknown",
    "survey_completion",
    "action_block",
    "poll_vote",
    "poll_unwind",
    "recalculate",
    "admin_manual",
    "reset",
]


class ActionBlock(BlockFields):
    type: Literal["action_block"]
    prompt: Prompt


class BlockPatch(BlockFields):
    type: NotRequired[BlockType]
    prompt: NotRequired[Prompt]


class CalculatedBlock(BlockFields):
    type: Literal["calculated_block"]
    prompt: Prompt


class ContentBlock(BlockFields):
    type: Literal["content_block"]
    prompt: Prompt


class MultiPunchBlock(BlockFields):
    type: Literal["multi_punch"]
    prompt: Prompt


class NpsBlock(BlockFields):
    type: Literal["nps"]
    prompt: Prompt


class OpenNumericBlock(BlockFields):
    type: Literal["open_numeric"]
    prompt: Prompt


class OpenTextBlock(BlockFields):
    type: Literal["open_text"]
    prompt: Prompt


class OpinionScaleBlock(BlockFields):
    type: Literal["opinion_scale"]
    prompt: Prompt


class RankingBlock(BlockFields):
    type: Literal["ranking"]
    prompt: Prompt


class RatingBlock(BlockFields):
    type: Literal["rating"]
    prompt: Prompt


class SinglePunchBlock(BlockFields):
    type: Literal["single_punch"]
    prompt: Prompt


class ResultBlock(AnalysisBlock):
    segments: NotRequired[list[BlockSegment]]


class AnalysisCompletedEvent(EventFields):
    type: Literal["analysis.completed"]
    data: AnalysisEventData


class AnalysisFailedEvent(EventFields):
    type: Literal["analysis.failed"]
    data: AnalysisEventData


class EventWithoutData(EventFields):
    type: EventWithoutDataType
    data: None


class MemberErasedEvent(EventFields):
    type: Literal["member.erased"]
    data: MemberErasedEventData


class MemberUpdatedEvent(EventFields):
    type: Literal["member.updated"]
    data: MemberEventData


class ProjectClosedEvent(EventFields):
    type: Literal["project.closed"]
    data: ProjectEventData


class ProjectCreatedEvent(EventFields):
    type: Literal["project.created"]
    data: ProjectEventData


class ProjectDeletedEvent(EventFields):
    type: Literal["project.deleted"]
    data: ProjectEventData


class ProjectOpenedEvent(EventFields):
    type: Literal["project.opened"]
    data: ProjectEventData


class ProjectUpdatedEvent(EventFields):
    type: Literal["project.updated"]
    data: ProjectEventData


class ResponseDeletedEvent(EventFields):
    type: Literal["response.deleted"]
    data: ResponseDeletedEventData


class ResponseSubmittedEvent(EventFields):
    type: Literal["response.submitted"]
    data: ResponseEventData


class ResponseUpdatedEvent(EventFields):
    type: Literal["response.updated"]
    data: ResponseEventData


class WebhookPingEvent(EventFields):
    type: Literal["webhook.ping"]
    data: PingEventData


class AnalysisScore(AnalysisStats):
    distribution: list[Range]
    max_score: float | None
    score_correct: ScoreCorrect | None
    key: str | None
    name: str


class AnalysisVariable(AnalysisStats):
    distribution: list[ResultEntry]
    block_id: int
    name: str | None
    is_text: bool
    other_values: int
    other_count: float


class ScoreSegment(AnalysisStats):
    option_id: int | None
    value: str
    label: str | None
    distribution: list[Range]
    max_score: float | None
    score_correct: ScoreCorrect | None


class VariableSegment(AnalysisStats):
    option_id: int | None
    value: str
    label: str | None
    distribution: list[ResultEntry]


class NewApiKey(ApiKey):
    key: str


class ChoiceAnswerRequest(ChoiceAnswer):
    block_id: int
    follow_up: NotRequired[int | None]


class ChoicesAnswerRequest(ChoicesAnswer):
    block_id: int
    follow_up: NotRequired[int | None]


CreatedLinks: TypeAlias = NewLink | NewLinks


class CrossSegment(Segment):
    percentage: float


class DeliveryWithBody(Delivery):
    attempts: list[Attempt]
    payload: dict[str, Any] | None


class RankingAnswerRequest(RankingAnswer):
    block_id: int
    follow_up: NotRequired[int | None]


class ValueAnswerRequest(ValueAnswer):
    block_id: int
    follow_up: NotRequired[int | None]


GivenAnswer: TypeAlias = ChoiceAnswer | ChoicesAnswer | RankingAnswer | ValueAnswer | SkippedAnswer


class SkippedAnswerRequest(SkippedAnswer):
    block_id: int
    follow_up: NotRequired[int | None]


MemberOrMembers: TypeAlias = Member | Members

NewMemberOrMembersRequest: TypeAlias = NewMemberRequest | NewMembersRequest


class NewProject(Project):
    script: Script | None
    credits_used: int


class NewWebhook(Webhook):
    secret: str


class OpenTextTheme(SegmentTheme):
    description: str
    quotes: list[str]


ResponseChange: TypeAlias = Response | Deletion


class SeenActionBlock(SeenBlockFields):
    type: Literal["action_block"]
    options: None


class SeenCalculatedBlock(SeenBlockFields):
    type: Literal["calculated_block"]
    options: None


class SeenContentBlock(SeenBlockFields):
    type: Literal["content_block"]
    options: None


class SeenMultiPunchBlock(SeenBlockFields):
    type: Literal["multi_punch"]
    options: list[SeenItem]


class SeenNpsBlock(SeenBlockFields):
    type: Literal["nps"]
    options: list[SeenOption]


class SeenOpenNumericBlock(SeenBlockFields):
    type: Literal["open_numeric"]
    options: None


class SeenOpenTextBlock(SeenBlockFields):
    type: Literal["open_text"]
    options: None


class SeenOpinionScaleBlock(SeenBlockFields):
    type: Literal["opinion_scale"]
    options: list[SeenOption]


class SeenRankingBlock(SeenBlockFields):
    type: Literal["ranking"]
    options: list[SeenItem]


class SeenRatingBlock(SeenBlockFields):
    type: Literal["rating"]
    options: list[SeenOption]


class SeenSinglePunchBlock(SeenBlockFields):
    type: Literal["single_punch"]
    options: list[SeenItem]


class TemplateWithScript(Template):
    scoring: TemplateScoring
    script: Script


Block: TypeAlias = (
    SinglePunchBlock
    | MultiPunchBlock
    | OpenTextBlock
    | OpenNumericBlock
    | RatingBlock
    | OpinionScaleBlock
    | NpsBlock
    | RankingBlock
    | ContentBlock
    | ActionBlock
    | CalculatedBlock
)

WebhookEvent: TypeAlias = (
    ProjectCreatedEvent
    | ProjectUpdatedEvent
    | ProjectOpenedEvent
    | ProjectClosedEvent
    | ProjectDeletedEvent
    | ResponseSubmittedEvent
    | ResponseUpdatedEvent
    | ResponseDeletedEvent
    | AnalysisCompletedEvent
    | AnalysisFailedEvent
    | MemberUpdatedEvent
    | MemberErasedEvent
    | WebhookPingEvent
)


class ResultScore(AnalysisScore):
    segments: NotRequired[list[ScoreSegment]]


class ResultVariable(AnalysisVariable):
    segments: NotRequired[list[VariableSegment]]


AnswerRequest: TypeAlias = (
    ChoiceAnswerRequest
    | ChoicesAnswerRequest
    | RankingAnswerRequest
    | ValueAnswerRequest
    | SkippedAnswerRequest
)

SeenBlock: TypeAlias = (
    SeenSinglePunchBlock
    | SeenMultiPunchBlock
    | SeenOpenTextBlock
    | SeenOpenNumericBlock
    | SeenRatingBlock
    | SeenOpinionScaleBlock
    | SeenNpsBlock
    | SeenRankingBlock
    | SeenContentBlock
    | SeenActionBlock
    | SeenCalculatedBlock
)

Event: TypeAlias = WebhookEvent | EventWithoutData
