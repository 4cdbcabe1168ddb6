"""What can be chosen in the playground."""

from dataclasses import dataclass, fields

from attnbook.course.kit.playground.data import OPTIONS


@dataclass(frozen=True)
class Setting:
    """A task, a model and how it is trained; each choice is one of ``presets.toml``.

    Raises:
        ValueError: If a choice is none of those.
    """

    task: str = "reverse"
    positions: str = "sinusoidal"
    causal: bool = False
    heads: int = 2
    key_width: int = 16  # d_k, of each head
    scaled: bool = True  # scores divided by √d_k
    layers: int = 2
    skip: bool = True
    norm: str = "before"
    feed_forward: bool = True
    width: int = 32  # D
    rate: float = 0.003
    warm_up: int = 0
    steps: int = 300
    seed: int = 0

    def __post_init__(self):
        for field in fields(self):
            value, choices = getattr(self, field.name), OPTIONS[field.name]["choices"]
            if value not in choices:
                raise ValueError(
                    f"{field.name} is {value!r}: choose among "
                    + ", ".join(repr(choice) for choice in choices)
                )

    def rate_at(self, step: int) -> float:
        """The learning rate: it rises over the warm-up and falls to 0 at the end."""
        rise = min(1.0, (step + 1) / max(self.warm_up, 1))
        return self.rate * rise * (1 - step / self.steps)
