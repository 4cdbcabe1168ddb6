"""Greedy decoding, ``greedy(model, src, max_len)``."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from attnbook.core.vocabulary import BOS, EOS, PAD, UNK
from attnbook.course.kit.exercises import expect
from attnbook.course.kit.exercises.stages import Part, Wrong
from attnbook.decoding import greedy_search

WORDS, STEPS = 9, 12


@torch.no_grad()
def greedy(model, src, max_len):
    state = model.start(src)
    token = torch.full((len(src),), BOS, device=src.device)
    finished = torch.zeros_like(token, dtype=torch.bool)
    output = []
    while len(output) < max_len and not finished.all():
        logits, state = model.step(token, state)
        logits[:, [PAD, BOS, UNK]] = -torch.inf
        token = logits.argmax(-1).masked_fill(finished, PAD)
        finished = finished | (token == EOS)
        output.append(token)
    return torch.stack(output, 1)


PART = Part("greedy", 10, (greedy_search.greedy,), (greedy,))


class Model(nn.Module):
    """A model whose next token depends on the last one and on the step.

    Row b generates ``EOS`` after as many tokens as its first source id says. Words have
    negative logits, for which 0 is no mask. Whatever the first input, ``PAD``, ``BOS``
    or ``EOS``, it makes a difference.
    """

    def __init__(self, special: float = -99.0):
        super().__init__()
        g = torch.Generator().manual_seed(3)
        shape = STEPS, WORDS, WORDS  # step, last, next
        self.logits = torch.randn(shape, generator=g) - 4
        self.logits[..., EOS] = -13.0
        self.logits[..., [PAD, BOS, UNK]] += special
        self.steps, self.with_gradients = 0, False

    def start(self, src: Tensor) -> Tensor:
        """Each sentence's step and its length, (B, 2)."""
        return torch.stack([torch.zeros_like(src[:, 0]), src[:, 0]], 1)

    def step(self, token: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Logits of the next token, (B, V), and the new state."""
        self.steps += 1
        self.with_gradients |= torch.is_grad_enabled()
        if self.steps > 50 * STEPS:
            raise Wrong("the loop does not end: stop after max_len tokens.")
        place = state[:, 0].clamp(max=STEPS - 1) * WORDS + token
        logits = self.logits.flatten(0, 1)[place]
        logits[state[:, 0] >= state[:, 1], EOS] = 9.0
        return logits, state + state.new_tensor([1, 0])


def sources(*lengths: int) -> Tensor:
    """Ids of sentences whose translations have so many tokens before ``EOS``."""
    return torch.tensor([[n, 5, 6] for n in lengths])


def decode_by_formula(model: Model, src: Tensor, max_len: int) -> Tensor:
    """Sentence by sentence, one token after another."""
    rows = []
    for row in src:
        token, state, out = torch.tensor([BOS]), model.start(row[None]), []
        while len(out) < max_len and out[-1:] != [EOS]:
            logits, state = model.step(token, state)
            logits[:, [PAD, BOS, UNK]] = -torch.inf
            token = logits.argmax(-1)
            out.append(token.item())
        rows.append(out)
    longest = max(map(len, rows))
    return torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])


def compare(
    decode: Callable, src: Tensor, max_len: int, what: str, rule: str, special=-99.0
) -> None:
    """Raise Wrong unless the tokens that a model generates are the right ones."""
    got = decode(Model(special), src, max_len)
    wanted = decode_by_formula(Model(special), src, max_len)
    expect.shape(got, tuple(wanted.shape), what, "(B, length of the longest)")
    if not torch.equal(got, wanted):
        raise Wrong(f"in {what} a token is wrong: {rule}.", got)


@PART.stage("(B, at most max_len), token ids")
def shapes(decode: Callable) -> None:
    """Each step gives one token for each sentence, (B,). How do you join the steps?

    Collect the tokens in a list until it is `max_len` long, and return
    `torch.stack(output, 1)`.

    On "floating-point": Which function returns the largest number, and which its place?

    torch.stack(output, 1) => torch.stack(output)
        Yours is (steps, B): rows should be sentences.
    len(output) < max_len => len(output) <= max_len
        One column too many: BOS is no part of the output, and EOS counts as one of the
        max_len tokens.
    """
    for rows, max_len in ((2, 4), (3, 1)):
        got = decode(Model(), sources(*[8] * rows), max_len)
        what = f"the output for {rows} sentences and max_len={max_len}"
        expect.shape(got, (rows, max_len), what, "(B, max_len), if no sentence ends")
        if got.is_floating_point():
            raise Wrong("the output holds floating-point numbers, not token ids.")


@PART.stage("each is the most probable after the ones before it")
def tokens(decode: Callable) -> None:
    """Trace two steps: which token and which state does the second one get?

    Start with BOS and `model.start(src)`. In each step `logits, state =
    model.step(token, state)`, and the argmax is the next token.

    BOS, device => EOS, device
        The first input is not BOS.
    BOS, device => PAD, device
        The first input is not BOS.
    output = [] => output = [token]
        The first column is BOS, which is no part of the output.
    model.step(token, state) => model.step(torch.full_like(token, BOS), state)
        You give every step BOS: feed the last token back.
    logits, state = => logits, _ =
        You give every step the initial state: hand on the new one.
    -torch.inf => 0
        You generate PAD, BOS or UNK: their logits must be below all others, which may
        be negative.
    logits.argmax(-1) => (logits[:, UNK + 1 :].argmin(-1) + UNK + 1)
        You take the least probable token.
    """
    rule = "each is the argmax of the step that got the one before it"
    compare(decode, sources(8, 8), 6, "the output", rule)


@PART.stage("sentences end at different steps, and PAD follows EOS")
def ends(decode: Callable) -> None:
    """What does your function generate for a sentence that has ended, while others go
    on?

    Keep a boolean `finished`, (B,). In each step `token.masked_fill(finished, PAD)`,
    then `finished = finished | (token == EOS)`; stop when all are.

    and not finished.all() =>
        You take max_len steps: stop when every sentence has generated EOS, in this step
        or an earlier one.
    finished.all() => finished.any()
        You stop when the first sentence has generated EOS: wait for all of them.
    torch.stack(output, 1) => torch.stack(output[:-1] if finished.all() else output, 1)
        EOS belongs to the output.
    .masked_fill(finished, PAD) =>
        After EOS your sentences go on: put PAD there.
    """
    what = "the output for sentences of different lengths"
    compare(decode, sources(5, 2, 3), 9, what, "after EOS there is PAD only")


@PART.stage("PAD, BOS and UNK are never generated")
def special_tokens(decode: Callable) -> None:
    """Which tokens can never be part of a sentence, however large their logits?

    Set the logits of PAD, BOS and UNK to -inf before the argmax.

    logits[:, [PAD, BOS, UNK]] = -torch.inf =>
        You generate PAD, BOS or UNK.
    [PAD, BOS, UNK] => [PAD, UNK]
        You generate BOS.
    [PAD, BOS, UNK] => [BOS, UNK]
        You generate PAD.
    [PAD, BOS, UNK] => [PAD, BOS]
        You generate UNK.
    """
    what = "the output of a model that gives PAD, BOS and UNK the largest logits"
    rule = "none of them may be generated"
    compare(decode, sources(5, 3), 9, what, rule, special=5.0)


@PART.stage("one step for each token of the longest sentence, without gradients")
def operation_count(decode: Callable) -> None:
    """How often is `model.step` called for a batch of three sentences? And what does
    autograd record meanwhile?

    Decode all sentences of a batch together, and put `@torch.no_grad()` above the
    function.

    On "steps were taken": How many sentences does one call of `model.step` continue?

    On "for gradients": What turns autograd off for a whole function?

    state = model.start(src) => return decode_by_formula(model, src, max_len)
        You decode sentence by sentence: `model.step` takes the whole batch.
    @torch.no_grad() =>
        `@torch.no_grad()` above the function saves the memory of all steps.
    """
    model = Model()
    decode(model, sources(5, 2, 3), 9)
    if model.steps > 6:
        raise Wrong(f"{model.steps} steps were taken for 6 tokens of 3 sentences.")
    if model.with_gradients:
        raise Wrong("the steps are recorded for gradients, which are not needed.")


@PART.stage("its tensors lie where the ids lie, on a GPU too")
def devices(decode: Callable) -> None:
    """
    torch.full((len(src),), BOS, device=src.device) => torch.full((len(src),), BOS)
        Your first tokens are made on the CPU.
    torch.zeros_like(token, dtype=torch.bool) => torch.zeros(len(src)).bool()
        `finished` is made on the CPU.
    """
    model, src = Model(), sources(5, 2, 3)
    expect.same_device(lambda: decode(model, src, 9), src, model.logits)
