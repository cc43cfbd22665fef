"""Reading of open answers by classical statistics: themes, sentiment and quotes.

reading.name_themes(sample)     the themes of a codebook
reading.assign_themes(batch)    the themes, the sentiment and a quote of each answer

answers       clauses and languages of an answer    seeds         the seed codebook, of seed_themes.json
languages     which language a text is in           cues          phrases that a clause contains, roughly
cleaning      what is not a word                    matching      which answers belong to which themes
tokens        the words of an answer                discovery     themes of a sample
word_lists    words without a subject               examples      answers that staff have put right
phrases       groups of words that may name a theme
sentiment     positive, neutral, negative, by sentiment_words.json
quotes        a verbatim sentence
"""
