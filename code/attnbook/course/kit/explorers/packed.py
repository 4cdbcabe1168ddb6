"""All views of an explorer in one small script, for the published page.

The settings of its controls are counted like the digits of a number, the last control
fastest. Of all views, what is the same in each is kept once (``=``), and what takes few
values is kept once for each (``?``); ``book/_static/live/explorers.js`` unpacks them.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from attnbook.course.kit.explorers.controls import Control
from attnbook.course.kit.explorers.views import View

FEW = 4
"""At most one value for so many settings: then it is cheaper to count the values."""


def settings_of(controls: Mapping[str, Control]) -> Iterator[dict[str, object]]:
    """All settings, in the order in which they are counted."""
    for values in product(*(control.choices for control in controls.values())):
        yield dict(zip(controls, values, strict=True))


def pack(values: Sequence[Any]) -> list:
    """Put together what differs between values that JSON can hold."""
    texts = [json.dumps(value) for value in values]
    distinct = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    first, kind = values[0], type(values[0])
    if len(distinct) == 1:
        return ["=", first]
    if len(distinct) * FEW <= len(values):
        return ["?", [*map(json.loads, distinct)], [distinct[text] for text in texts]]
    nested = kind in (dict, list)
    alike = nested and all(
        isinstance(value, kind) and len(value) == len(first) for value in values
    )
    if kind is dict and alike:
        return ["{", {key: pack([value[key] for value in values]) for key in first}]
    if kind is list and alike:
        return ["[", [pack([*column]) for column in zip(*values, strict=True)]]
    return ["-", values]


def script(
    name: str, show: Callable[..., View], controls: Mapping[str, Control]
) -> str:
    """Write the script that a page loads."""
    views = [show(**settings).as_data() for settings in settings_of(controls)]
    packed = pack(json.loads(json.dumps(views)))
    text = json.dumps(packed, ensure_ascii=False, separators=(",", ":"))
    return f"attnbook.explorers.receive({json.dumps(name)},{text});\n"
