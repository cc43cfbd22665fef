"""Published questionnaires and quizzes of our own, as a caller of the interface would build them.

Each module has `PROJECT`, the body that creates it, and a plain Python function that scores the same
answers by the published rule. `sitting` answers one, `writing` writes blocks briefly.

Only items that are free to reproduce stand here in their own words (PHQ-9, GAD-7, HRQOL-4, Mini-IPIP);
of the others it is the scoring that matters, and their items are paraphrased.
"""
