"""Documents in files, returned in the same format."""

from dragoman.documents.formats.open import DOCUMENT_FORMATS, MAX_DOCUMENT_BYTES, open_document

__all__ = ["DOCUMENT_FORMATS", "MAX_DOCUMENT_BYTES", "open_document"]
