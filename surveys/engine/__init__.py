"""Decisions that need no database, no clock and no randomness: plain Python on frozen data."""
