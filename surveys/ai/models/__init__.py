"""What the providers with a model share: prompts, schemas, and the checks of what a model writes.

`claude` and `openai` beside this package add the wire format of their API.
"""
