"""Files, processes and the machine.

- Files: `files` (written completely or not at all; what killed processes left), `locks`, `cache`, `tensors`,
  `run_paths` (what a path means that should be a run)
- Long work: `resumable` (blocks, in several processes, that continue), `progress`, `prefetch`, `signals`, `time_limit`
- `user_code`: how it is loaded, where it fails, and the separate process to run it in
- The machine: `cpu`, `device`, `memory`, `uninitialized` models, `discard`ed output
- `templates` of pages, `translation_page` (files that two pages share), and the `version`
"""
