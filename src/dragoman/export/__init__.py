"""Export to the formats of other programs, and import, with a check that the other program computes the same.

- `run`: the table of formats, and an export from the first check to parity.json
- `protocol`: what an exporter is, and which settings other programs cannot have
- `parity`: outputs and translations of the bundle and of the exported model, compared
- `ctranslate2`, `onnx`, `web`, `argos`: one exporter each; `huggingface`: export and import
"""
