"""What the doctor can find: a `finding`; `finding_types` of `data`, `model` and `output`, with causes and fixes."""
