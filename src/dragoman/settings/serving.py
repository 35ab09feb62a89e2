"""Settings of the server, `dragoman serve`."""

from __future__ import annotations

from pydantic import Field

from dragoman.settings.base import Settings, advanced


class Serving(Settings):
    """Limits of the server, and what it offers. Every limit is finite."""

    characters: int = Field(20_000, ge=1, le=10_000_000, description="Maximum number of characters in one request.")
    list_length: int = Field(500, ge=1, le=100_000, description="Maximum number of texts in one request.")
    file_bytes: int = Field(10_000_000, ge=1, le=1_000_000_000, description="Maximum size of an uploaded file.")
    requests_per_minute: int = Field(
        6000,
        ge=1,
        le=100_000_000,
        description="Maximum number of requests per minute for each API key, or for each address without a key; in "
        "IPv6, for each network of 64 bits.",
    )
    seconds: float = Field(
        30.0, gt=0, le=3600, description="Maximum time for a request, in seconds; then it is answered with 503."
    )
    document_seconds: float = Field(
        600.0, gt=0, le=86_400, description="Maximum time for translating an uploaded file, in seconds."
    )
    alternatives: int = Field(
        3,
        ge=0,
        le=100,
        description="Maximum number of alternative translations in a reply; always fewer than decoding.beam_size.",
    )
    require_keys: bool = Field(
        False, description="Answer only requests with an API key; `dragoman serve-key add` creates keys."
    )
    glossaries: int = Field(
        1000, ge=0, le=1_000_000, description="Maximum number of glossaries that are stored for all clients together."
    )
    glossaries_per_client: int = Field(
        100,
        ge=0,
        le=1_000_000,
        description="Maximum number of glossaries that are stored for one API key, or for one address without a key.",
    )
    memories: dict[str, str] = Field(
        {},
        description="Translation memories by direction, such as {de-en = 'memory.tmx'}, in any format of parallel "
        "text.",
    )
    corrections: int = Field(
        0,
        ge=0,
        le=10_000_000,
        description="Maximum number of suggested corrections that wait for approval; 0 refuses all.",
    )
    state_directory: str | None = Field(
        None,
        min_length=1,
        max_length=4096,
        description="Directory for API keys, glossaries and corrections; the default is in the user's data directory.",
    )
    public_url: str | None = Field(
        None,
        pattern=r"^https?://[^\s/?#]+[^\s?#]*$",
        max_length=2000,
        description="Address under which clients reach the server, for links to translated files, such as "
        "https://translate.example.org; by default that of each request.",
    )
    workers: int | None = advanced(
        None, ge=1, le=1024, description="Number of batches that are translated at once; by default one for each core."
    )
    threads: int = advanced(
        1, ge=1, le=1024, description="Threads that each worker uses for one batch, with the engine torch."
    )
    batch_tokens: int = advanced(
        500,
        ge=1,
        le=10_000_000,
        description="Maximum size of a batch: its number of sentences times the source tokens of the longest one.",
    )
    queue_tokens: int = advanced(
        20_000,
        ge=1,
        le=1_000_000_000,
        description="Maximum number of source tokens that wait for translation; further requests are answered with "
        "503.",
    )
    queue_seconds: float = advanced(
        1.0,
        gt=0,
        le=3600,
        description="Maximum time that a request waits while other texts are translated, estimated from the speed of "
        "the last batches; requests that would wait longer are answered with 503.",
    )
    documents: int = advanced(
        8, ge=1, le=100_000, description="Maximum number of files that are translated at once; more are refused."
    )
    documents_bytes: int = advanced(
        200_000_000,
        ge=1,
        le=1_000_000_000_000,
        description="Maximum size of all files that arrive or are translated at once, unpacked; more are refused, but "
        "a single file may be larger.",
    )
    stored_bytes: int = advanced(
        1_000_000_000,
        ge=1,
        le=1_000_000_000_000,
        description="Maximum size of all translated files that can be downloaded; each client may use a quarter of it.",
    )
    body_bytes: int = advanced(
        1_000_000, ge=1, le=1_000_000_000, description="Maximum size of the body of a request without a file."
    )
    read_seconds: float = advanced(
        20.0,
        gt=0,
        le=3600,
        description="Maximum time in which a client must send the whole request, and for which it may stop "
        "reading the reply, in seconds.",
    )
    connections: int = advanced(
        1000,
        ge=1,
        le=1_000_000,
        description="Maximum number of open connections; a further one replaces the one that has waited longest for "
        "its client.",
    )
    connections_per_client: int = advanced(
        100,
        ge=1,
        le=1_000_000,
        description="Maximum number of open connections from one address, or from one network of 64 bits in IPv6; a "
        "further one replaces the one of the same client that has waited longest. Proxies on the same machine have no "
        "limit.",
    )
    shutdown_seconds: int = advanced(
        20,
        ge=0,
        le=3600,
        description="Maximum seconds after SIGTERM for each of two phases: clients get their documents, then open "
        "requests are finished.",
    )
