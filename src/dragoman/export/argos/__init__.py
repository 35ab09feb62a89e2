"""Export to Argos Translate and LibreTranslate.

`exporter` writes the package, with a tokenizer from `sentencepiece_model` and a splitter from `sentence_splitter`.
"""
