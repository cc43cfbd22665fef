from communities.models.api_key import ApiKey
from communities.models.audit_entry import AuditEntry
from communities.models.chat import ChatInstallation, ChatTask
from communities.models.community import Community, CommunitySettings
from communities.models.idempotent_request import IdempotentRequest
from communities.models.identity import Identity, SourceCheck, SourceToken, VerifiedSource
from communities.models.invitation import Invitation
from communities.models.mail import Mail, MailRefusal, MailSum
from communities.models.member import Member
from communities.models.member_change import MemberChange
from communities.models.picture import Picture
from communities.models.project_grant import ProjectGrant
from communities.models.user import User, unnamed

__all__ = [
    "ApiKey",
    "AuditEntry",
    "ChatInstallation",
    "ChatTask",
    "Community",
    "CommunitySettings",
    "IdempotentRequest",
    "Identity",
    "Invitation",
    "Mail",
    "MailRefusal",
    "MailSum",
    "Member",
    "MemberChange",
    "Picture",
    "ProjectGrant",
    "SourceCheck",
    "SourceToken",
    "User",
    "VerifiedSource",
    "unnamed",
]
