"""Drafting of scripts: an intent is read by plain rules, matched with a template, and worked into it.

builder.draft_for_intent(request)   everything below, for one request

intent          what a request asks for     matching    the template that suits it
counts          "5 questions"               library     the templates, JSON files
listed_options  "pizza, sushi or tacos"     length      fewer or more questions
topics          "about the new rules"       scoring     quizzes, with points or without
stems           words in a comparable form   languages   other languages than English
"""
