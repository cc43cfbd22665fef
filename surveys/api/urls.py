"""The addresses of projects, scripts, conversations, responses and a person's data, below `/v1/`."""

from __future__ import annotations

from django.urls import path

import communities.gate.fields  # noqa: F401 - registers `<id:...>`
from surveys.api.analysis import AnalysisViewSet
from surveys.api.codebooks import CodebookViewSet
from surveys.api.conversations import ConversationViewSet
from surveys.api.dashboards import DashboardViewSet
from surveys.api.exports import ExportViewSet
from surveys.api.links import LinkViewSet
from surveys.api.people import PersonViewSet
from surveys.api.projects import ProjectViewSet
from surveys.api.responses import ResponseViewSet
from surveys.api.results import ResultsViewSet
from surveys.api.scripts import ScriptViewSet
from surveys.api.templates import TemplateViewSet

_PROJECTS = "communities/<id:community_id>/projects"
_PROJECT = f"{_PROJECTS}/<id:project_id>"
_CONVERSATION = "communities/<id:community_id>/conversations/<uuid:conversation_id>"
_PERSON = "communities/<id:community_id>/members/<id:member_id>/data"
_RESPONSE = "communities/<id:community_id>/responses/<uuid:response_id>"

# Django tries the patterns in their order, so the most frequent requests come first.
urlpatterns = [
    path(f"{_CONVERSATION}/answers", ConversationViewSet.as_view({"post": "answer"}), name="answers"),
    path(f"{_CONVERSATION}/continue", ConversationViewSet.as_view({"post": "go_on"}), name="continue"),
    path(f"{_CONVERSATION}/back", ConversationViewSet.as_view({"post": "back"}), name="back"),
    path(f"{_CONVERSATION}/tokens", ConversationViewSet.as_view({"post": "create_token"}), name="tokens"),
    path(_CONVERSATION, ConversationViewSet.as_view({"get": "retrieve"}), name="conversation"),
    path(f"{_PROJECT}/conversations", ConversationViewSet.as_view({"post": "create"}), name="conversations"),
    path(_PROJECTS, ProjectViewSet.as_view({"get": "list", "post": "create"}), name="projects"),
    path(
        _PROJECT,
        ProjectViewSet.as_view(
            {"get": "retrieve", "put": "update", "patch": "partial_update", "delete": "destroy"}
        ),
        name="project",
    ),
    path(f"{_PROJECT}/open", ProjectViewSet.as_view({"post": "open"}), name="project-open"),
    path(f"{_PROJECT}/close", ProjectViewSet.as_view({"post": "close"}), name="project-close"),
    path(f"{_PROJECT}/clone", ProjectViewSet.as_view({"post": "clone"}), name="project-clone"),
    path(f"{_PROJECT}/script", ScriptViewSet.as_view({"get": "retrieve", "put": "update"}), name="script"),
    path(
        "communities/<id:community_id>/scripts/convert",
        ScriptViewSet.as_view({"post": "convert"}),
        name="scripts-convert",
    ),
    path(f"{_PROJECT}/script/revise", ScriptViewSet.as_view({"post": "revise"}), name="script-revise"),
    path(
        f"{_PROJECT}/script/blocks/<id:block_id>",
        ScriptViewSet.as_view({"get": "read_block", "patch": "patch_block", "put": "put_block"}),
        name="block",
    ),
    path(
        f"{_PROJECT}/blocks/<id:block_id>/codebook",
        CodebookViewSet.as_view({"get": "retrieve", "patch": "partial_update"}),
        name="codebook",
    ),
    path(
        f"{_RESPONSE}/blocks/<id:block_id>/reading",
        CodebookViewSet.as_view({"put": "correct"}),
        name="reading",
    ),
    path(f"{_PROJECT}/links", LinkViewSet.as_view({"get": "list", "post": "create"}), name="links"),
    path(f"{_PROJECT}/links/export", LinkViewSet.as_view({"get": "export"}), name="links-export"),
    path(f"{_PROJECT}/links/<uuid:link_id>", LinkViewSet.as_view({"delete": "destroy"}), name="link"),
    path(
        "communities/<id:community_id>/links/<uuid:link_id>",
        LinkViewSet.as_view({"delete": "revoke"}),
        name="community-link",
    ),
    path(
        f"{_PROJECT}/responses",
        ResponseViewSet.as_view({"get": "list", "post": "create"}),
        name="responses",
    ),
    path(f"{_PROJECT}/responses/changes", ResponseViewSet.as_view({"get": "changes"}), name="changes"),
    path(
        "communities/<id:community_id>/responses/changes",
        ResponseViewSet.as_view({"get": "all_changes"}),
        name="all-changes",
    ),
    path(f"{_PROJECT}/responses/export", ExportViewSet.as_view({"get": "retrieve"}), name="export"),
    path(
        f"{_PROJECT}/analysis",
        AnalysisViewSet.as_view({"get": "retrieve", "post": "create"}),
        name="analysis",
    ),
    path(f"{_PROJECT}/analysis/questions", AnalysisViewSet.as_view({"post": "ask"}), name="questions"),
    path(f"{_PROJECT}/analysis/results", ResultsViewSet.as_view({"get": "retrieve"}), name="results"),
    path(f"{_PROJECT}/analysis/cross", ResultsViewSet.as_view({"get": "cross"}), name="cross"),
    path(
        f"{_PROJECT}/analysis/participation",
        ResultsViewSet.as_view({"get": "participation"}),
        name="participation",
    ),
    path(
        f"{_PROJECT}/dashboard",
        DashboardViewSet.as_view({"get": "retrieve", "put": "update", "delete": "destroy"}),
        name="dashboard",
    ),
    path(_RESPONSE, ResponseViewSet.as_view({"get": "retrieve", "delete": "destroy"}), name="response"),
    path("templates", TemplateViewSet.as_view({"get": "list"}), name="templates"),
    path("templates/<slug:template_id>", TemplateViewSet.as_view({"get": "retrieve"}), name="template"),
    path(_PERSON, PersonViewSet.as_view({"get": "retrieve", "delete": "destroy"}), name="person"),
]
