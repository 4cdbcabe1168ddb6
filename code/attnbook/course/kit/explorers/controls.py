"""What a reader can move in an explorer; no library is needed to say it."""

from dataclasses import dataclass


class Control:
    """Any of the four below."""

    play = False


@dataclass(frozen=True)
class Slider(Control):
    """A number between two ends.

    Attributes:
        label: What it moves, shown next to it and read out.
        low: The least value.
        high: The greatest value.
        start: The value at first.
        step: By how much it moves; a whole number gives whole values.
        play: Whether a button plays all values like a film.
    """

    label: str
    low: float
    high: float
    start: float
    step: float = 1
    play: bool = False

    @property
    def choices(self) -> tuple[float, ...]:
        """All values, the least first."""
        count = round((self.high - self.low) / self.step) + 1
        return tuple(round(self.low + i * self.step, 6) for i in range(count))


@dataclass(frozen=True)
class Menu(Control):
    """One of several choices.

    Attributes:
        label: What is chosen.
        choices: The choices in words.
        start: The one chosen at first.
    """

    label: str
    choices: tuple[str, ...]
    start: str


@dataclass(frozen=True)
class TextBox(Control):
    """Text to type; the result follows when Enter is pressed or the box is left.

    Attributes:
        label: What is typed.
        start: The text at first.
        others: More texts; on the published page, one of them all is chosen.
    """

    label: str
    start: str
    others: tuple[str, ...] = ()

    @property
    def choices(self) -> tuple[str, ...]:
        """The texts to choose from where none is typed."""
        return (self.start, *self.others)


@dataclass(frozen=True)
class Switch(Control):
    """A box to tick.

    Attributes:
        label: What a tick means.
        start: Whether it is ticked at first.
    """

    label: str
    start: bool
    choices = (False, True)


def describe(control: Control) -> str:
    """The label of a control and where it starts, in words."""
    if isinstance(control, Switch):
        return f"{control.label}: {'yes' if control.start else 'no'}"
    if isinstance(control, TextBox):
        return f"{control.label}: “{control.start}”"
    return f"{control.label}: {control.start}"
