"""Texts of several sentences, markup and files: split into segments to translate, and put together again."""
