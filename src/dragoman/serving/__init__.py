"""The server.

A request: `app` routes it, a protocol reads it, `service` finds the model and checks `keys` and `limits`, `texts` or
`uploads` divide it, `segments` leads its sentences through one model or two, `scheduler` queues them in a `fair_queue`
and translates them in batches, which `mixed_batches` lets several directions of a model share.

- Protocols: `libretranslate`; `deepl`, with `deepl_markup`; `apertium`; what they share: `parameters`, `errors`,
  `detection` of languages; `app` chooses the form of an error by its path
- Files: `uploads`, translated in `documents`, stored in `downloads`
- Storage: `storage` of glossaries and corrections, `keys`
- Operations: `start`, `server` with its connections, `config`, `models`, `monitoring`
- The package `page`: the page in the browser; `inspector` and `inspector_app`:
  the page of `dragoman inspect --serve`
"""
