"""The preview of a script: the respondent's own page on a draft, with answers that are stored nowhere."""
