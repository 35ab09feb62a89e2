"""Code of users that fails, ends its process, prints or does not end: messages name the place, and nothing stays."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from conftest import is_running
from dragoman.errors import UserError, shown_name
from dragoman.system.user_code import blamed, describe_exception, load_file, run_apart

FUNCTION = """
from pathlib import Path
from dragoman.system.user_code import blamed, load_file

def run(path):
    module = load_file(Path(path))
    yield "loaded"
    with blamed("it fails"):
        answer = module.answer()
    yield sorted([answer, 1])
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Any]]:
    """Runs the function `answer` of some code in a separate process; returns what was yielded."""
    (tmp_path / "runner").mkdir()
    (tmp_path / "runner" / "a_function_of_ours.py").write_text(FUNCTION, encoding="utf-8")
    paths = [str(tmp_path / "runner"), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))

    def run_code(text: str, **options: Any) -> list[Any]:
        path = tmp_path / "code.py"
        path.write_text(text, encoding="utf-8")
        options = {"output": "discarded"} | options
        return list(run_apart("a_function_of_ours:run", {"path": str(path)}, **options))

    return run_code


PASSES = {
    "prints": "print('[1]')\ndef answer(): print('[2]'); return 3",
    "closes its output": "import os, sys\nsys.stdout.close()\nos.close(1)\ndef answer(): return 3",
    "changes the directory": "import os\nos.chdir('/')\ndef answer(): return 3",
    "has a thread that does not end": "import threading, time\n"
    "threading.Thread(target=time.sleep, args=(1000,)).start()\ndef answer(): return 3",
    "has a copy of the process": "import os, time\nos.fork()\ndef answer(): time.sleep(0.5); return 3",
    "reads its arguments": "import argparse\nargparse.ArgumentParser().parse_args()\ndef answer(): return 3",
    "exits in a copy of the process": "import os\ndef answer():\n    if not os.fork(): os._exit(1)\n    return 3",
    "has a dataclass": "from __future__ import annotations\nfrom dataclasses import dataclass\n"
    "@dataclass\nclass Sizes:\n    width: int = 3\ndef answer(): return Sizes().width",
    "uses code of its directory later": "def answer():\n    import a_function_of_ours\n    return 3",
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="some need fork")
@pytest.mark.parametrize("name", PASSES)
def test_odd_code_that_works_is_run(run: Callable[..., list[Any]], name: str) -> None:
    assert run(PASSES[name]) == ["loaded", [1, 3]]


FAILS = {
    "import sys\ndef answer():\n    sys.exit(0)": "it fails: SystemExit in code.py, line 3: the code ends the",
    "def answer():\n    exit()": "SystemExit in code.py, line 2: the code ends the program",
    "import os\ndef answer():\n    os._exit(0)": "SystemExit in code.py, line 3: the code ends the program (0)",
    "import sys\nsys.exit()": "cannot be imported: SystemExit in code.py, line 2: the code ends the program",
    "import os\ndef answer():\n    os.execv('/bin/true', ['true'])": "the code ends the program (exit code 0)",
    "import os, signal\ndef answer():\n    os.kill(os.getpid(), signal.SIGKILL)": "ended by SIGKILL, probably",
    "import ctypes\ndef answer():\n    ctypes.string_at(0)": "ended by SIGSEGV in code.py, line 3",
    "import os\ndef answer():\n    os.abort()": "ended by SIGABRT in code.py, line 3",
    "class Own(BaseException): pass\ndef answer():\n    raise Own('so')": "it fails: Own in code.py, line 3: so",
    "def answer():\n    raise KeyboardInterrupt": "KeyboardInterrupt in code.py, line 2",
    "def answer():\n    raise GeneratorExit": "GeneratorExit in code.py, line 2",
    "class Own(Exception):\n    def __str__(self): raise ValueError\ndef answer():\n    raise Own": "Own in code.py, l",
    "def a(): b()\ndef b(): a()\ndef answer():\n    a()": "RecursionError in code.py, lines 4, 1, 2: maximum recursion",
    "def answer():\n    raise ValueError('x' * 100000)": "x … x",
    "import builtins\nbuiltins.sorted = None\ndef answer(): return 3": "the code replaces sorted of Python",
    "def answer(:": "cannot be imported: SyntaxError in code.py, line 1: ",
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="some are particular to POSIX")
@pytest.mark.parametrize("text", FAILS)
def test_the_end_of_code_is_described_with_its_place(run: Callable[..., list[Any]], text: str) -> None:
    with pytest.raises(UserError) as raised:
        run(text)
    assert FAILS[text].replace("x … x", "xx … xx") in str(raised.value)
    assert len(str(raised.value)) < 1000


