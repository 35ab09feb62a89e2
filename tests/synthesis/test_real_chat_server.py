"""A real server of chat completions with a tiny model of random weights: its nonsense is read, and none of it is kept.

Needs the extra `teachers`; otherwise, the test is skipped.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Command

TEMPLATE = "{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}\n{% endfor %}assistant:"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def model(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a tiny language model."""
    pytest.importorskip("fastapi", reason="the extra teachers is not installed")
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel()
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=600, special_tokens=["<s>", "</s>"], initial_alphabet=alphabet)
    tokenizer.train([str(corpus / "train.de"), str(corpus / "train.en")], trainer)
    wrapped = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>")
    wrapped.chat_template = TEMPLATE
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = transformers.LlamaConfig(
        vocab_size=len(wrapped), max_position_embeddings=8192, bos_token_id=0, eos_token_id=1, **sizes
    )
    path = tmp_path_factory.mktemp("model") / "tiny"
    transformers.LlamaForCausalLM(config).save_pretrained(path)
    wrapped.save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def address(model: Path) -> Iterator[str]:
    """The address of `transformers serve`."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    run = [sys.executable, "-m", "transformers.cli.transformers", "serve", "--port", str(port), "--device", "cpu"]
    process = subprocess.Popen(run, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 300
    try:
        while True:
            assert process.poll() is None, "the server has ended"
            assert time.monotonic() < deadline
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1).close()
                break
            except OSError:
                time.sleep(0.2)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait(timeout=60)


def test_no_nonsense_is_kept(model: Path, address: str, corpus: Path, command: Command, tmp_path: Path) -> None:
    (tmp_path / "mono.de").write_text("".join((corpus / "train.de").read_text("utf-8").splitlines(True)[:10]), "utf-8")
    arguments = ("--teacher", address, "--model", model, "--languages", "de-en", "--mono", tmp_path / "mono.de")
    estimated = command("synthesize", *arguments, "--estimate", "--price", "1", "--parallel", "1")
    assert estimated.code == 0, estimated.error
    assert "tokens sent" in estimated.out
    assert "about" not in estimated.out.splitlines()[-1], "this server counts tokens"
    outcome = command("synthesize", *arguments, "--output", tmp_path / "out.tsv")
    assert (outcome.code, "no pair is left" in outcome.error) == (2, True), outcome.error
    assert "unreadable" in outcome.error or "cut off" in outcome.error
    assert not (tmp_path / "out.tsv").exists()
    assert (tmp_path / "out.tsv.partial" / "answers.jsonl").is_file(), "answers are kept until pairs are written"


def test_an_unknown_model_ends_the_command(address: str, corpus: Path, command: Command, tmp_path: Path) -> None:
    arguments = ("--teacher", address, "--model", "/nowhere/at-all", "--languages", "de-en")
    files = ("--mono", corpus / "train.de", "--output", tmp_path / "out.tsv")
    outcome = command("synthesize", *arguments, *files)
    assert (outcome.code, "requests in a row have failed" in outcome.error) == (2, True), outcome.error
