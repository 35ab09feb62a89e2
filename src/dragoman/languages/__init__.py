"""Everything known about languages; no other package recognizes a language or lists its marks and words.

`codes`: the codes and names of languages, and whether two codes mean the same language.
`scripts`: the scripts that letters belong to, and those in which languages are written.
`function_words`: the most frequent words of some languages.
`sentence_marks`: the marks that end sentences, what surrounds them, and where a sentence does not end.
`identify`: in which language a text is, by the text of a few languages or by a model of about a hundred.
"""
