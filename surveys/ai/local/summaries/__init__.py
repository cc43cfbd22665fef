"""Summaries of analyses in English. They say nothing that the counts do not show.

open_question.summarize_texts(figures)   the answers to one open question
analysis.summarize_analysis(overview)    a whole analysis
questions.answer_question(question)      a question about results
"""
