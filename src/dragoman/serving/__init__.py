"""The server.

A request: `app` routes it, a protocol reads it, `service` finds the model and checks `keys` and `limits`, `texts` or
`documents` divide it, `scheduler` queues its sentences in a `fair_queue` and translates them as a `batch`.

- Protocols: `libretranslate`, `libretranslate_files`; `deepl`, `deepl_documents`, `deepl_glossaries`, `deepl_markup`;
  `apertium`; what they share: `parameters`, `errors`, `specification`, `detection` of languages
- Files: `documents`, `uploads`, `downloads`
- Storage: `database`, `glossaries`, `corrections`
- Operations: `start`, `server`, `config`, `models`, `connections`, `logs`, `metrics`, `operations`, `by_size`
- The package `page`: the page in the browser
"""
