"""Errors that become replies."""

from __future__ import annotations


class RequestError(Exception):
    """A request that is refused.

    Args:
        status: The HTTP status.
        message: What is wrong, for the client.
        retry_after: After how many seconds the client may try again.
    """

    def __init__(self, status: int, message: str, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.retry_after = status, message, retry_after

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the reply."""
        headers = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        return headers | ({"Connection": "close"} if self.status == 408 else {})  # the request never arrived whole