UNREADABLE = {
    b"x = 1\ny = '\0'": "contains a byte with the value 0 in line 2",
    "x = 1".encode("utf-16"): "contains a byte with the value 0 in line 1",
    "x = 1\ny = 'é'".encode("latin-1"): "line 2 is not UTF-8",
    b"# coding: none-such\n": "is not UTF-8",
}


@pytest.mark.parametrize("content", UNREADABLE)
def test_a_file_that_is_no_text_says_so(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "code.py").write_bytes(content)
    with pytest.raises(UserError, match=UNREADABLE[content]):
        load_file(tmp_path / "code.py")


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))  # restored afterwards
    (tmp_path / "marked_code.py").write_text("x = 'é'", encoding="utf-8-sig")
    assert load_file(tmp_path / "marked_code.py").x == "é"
    del sys.modules["marked_code"]


def test_ctrl_c_is_not_blamed_on_the_code() -> None:
    with pytest.raises(KeyboardInterrupt), blamed("it fails"):
        raise KeyboardInterrupt


def test_a_name_is_shown_on_one_line() -> None:
    assert shown_name(Path("a\nb\x1b[31m\udcff.py")) == "a\\nb\\x1b[31m\\udcff.py"
    assert "\n" not in describe_exception(type("A\nB", (Exception,), {})())


ESCAPES = """
import os, time
from pathlib import Path
def answer():
    if not os.fork():
        os.setsid()
        if not os.fork():
            Path('NUMBER').write_text(str(os.getpid()))
            time.sleep(1000)
        os._exit(0)
    END
"""


ENDS = {
    "time.sleep(1000)": r"not finished after 5 s; it was in code\.py, line 11",
    "time.sleep(1); os.kill(os.getpid(), 9)": "SIGKILL",
    "time.sleep(1); return 3": "^$",
}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows the environment of other processes")
@pytest.mark.parametrize("end", ENDS)
def test_no_process_survives(run: Callable[..., list[Any]], tmp_path: Path, end: str) -> None:
    text = ESCAPES.replace("NUMBER", str(tmp_path / "number")).replace("END", end)
    message = ""
    try:
        run(text, seconds=5)
    except UserError as error:
        message = str(error)
    assert re.search(ENDS[end], message)
    number = int((tmp_path / "number").read_text(encoding="utf-8"))
    until = time.monotonic() + 10
    while is_running(number) and time.monotonic() < until:
        time.sleep(0.05)
    assert not is_running(number)


PARENT = """
from dragoman.system.user_code import run_apart
arguments = {"name": NAME, "overfit": False, "device": "cpu"}
list(run_apart("dragoman.doctor.model.loading:examine_code", arguments, "discarded"))
"""


@pytest.mark.skipif(not hasattr(os, "getppid") or os.name == "nt", reason="processes of Windows keep their parent")
def test_no_process_survives_a_killed_parent(tmp_path: Path) -> None:
    file, written = tmp_path / "code.py", tmp_path / "number"
    file.write_text(
        f"import os\nfrom pathlib import Path\nPath({str(tmp_path / 'new')!r}).write_text(str(os.getpid()))\n"
        f"os.rename({str(tmp_path / 'new')!r}, {str(written)!r})\nwhile True: pass\n",
        encoding="utf-8",
    )
    parent = subprocess.Popen([sys.executable, "-c", PARENT.replace("NAME", repr(str(file)))])
    while not written.exists():
        assert parent.poll() is None
        time.sleep(0.05)
    number = int(written.read_text(encoding="utf-8"))
    parent.kill()
    parent.wait()
    until = time.monotonic() + 10
    while is_running(number) and time.monotonic() < until:
        time.sleep(0.05)
    assert not is_running(number)


def test_an_interruption_says_where_the_code_was(run: Callable[..., list[Any]], tmp_path: Path) -> None:
    started = tmp_path / "started"
    text = f"from pathlib import Path\ndef answer():\n    Path({str(started)!r}).touch()\n    while True: pass\n"

    def interrupt() -> None:
        while not started.exists():
            time.sleep(0.05)
        signal.raise_signal(signal.SIGINT)

    thread = Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt, match=r"^ in code\.py, line 4$"):
        run(text)
    thread.join()
