"""Documents in files, returned in the same format."""

from dragoman.documents.formats.open import ARCHIVES, DOCUMENT_FORMATS, open_document

__all__ = ["ARCHIVES", "DOCUMENT_FORMATS", "open_document"]
