"""Translators behind an address: chat completions, and the protocols of LibreTranslate and DeepL.

A teacher sends the sentences of a group, and returns the answer as the server sent it. It also knows how to read
such an answer, so that stored answers can be read again.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from dragoman.corpus.pair import Languages
from dragoman.errors import UserError, shortened
from dragoman.synthesis.answers import Read, Rejected, read_answer
from dragoman.synthesis.http_client import BusyServerError, HttpClient, RefusedRequestError, check_address
from dragoman.synthesis.prompt import ANSWER_SCHEMA, PromptWriter
from dragoman.synthesis.sentence_groups import MAX_CHARACTERS, SentenceGroup
from dragoman.system.progress import Log, no_log

CHAT_SENTENCES, SERVICE_SENTENCES = 10, 50
"""Sentences in a request to a language model, and to a translation service."""

CHARACTERS_PER_TOKEN = 4.0
"""An estimate, for servers that do not count tokens."""

LEAST_ANSWER_TOKENS, ANSWER_TOKENS = 2048, 3
"""The limit of an answer: at least so many tokens, with room for thoughts, and so many for each character to translate.

A model that repeats itself forever stops there.
"""

MOST_TOKENS = 10**12
"""A larger number of tokens in a reply is wrong."""


@dataclass(frozen=True)
class TokenUsage:
    """What was used: requests, tokens sent and received, and characters to translate.

    Attributes:
        estimated: Whether the server did not count the tokens.
    """

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    characters: int = 0
    estimated: bool = False

    def plus(self, other: TokenUsage) -> TokenUsage:
        """This and what another request has used."""
        return TokenUsage(
            self.requests + other.requests,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.characters + other.characters,
            self.estimated or other.estimated,
        )


@dataclass(frozen=True)
class Answer:
    """What a server answered.

    Attributes:
        content: Its text, or its translations.
        cut: Whether the text ends at a limit of tokens.
        usage: What the request has used.
        seconds: How long it took.
        failure: What was wrong, if the server refused the request or its reply is damaged. There is no content then.
    """

    content: str | list[str]
    cut: bool = False
    usage: TokenUsage = TokenUsage()
    seconds: float = 0.0
    failure: str = ""


class Teacher(Protocol):
    """Translates groups."""

    @property
    def counts_tokens(self) -> bool:
        """Whether tokens are paid for; otherwise, characters."""
        ...

    @property
    def size(self) -> int:
        """The most sentences of a group."""
        ...

    @property
    def characters(self) -> int:
        """The most characters of a group of several sentences."""
        ...

    @property
    def name(self) -> str:
        """How messages call it."""
        ...

    @property
    def identity(self) -> list[Any]:
        """What decides its answers, as plain data without the key."""
        ...

    def ask(self, group: SentenceGroup, candidate: int) -> Answer:
        """Send a group; candidates with different numbers may differ. A damaged reply is an answer with its failure.

        Raises:
            BusyServerError: The same request may succeed later.
            UserError: It will not.
        """
        ...

    def read(self, answer: Answer, group: SentenceGroup) -> list[Read]:
        """The translation of each sentence in an answer, or why there is none."""
        ...

    def sent_characters(self, group: SentenceGroup) -> int:
        """How many characters are sent for a group."""
        ...


@dataclass
class ChatTeacher:
    """A language model behind the protocol for chat completions that OpenAI defined.

    Attributes:
        client: Sends the requests of one thread.
        model: The name of the model.
        writer: Writes the prompts.
        candidates: How many answers are wanted; of several, the model samples.
        size: The most sentences of a group.
        characters: The most characters of a group of several sentences.
        log: Receives a message if the server does not accept a part of the requests.
    """

    client: Callable[[], HttpClient]
    model: str
    writer: PromptWriter
    candidates: int = 1
    size: int = CHAT_SENTENCES
    characters: int = MAX_CHARACTERS
    counts_tokens: bool = True
    log: Log = no_log
    _refused: int = 0  # how many of `_OPTIONAL` the server does not accept
    _accepted: Counter[int] = field(default_factory=Counter)  # how many requests with each of `_OPTIONAL`

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.model

    @property
    def identity(self) -> list[Any]:
        """The model, the prompt, and whether it samples."""
        return ["chat", self.model, self.writer.identity, self.candidates > 1]

    def ask(self, group: SentenceGroup, candidate: int) -> Answer:
        """Send a prompt; what the server does not accept, such as a schema, is left out."""
        prompt = self.writer.write(group)
        request = {"model": self.model, "messages": [{"role": "user", "content": prompt}], "stream": False}
        limit = max(LEAST_ANSWER_TOKENS, ANSWER_TOKENS * group.characters)
        first_problem: RefusedRequestError | None = None
        for refused in range(self._refused, len(_OPTIONAL)):
            client = self.client()
            try:
                reply = client.post("/chat/completions", request | self._options(refused, limit, candidate))
            except RefusedRequestError as error:
                if error.status not in (400, 422):
                    raise
                first_problem = first_problem or error
                continue
            except BusyServerError as error:
                if error.status != 200:
                    raise
                return Answer("", usage=_estimate_usage(prompt, "", group), failure=str(error))
            self._count_accepted(refused)
            return _read_completion(reply, prompt, group, client.hide_key)
        assert first_problem is not None
        raise first_problem

    def _count_accepted(self, refused: int) -> None:
        """Leave out what the server refuses, unless it only refuses it for a few groups, such as long ones."""
        self._accepted[refused] += 1
        if refused > self._refused and self._accepted[refused] > min(_FEW, self._accepted[self._refused]):
            left_out = [name for name in _OPTIONAL[self._refused] if name not in _OPTIONAL[refused]]
            self.log(f"{self.model}: the server refuses requests with {' or '.join(left_out)}; they are sent without")
            self._refused = refused

    def _options(self, refused: int, limit: int, candidate: int) -> dict[str, Any]:
        sampling = {"temperature": 0.7, "seed": candidate} if self.candidates > 1 else {"temperature": 0.0}
        values = {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "translations", "strict": True, "schema": ANSWER_SCHEMA},
            },
            "max_tokens": limit,
            "max_completion_tokens": limit,
            **sampling,
        }
        return {name: value for name, value in values.items() if name in _OPTIONAL[refused]}

    def read(self, answer: Answer, group: SentenceGroup) -> list[Read]:
        """Find the numbered translations in a text."""
        return read_answer(str(answer.content), group.sentences, cut=answer.cut)

    def sent_characters(self, group: SentenceGroup) -> int:
        """The length of the prompt."""
        return len(self.writer.write(group))


_SAMPLING = ("temperature", "seed")
_OPTIONAL: Sequence[Sequence[str]] = (
    ("response_format", "max_tokens", *_SAMPLING),
    ("response_format", *_SAMPLING),  # where prompt and limit together are too long for the model
    ("max_tokens", *_SAMPLING),
    ("response_format", "max_completion_tokens"),  # models that think refuse the others
    ("max_completion_tokens",),
    (),
)
"""The optional parts of a request, in the order in which they are tried, as servers answer 400 to unknown ones."""


_FEW = 5
"""After a refusal of so many groups, what was refused is not sent again."""


def _read_completion(reply: Any, prompt: str, group: SentenceGroup, hide_key: Callable[[str], str]) -> Answer:
    """The answer in a reply."""
    counts = reply.get("usage") if isinstance(reply, dict) else None
    counted = _read_usage(counts, group) if isinstance(counts, dict) else None
    try:
        choice = reply["choices"][0]
        text = choice["message"].get("content") or ""
        if not isinstance(text, str):
            text = "".join(part.get("text", "") for part in text)
        finish = choice.get("finish_reason")
    except (KeyError, IndexError, TypeError, AttributeError):
        problem = f"the reply is no chat completion: {shortened(hide_key(repr(reply)))}"
        return Answer("", usage=counted or _estimate_usage(prompt, "", group), failure=problem)
    return Answer(text, finish == "length", counted or _estimate_usage(prompt, text, group))


def _read_usage(counts: dict[str, Any], group: SentenceGroup) -> TokenUsage | None:
    sent, received = counts.get("prompt_tokens"), counts.get("completion_tokens")
    if not isinstance(sent, int) or not isinstance(received, int):
        return None
    if min(sent, received) < 0 or max(sent, received) > MOST_TOKENS:
        return None
    return TokenUsage(1, sent, received, group.characters)


def _estimate_usage(prompt: str, text: str, group: SentenceGroup) -> TokenUsage:
    sent, received = (round(len(each) / CHARACTERS_PER_TOKEN) for each in (prompt, text))
    return TokenUsage(1, sent, received, group.characters, estimated=True)


@dataclass
class ServiceTeacher:
    """A service that translates a list of texts.

    Attributes:
        name: How messages call it.
        client: Sends the requests of one thread.
        languages: Source and target.
        send: Sends texts in languages, and returns their translations.
        size: The most sentences of a group.
        characters: The most characters of a group of several sentences.
    """

    name: str
    client: Callable[[], HttpClient]
    languages: Languages
    send: Callable[[HttpClient, Sequence[str], Languages], Any]
    size: int = SERVICE_SENTENCES
    characters: int = MAX_CHARACTERS
    counts_tokens: bool = False

    @property
    def identity(self) -> list[Any]:
        """The protocol with the address, and the languages."""
        return [self.name, *self.languages]

    def ask(self, group: SentenceGroup, candidate: int) -> Answer:
        """Send the sentences."""
        usage, failure = TokenUsage(1, characters=group.characters), f"{self.name}: the reply has no translations"
        try:
            texts = self.send(self.client(), group.sentences, self.languages)
        except (KeyError, TypeError, IndexError):
            texts = None
        except BusyServerError as error:
            if error.status != 200:
                raise
            texts, failure = None, str(error)
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            return Answer("", usage=usage, failure=failure)
        return Answer(texts, usage=usage)

    def read(self, answer: Answer, group: SentenceGroup) -> list[Read]:
        """The translations, if they are as many as the sentences."""
        return read_list(answer, group)

    def sent_characters(self, group: SentenceGroup) -> int:
        """The length of the sentences."""
        return group.characters


def read_list(answer: Answer, group: SentenceGroup) -> list[Read]:
    """The translations in an answer without text around them, if they are as many as the sentences."""
    texts, count = answer.content, len(group.sentences)
    return list(texts) if isinstance(texts, list) and len(texts) == count else [Rejected("left out")] * count


def send_to_libretranslate(client: HttpClient, texts: Sequence[str], languages: Languages) -> Any:
    """Translate texts with LibreTranslate's protocol."""
    source, target = languages
    reply = client.post("/translate", {"q": list(texts), "source": source, "target": target, "format": "text"})
    return reply["translatedText"]


