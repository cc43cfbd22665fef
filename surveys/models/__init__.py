from surveys.models.analysis import Analysis
from surveys.models.conversation import Answer, Completion, Conversation, FiredAction, Tally
from surveys.models.draft import ScriptDraft
from surveys.models.generation import Generation
from surveys.models.job import Job
from surveys.models.personal_link import PersonalLink
from surveys.models.project import Project, ProjectQuerySet
from surveys.models.response_deletion import ResponseDeletion
from surveys.models.results_count import ResultsCount
from surveys.models.script import Block, Bucket, Option, buckets_in_order
from surveys.models.shown import ShownFigures

__all__ = [
    "Analysis",
    "Answer",
    "Block",
    "Bucket",
    "Completion",
    "Conversation",
    "FiredAction",
    "Generation",
    "Job",
    "Option",
    "PersonalLink",
    "Project",
    "ProjectQuerySet",
    "ResponseDeletion",
    "ResultsCount",
    "ScriptDraft",
    "ShownFigures",
    "Tally",
    "buckets_in_order",
]
