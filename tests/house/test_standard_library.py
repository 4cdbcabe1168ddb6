"""The folder `code` must not hide the standard library's module of that name."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STANDARD_LIBRARY = Path(os.__file__).parent
SCRIPT = "answer = 6 * 7\nprint('the answer is', answer)\n"


def python(*arguments: str, stdin: str = "") -> str:
    """What Python prints, started in the root of the working tree."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        input=stdin,
        capture_output=True,
        text=True,
    ).stdout


def test_import_code():
    found = python("-c", "import code; print(code.__file__)").strip()
    assert Path(found) == STANDARD_LIBRARY / "code.py"


def test_interactive_console():
    console = "import code; code.InteractiveInterpreter().runsource('print(6 * 7)')"
    assert python("-c", console) == "42\n"


def test_python_m_pdb(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    # `interact` is the command of the debugger that needs the module `code`.
    command = ("-m", "pdb", "-c", "next", "-c", "interact", str(tmp_path / "script.py"))
    assert "43\n" in python(*command, stdin="print(answer + 1)\n")


def test_breakpoint_opens_the_debugger():
    shown = python("-c", "x = 41\nbreakpoint()\nprint('done')", stdin="p x + 1\nc\n")
    assert "(Pdb) 42\n" in shown
    assert "done" in shown
