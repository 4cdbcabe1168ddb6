"""What can be said of the reader's code: whether it is written, where it fails."""

import dis
import inspect
import linecache
import re
import textwrap
import traceback
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from types import CodeType, FrameType, FunctionType

from torch import Tensor

EMPTY_BODY = {"RESUME", "NOP", "LOAD_CONST", "RETURN_VALUE", "RETURN_CONST"}
"""Instructions of a function that does nothing but return a constant."""

LONGEST_MESSAGE = 200  # characters


def functions_of(answer: object) -> list[FunctionType]:
    """The function itself, or those that a class defines, without generated ones."""
    if not inspect.isclass(answer):
        answer = inspect.unwrap(answer) if callable(answer) else answer
        return [answer] if inspect.isfunction(answer) else []
    inside = (inspect.unwrap(getattr(x, "__func__", x)) for x in vars(answer).values())
    functions = [f for f in inside if inspect.isfunction(f)]
    return [f for f in functions if f.__module__ == answer.__module__]


def functions_with_bases(answer: object) -> list[FunctionType]:
    """The same, and the functions of base classes that the reader wrote, too."""
    if not inspect.isclass(answer):
        return functions_of(answer)
    classes = [c for c in answer.__mro__ if c.__module__ == answer.__module__]
    return [f for c in classes for f in functions_of(c)]


def is_unwritten(answer: object) -> bool:
    """Whether a function, or all of a class but ``__init__``, is still empty."""
    if answer is None or answer is ...:
        return True
    functions = functions_of(answer)
    if inspect.isclass(answer):
        functions = [f for f in functions if f.__name__ != "__init__"]
    return bool(functions) and all(_is_empty(f.__code__) for f in functions)


def _is_empty(code: CodeType) -> bool:
    """Whether a body is nothing but ``...``, ``pass`` or a docstring."""
    body = [*dis.get_instructions(code)]
    constants = {i.argval for i in body if i.opname in ("LOAD_CONST", "RETURN_CONST")}
    return {i.opname for i in body} <= EMPTY_BODY and constants <= {None, ...}


def what_it_does(answers: Collection[object]) -> str:
    """A text that changes with the code, the reader's helpers and bases included.

    Other comments, names of files or numbers of lines leave it as it is.
    """
    waiting = [f for answer in answers for f in functions_with_bases(answer)]
    done: dict[FunctionType, str] = {}
    while waiting:
        function = waiting.pop()
        if function in done:
            continue
        done[function] = _instructions(function.__code__)
        for name in _names(function.__code__):
            used = function.__globals__.get(name)
            if getattr(used, "__module__", None) == function.__module__:
                waiting += functions_with_bases(used)
            elif isinstance(used, str | int | float):
                done[function] += f" {name} = {used!r}"
    return "\n".join(done.values()) or repr(answers)


def _instructions(code: CodeType) -> str:
    inner = [x for x in code.co_consts if isinstance(x, CodeType)]
    constants = [x for x in code.co_consts if x not in inner]
    own = (code.co_code.hex(), code.co_names, code.co_varnames, constants)
    return " ".join([repr(own), *map(_instructions, inner)])


def _names(code: CodeType) -> set[str]:
    """Names that a function uses, those of functions inside it included."""
    inner = (_names(x) for x in code.co_consts if isinstance(x, CodeType))
    return set(code.co_names).union(*inner)


def files_of(answers: Iterable[Callable]) -> set[str]:
    """The files, or cells of a notebook, in which functions and classes are written."""
    return {f.__code__.co_filename for x in answers for f in functions_with_bases(x)}


def error_line(error: BaseException, files: Collection[str]) -> str:
    """An error's type, the last line of the reader's files on its way, its message.

    And the shapes of the tensors that this line names.
    """
    message = next(iter(str(error).strip().splitlines()), "no message")
    message = textwrap.shorten(message, LONGEST_MESSAGE, placeholder=" …")
    kind = type(error).__name__
    walked = [*traceback.walk_tb(error.__traceback__)]
    readers = [(f, n) for f, n in walked if f.f_code.co_filename in files]
    if not readers:
        return f"{kind}: {message}"
    frame, number = readers[-1]
    file = frame.f_code.co_filename
    place = Path(file).name if Path(file).exists() else "your cell"
    text = linecache.getline(file, number).strip()
    quoted = f", `{textwrap.shorten(text, 60, placeholder=' …')}`" if text else ""
    told = f"{kind} in line {number} of {place}{quoted}: {message}"
    return f"{told}{_shapes(frame, text)}"


def _shapes(frame: FrameType, text: str) -> str:
    """The shapes of the tensors that a line of a frame names."""
    local, used = frame.f_locals, re.sub(r"^[\w, ]+= ", "", text)
    names = dict.fromkeys(re.findall(r"(?<![.\w])\w+", used))
    shapes = [
        f"`{x}` is {tuple(local[x].shape)}"
        for x in names
        if isinstance(local.get(x), Tensor)
    ]
    return f"; here {', '.join(shapes)}" if shapes else ""