def send_to_deepl(client: HttpClient, texts: Sequence[str], languages: Languages) -> Any:
    """Translate texts with DeepL's protocol, each as one sentence."""
    source, target = languages
    request = {"text": list(texts), "source_lang": source.upper(), "target_lang": target.upper()}
    reply = client.post("/v2/translate", request | {"split_sentences": "0"})
    return [each["text"] for each in reply["translations"]]


SERVICES: dict[str, Callable[[HttpClient, Sequence[str], Languages], Any]] = {
    "libretranslate": send_to_libretranslate,
    "deepl": send_to_deepl,
}
"""The protocols of translation services, by the name before the address."""


@dataclass(frozen=True)
class TeacherAddress:
    """A protocol and an address, such as ``libretranslate:http://localhost:5000``; without a protocol, it is chat."""

    protocol: str
    url: str

    @classmethod
    def parse(cls, text: str) -> TeacherAddress | None:
        """The address in a text; None if it is no address, but a path.

        Raises:
            UserError: It is not a valid address.
        """
        protocol, colon, rest = text.partition(":")
        if protocol in SERVICES and colon:
            return cls(protocol, check_address(rest, f"{protocol}:"))
        is_host = re.fullmatch(r"[\w.-]+:\d+(/\S*)?", text)
        has_password = re.match("[^/]*:[^/]*@", text)
        return cls("chat", check_address(text)) if "://" in text or is_host or has_password else None

    def __str__(self) -> str:
        return self.url if self.protocol == "chat" else f"{self.protocol}:{self.url}"

    def describe(self, model: str | None) -> str:
        """The kind of the teacher, with the name of the language model or the address of the service."""
        return f"the language model {model}" if self.protocol == "chat" else f"the translation service {self}"

    def clients(self, key: str | None) -> Callable[[], HttpClient]:
        """What returns the client of the thread that calls it."""
        local = threading.local()

        def client() -> HttpClient:
            if not hasattr(local, "client"):
                local.client = HttpClient(
                    self.url,
                    key,
                    key_type="DeepL-Auth-Key" if self.protocol == "deepl" else "Bearer",
                    key_field="api_key" if self.protocol == "libretranslate" else None,
                )
            found: HttpClient = local.client
            return found

        return client


