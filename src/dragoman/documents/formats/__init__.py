"""Documents in files, returned in the same format.

| Word | Meaning |
|---|---|
| segment | a text that is translated at once: a sentence, or a paragraph for translators of paragraphs |
| passage | a text in a file, such as a paragraph, with one segment or more |
| part | a part of a file: kept as it is, or a passage |
| item | what a passage consists of: text, something that is kept, or a group of items such as a link |
| code | what opens or closes a group, such as a tag, before both ends are found |
| mark | the place of a group or of something that is kept, in characters of a text |
| run | text between two tags that end a sentence (HTML), or with one style (Word and PowerPoint) |
| cue | the text of one subtitle |
"""

from dragoman.documents.formats.open import DOCUMENT_FORMATS, MAX_DOCUMENT_BYTES, open_document

__all__ = ["DOCUMENT_FORMATS", "MAX_DOCUMENT_BYTES", "open_document"]
