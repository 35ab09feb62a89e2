"""Text as programs store it, for corpora and documents alike.

| Module | Contents |
|---|---|
| units | what a translation unit of any format consists of: segments with a source, a translation and a state |
| po | message catalogs: reading messages, writing translations into their lines |
"""
