"""Warnings about text before it is translated.

`training_text` describes what a model was trained on, `source_language` and `text_forms` recognize what is unusual, and
`text_warnings` compares a text with it.
"""
