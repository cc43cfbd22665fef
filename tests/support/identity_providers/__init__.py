"""A loopback server that imitates the platforms people sign in with, and enforces their rules.

    people      the people with accounts there, and their permissions
    grants      codes and tokens of OAuth 2, with PKCE, expiry and rotation
    assertions  OpenID 2.0, with check_authentication
    identity    signed ID tokens of OpenID Connect
    server      HTTP: sign-in pages and the platforms' API

`python -m tests.support.identity_providers` runs the server for a developer, who sets SIGN_IN_CHAT_BASE_URL
to its address.
"""
