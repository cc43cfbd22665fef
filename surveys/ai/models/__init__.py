"""Prompts, schemas and checks of a model's output, which all providers with a model share.

`claude` and `openai` beside this package add the wire format of their API.
"""
