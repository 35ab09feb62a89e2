"""Documents in files, returned in the same format.

| Word | Meaning |
|---|---|
| segment | a text that is translated at once: a sentence, or a paragraph for translators of paragraphs |
| passage | a text in a file, such as a paragraph, with one segment or more |
| item | what a file consists of: text, something that is kept, or a group of items such as a link (`dragoman.markup`) |
| element | what an item is in its format, such as a tag; the table `markup/elements` says what it does to a sentence |
| part | a part of a file: kept as it is, or a passage |
| mark | the place of a group or of something that is kept, in characters of a text |
| run | text with one style (Word and PowerPoint) |
| cue | the text of one subtitle |

The way of a file: a format reads it as items; `documents/passage` divides these into passages where sentences must end,
finds the segments of each, and writes their translations with the marks around the right words.

- `open` has the table of formats (`markup.file_kinds` says what to do with all others); `file` is what the caller
  knows of a file, `characters` are its characters
- Text: `txt`, `subtitles`, `table`, `markdown`, `html`, `xml_text`
- Packages (`package`): `office`, `odt`, `epub`
- Texts of programs and translation files: `strings`, `json_values`, `po`, `xliff` and `tmx`, whose `inline_codes` are
  the same
- `language_labels`: a translated file states its new language
"""

from dragoman.documents.formats.open import DOCUMENT_FORMATS, MAX_DOCUMENT_BYTES, open_document

__all__ = ["DOCUMENT_FORMATS", "MAX_DOCUMENT_BYTES", "open_document"]
