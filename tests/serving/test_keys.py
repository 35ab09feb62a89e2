"""API keys: only hashes are stored, and changes are valid at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dragoman.errors import UserError
from dragoman.serving.keys import KeyFile


def test_a_key_is_stored_only_as_a_hash(tmp_path: Path) -> None:
    path = tmp_path / "state" / "keys.json"
    keys = KeyFile(path)
    key = keys.add("alice")
    assert len(key) > 30
    assert key not in path.read_text(encoding="utf-8")
    assert path.stat().st_mode & 0o077 == 0
    assert keys.owner(key) == "alice"
    assert keys.owner(key[:-1]) is keys.owner("") is None


def test_changes_of_another_process_are_seen(tmp_path: Path) -> None:
    server, operator = KeyFile(tmp_path / "keys.json"), KeyFile(tmp_path / "keys.json")
    key = operator.add("alice")
    assert server.owner(key) == "alice"
    operator.remove("alice")
    assert server.owner(key) is None
    assert server.names() == []


def test_names_are_unique(tmp_path: Path) -> None:
    keys = KeyFile(tmp_path / "keys.json")
    keys.add("alice")
    with pytest.raises(UserError, match="there is a key named 'alice'"):
        keys.add("alice")
    with pytest.raises(UserError, match="did you mean 'alice'"):
        keys.remove("alic")
    with pytest.raises(UserError, match="printable"):
        keys.add(" ")


def test_a_damaged_file_leaves_the_keys_that_were_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "keys.json"
    keys = KeyFile(path)
    key = keys.add("alice")
    assert keys.owner(key) == "alice"
    intact = path.read_bytes()
    path.write_bytes(intact[:-5])
    assert [keys.owner(key) for _ in range(3)] == ["alice"] * 3
    assert len(caplog.records) == 1
    assert key not in caplog.text
    with pytest.raises(UserError, match="not valid JSON"):
        keys.add("bob")
    path.write_bytes(intact)
    assert keys.owner(key) == "alice"


def test_keys_that_are_added_at_once_are_all_kept(tmp_path: Path) -> None:
    names = [f"user {number}" for number in range(30)]
    with ThreadPoolExecutor(6) as pool:
        keys = list(pool.map(lambda name: KeyFile(tmp_path / "keys.json").add(name), names))
    server = KeyFile(tmp_path / "keys.json")
    assert [server.owner(key) for key in keys] == names


@pytest.mark.parametrize("content", ['{"a": "é"}', '{"a": 1}', '{"a": null}', '["a"]', '{"a": "ab"}', "{", "\x00"])
def test_a_file_that_is_no_list_of_keys_has_a_message(tmp_path: Path, content: str) -> None:
    path = tmp_path / "keys.json"
    path.write_text(content, encoding="utf-8")
    keys = KeyFile(path)
    assert keys.owner("x") is None
    for change in (keys.add, keys.remove):
        with pytest.raises(UserError, match=r"keys\.json"):
            change("b")
    assert path.read_text(encoding="utf-8") == content
