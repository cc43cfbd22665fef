"""Answering in chat: an entrance like the pages, which draws conversations as messages."""
