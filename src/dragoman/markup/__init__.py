"""Text as programs store it, for corpora and documents alike.

| Module | Contents |
|---|---|
| xml | trees of XML that keep what the file contains, and the units of large files one by one |
| units | segments with a source, a translation and a state, and how to find them in units of XLIFF and TMX |
| file_kinds | files whose lines are not sentences, by name or content, and what to do with them |
| po | message catalogs: reading messages, writing translations into their lines |
"""