@dataclass(frozen=True)
class TeacherOptions:
    """What a user says about a teacher behind an address.

    Attributes:
        address: Its address.
        languages: Source and target.
        model: The name of a language model.
        key: The key.
        writer: Writes prompts for a language model; the default without examples if None.
        candidates: How many answers are wanted.
        size: The most sentences of a group; None for the usual number.
        log: Receives messages.
    """

    address: TeacherAddress
    languages: Languages
    model: str | None = None
    key: str | None = field(default=None, repr=False)
    writer: PromptWriter | None = None
    candidates: int = 1
    size: int | None = None
    log: Log = no_log

    def open(self) -> Teacher:
        """The teacher; nothing is sent yet.

        Raises:
            UserError: The options do not fit the protocol.
        """
        clients = self.address.clients(self.key)
        if self.address.protocol == "chat":
            if not self.model:
                raise UserError(f"{self.address}: name the model, such as --model gemma3:27b")
            writer = self.writer or PromptWriter(self.languages)
            size = self.size or CHAT_SENTENCES
            return ChatTeacher(clients, self.model, writer, self.candidates, size, log=self.log)
        if self.model or self.writer:
            raise UserError(f"{self.address}: only language models have --model, --prompt and --glossary")
        if self.candidates > 1:
            raise UserError(f"{self.address}: only language models give several --candidates; a service gives one")
        send = SERVICES[self.address.protocol]
        return ServiceTeacher(str(self.address), clients, self.languages, send, self.size or SERVICE_SENTENCES)
