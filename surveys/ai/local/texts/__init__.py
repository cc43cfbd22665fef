"""Reading of open answers: themes, sentiment and quotes, by classical statistics.

reading.read_texts(batch)   everything below, for one batch of answers

tokens        the words of an answer          phrases     groups of words that may name a theme
languages     which language it is in         clusters    phrases that occur together
cleaning      what is not a word              themes      which answers belong to a theme
word_lists    words without a subject         discovery   new themes
sentiment     positive, neutral, negative     quotes      a verbatim sentence
"""
