"""Everything known about languages: their codes, scripts, words and sentence marks, and which one a text is in.

`codes`: the codes and names of languages, and whether two codes mean the same language.
`scripts`: the scripts that letters belong to, and those in which languages are written.
`function_words`: the most frequent words of some languages.
`number_names`: names of large numbers and of months next to digits, as CLDR has them, and numerals of Han.
`number_words`: which numbers a text spells, in some languages.
`sentence_marks`: the marks that end sentences (those of Unicode, and a few more), what surrounds them, and where a
sentence does not end; the exported page and the splitter of Argos are made from them.
`identify`: in which language a text is, by the text of a few languages or by a model of about a hundred.

The doctor's checks of corpora find single lines in another language by the words and letters of the corpus itself: they
read a line in a fifth of the time of `identify`, and also know languages and texts that no model knows.
"""
