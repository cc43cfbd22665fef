"""Drafting of scripts: an intent is read by plain rules, and becomes questions and a template around them.

drafting.draft_for_intent(request)   everything below, for one request

wishes          settings, prohibitions      builder     a template as it is, or with a topic and options
asks            what shall be asked         library     the templates, JSON files
formats         options, scales, yes or no  matching    the template that suits an intent
bank            well-known questions        length      fewer or more questions
phrasing        clauses made questions      scoring     quizzes, with points or without
composing       questions of asks           languages   other languages than English
intent          topic, numbers, question    topics, counts, listed_options, stems   how it is read
"""
