from surveys.models.conversation import Answer, Completion, Conversation, FiredAction, Tally
from surveys.models.project import Project, ProjectQuerySet
from surveys.models.script import Block, Bucket, Option

__all__ = [
    "Answer",
    "Block",
    "Bucket",
    "Completion",
    "Conversation",
    "FiredAction",
    "Option",
    "Project",
    "ProjectQuerySet",
    "Tally",
]
