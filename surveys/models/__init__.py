from surveys.models.analysis import Analysis
from surveys.models.chat import PublicMessage, SummaryMessage, UnsentAnswer
from surveys.models.conversation import (
    Answer,
    Completion,
    Conversation,
    FiredAction,
    ProofCount,
    QuotaCount,
    SealedGifts,
    Tally,
)
from surveys.models.dashboard import Dashboard
from surveys.models.deleted_response import DeletedResponse
from surveys.models.draft import ScriptDraft
from surveys.models.generation import Generation
from surveys.models.job import Job
from surveys.models.personal_link import PersonalLink
from surveys.models.project import Project, ProjectQuerySet
from surveys.models.reading import Codebook, Reading, Theme
from surveys.models.reminder import Reminder
from surveys.models.response_deletion import ResponseDeletion
from surveys.models.response_file import ResponseFile
from surveys.models.results_count import ResultsCount
from surveys.models.script import Block, Bucket, Option, buckets_in_order
from surveys.models.shown import ShownFigures

__all__ = [
    "Analysis",
    "Answer",
    "Block",
    "Bucket",
    "Codebook",
    "Completion",
    "Conversation",
    "Dashboard",
    "DeletedResponse",
    "FiredAction",
    "Generation",
    "Job",
    "Option",
    "PersonalLink",
    "Project",
    "ProjectQuerySet",
    "ProofCount",
    "PublicMessage",
    "QuotaCount",
    "Reading",
    "Reminder",
    "ResponseDeletion",
    "ResponseFile",
    "ResultsCount",
    "ScriptDraft",
    "SealedGifts",
    "ShownFigures",
    "SummaryMessage",
    "Tally",
    "Theme",
    "UnsentAnswer",
    "buckets_in_order",
]
