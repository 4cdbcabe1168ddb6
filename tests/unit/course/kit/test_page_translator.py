"""The translator in the page computes what the package does with the same weights."""

import json
from contextlib import ExitStack
from itertools import product

import pytest
import torch
import translator_page

from attnbook.analysis.head_ablation import without_heads
from attnbook.analysis.maps import attention_maps
from attnbook.core.vocabulary import BOS, EOS, UNK
from attnbook.course.kit import page_translator
from attnbook.decoding.beam import beam_search
from attnbook.decoding.sampling import token_probabilities
from attnbook.decoding.steps import token_log_probs
from attnbook.translation.doubts import doubts_about_text, doubts_about_translation
from attnbook.translation.plain_text import plain_text
from browser import NO_BROWSER, open_browser

CAPTIONS = translator_page.captions(15)
RANDOM = translator_page.random_sources(5, 8000)


@pytest.fixture(scope="module")
def translator():
    return page_translator.rounded_translator()


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    with open_browser() as browser:
        if browser is None:
            pytest.skip(NO_BROWSER)
        page = browser.new_page()
        translator_page.load(
            page, translator_page.write_page(tmp_path_factory.mktemp("engine"))
        )
        yield page


def ask(page, code, *given):
    """The value of an expression in which `t` is the translator, `given` a list.

    What `run` returns is what the translator makes of a text.
    """
    script = f"""(given) => {{
        const t = window.attnbook.translator;
        const run = (text, options) => live.atOnce(t.work(text, options));
        return {code};
    }}"""
    return page.evaluate(script, list(given))


def ids(translator, text):
    return [*translator.subwords.encode(text), EOS]


@pytest.mark.parametrize(
    "how", [{}, {"width": 5, "alpha": 1.4}, {"width": 3, "alpha": 0.0}]
)
def test_tokens_are_those_of_pytorch(page, translator, how):
    method = {"method": "beam", **how} if how else {}
    texts = CAPTIONS[:4] if how else CAPTIONS  # a beam costs W times as much
    sources = [ids(translator, text) for text in texts]
    wanted = translator_page.by_pytorch(translator, sources, **how)
    assert translator_page.by_page(page, texts, **method) == wanted
    sources = RANDOM[: 2 if how else None]
    wanted = translator_page.by_pytorch(translator, sources, **how)
    assert translator_page.by_page(page, sources, **method) == wanted


def test_the_second_model_translates_back_as_pytorch_does(page, translator):
    """Its files hold nothing that only figures of the first need."""
    german = translator(CAPTIONS[:12], width=1)
    page.evaluate("window.attnbook.back.load()")
    code = "given.map((text) => live.atOnce(window.attnbook.back.work(text)).text)"
    found = ask(page, code, *german)
    assert found == page_translator.rounded_translator("back")(german, width=1)
    assert ask(page, "window.attnbook.back.glosses === undefined && t.ready")


def test_a_short_beam_is_cut_as_pytorchs(page, translator):
    """At the greatest length only the end is left; not all W need be found."""
    source = ids(translator, CAPTIONS[0])
    for longest in (1, 2, 4):
        wanted = beam_search(translator.model, torch.tensor([source]), longest, 3, 0.6)
        found = ask(
            page,
            "run(given[0], {method: 'beam', width: 3, alpha: 0.6,"
            " longest: given[1]}).beam.finished.map(({tokens, score}) =>"
            " [tokens, score])",
            source,
            longest,
        )
        there = wanted.scores[0] > -torch.inf
        rows = [[i for i in row if i] for row in wanted.ids[0][there].tolist()]
        assert [tokens for tokens, _ in found] == rows
        scores = torch.tensor([score for _, score in found])
        torch.testing.assert_close(scores, wanted.scores[0][there], atol=1e-4, rtol=0)


def test_the_tree_holds_every_hypothesis(page):
    """W live on at each step; every one extends one that lived; the best has ended."""
    tree = ask(
        page,
        """(({beam: {tree, finished}}) => ({
            best: finished[0].tokens,
            steps: tree.map((column) => column.map(({tokens, fate, logProb}) =>
                ({tokens, fate, logProb})))}))(
            run(given[0], {method: "beam", width: 4, alpha: 0.6}))""",
        "People are waiting at the station.",
    )
    alive = [[]]
    for column in tree["steps"]:
        assert len(column) == 8
        assert all(one["tokens"][:-1] in alive for one in column)
        sums = [one["logProb"] for one in column]
        assert sums == sorted(sums, reverse=True)
        alive = [one["tokens"] for one in column if one["fate"] == "kept"]
        assert len(alive) == 4
        ended = [one["tokens"] for one in column if one["fate"] == "finished"]
        assert all(tokens[-1] == EOS for tokens in ended)
    every = [
        one["tokens"] for c in tree["steps"] for one in c if one["tokens"][-1] == 2
    ]
    assert tree["best"] in every


@torch.no_grad()
def test_probabilities_and_attention_are_those_of_pytorch(page, translator):
    text = "A woman in a red hat is reading a book."
    source = torch.tensor([ids(translator, text)])
    found = json.loads(
        ask(
            page,
            """JSON.stringify((({tokens, logProbs, steps, state, text}) => ({
                tokens, logProbs, maps: state.maps, text,
                steps: steps.map((s) => [...s])}))(run(given[0])))""",
            text,
        )
    )
    assert found["text"] == translator([text], width=1)[0]
    shifted = torch.tensor([[BOS, *found["tokens"][:-1]]])
    wanted = token_log_probs(translator.model(source, shifted))[0]  # (T, V)
    said = [EOS, *range(UNK + 1, wanted.shape[1])]  # JSON has no −∞
    steps = torch.tensor([[step[i] for i in said] for step in found["steps"]])
    torch.testing.assert_close(steps, wanted[:, said], atol=2e-4, rtol=0)
    own = wanted.gather(1, torch.tensor(found["tokens"])[:, None])[:, 0]
    torch.testing.assert_close(torch.tensor(found["logProbs"]), own, atol=1e-4, rtol=0)
    names = {
        "encoder": "encoder.{}.attention",
        "decoder": "decoder.{}.self_attention",
        "cross": "decoder.{}.cross_attention",
    }
    maps = attention_maps(translator.model, source, shifted)
    for kind, name in names.items():
        for n, heads in enumerate(found["maps"][kind]):
            for head, ours in zip(maps[name.format(n)][0], heads, strict=True):
                for wanted, row in zip(head, ours["weights"], strict=True):
                    got = torch.tensor(row + [0.0] * (len(wanted) - len(row)))
                    torch.testing.assert_close(got, wanted, atol=1e-4, rtol=0)


def test_attention_to_the_source_is_switched_off_as_in_pytorch(page, translator):
    text = CAPTIONS[1]
    code = "[...run(given[0], {attends: false}).steps[0]].slice(4)"
    source = torch.tensor([ids(translator, text)])

    def first():
        with torch.no_grad():
            return token_log_probs(
                translator.model(source, torch.tensor([[BOS]]))[0, 0]
            )[UNK + 1 :]

    with ExitStack() as cut:
        for layer in translator.model.decoder:
            attention = layer.cross_attention
            cut.enter_context(without_heads(attention, range(attention.n_heads)))
        wanted = first()
    found = torch.tensor(ask(page, code, text), dtype=torch.double)
    torch.testing.assert_close(found, wanted.double(), atol=2e-4, rtol=0)
    assert (wanted - first()).abs().max() > 1e-2


SAMPLING = [(1.0, None, 1.0), (0.3, None, 1.0), (2.0, 7, 1.0), (1.0, 5, 0.6), (1, 1, 1)]


@pytest.mark.parametrize(("temperature", "top_k", "top_p"), SAMPLING)
def test_sampling_has_the_packages_probabilities(page, temperature, top_k, top_p):
    drawn = torch.randn(50, generator=torch.Generator().manual_seed(0)).double()
    wanted = token_probabilities(drawn, temperature, top_k, top_p)
    options = {"temperature": temperature, "topP": top_p}
    options |= {"topK": top_k} if top_k else {}
    rows = ask(
        page, "live.tokenProbabilities(given[0], given[1])", drawn.tolist(), options
    )
    found = torch.zeros_like(wanted)
    for row in rows:
        found[row["id"]] = row["p"]
    torch.testing.assert_close(found, wanted)
    counts = ask(
        page,
        """(() => {
            const choose = live.sampler(given[1], live.randomNumbers(3));
            const counts = Array(50).fill(0);
            for (let i = 0; i < 4000; i++) counts[choose(given[0])] += 1 / 4000;
            return counts;
        })()""",
        drawn.tolist(),
        options,
    )
    assert (torch.tensor(counts) - wanted).abs().max() < 0.03


TEXTS = [
    *CAPTIONS[:5],
    "A  penguin\tplays chess, doesn't it?  (Two—three!) $5+3 <eos> a_b ▁x a▁",
    "Schrödinger's naïve cafe\u0301 …",
    "THE DOG RUNS IN THE PARK",
    "漢字 dog 🐕🦺",
    "The committee rejected the proposal.",
    "«x» ‘y’ “z” \u00a0end",
    "A woman’s dog — wet – and a man &amp; a &quot;cat&quot; &dogs; </textarea> Ｘ ﬁ",
    "so\u00adft\u200b \u200fx\ufeff\x00\x07 \u2028y\u2029\x1cz ❤\ufe0f \u3164\u2800",
    "A man \ue000 \u0378 \u0600 x\u0328 👩\u200d🚒",
    "\ufefftwo dogs\ufeffrun",
    "Ein Hund rennt durch den Schnee.",
    "Ja.",
    "Hello.",
    "I am hungry.",
    "Peter, 12 and the 3rd",
    "Un chien court dans la neige.",
    "There are 3.5 dogs, 1,000 cats and ３ birds at 11:27.",
    "A dog runs and " * 15,
]


def test_subwords_and_doubts_are_the_packages(page, translator):
    subwords = translator.subwords
    for text in TEXTS:
        found = ask(page, "t.subwords.split(given[0])", text)
        clean = plain_text(text, translator.usual)
        assert ask(page, "t.subwords.plain(given[0])", text) == clean
        assert [one["id"] for one in found] == subwords.encode(clean), text
        known = [one["piece"] for one in found if one["id"] != UNK]
        pieces = [p for p in subwords.pieces(clean) if p != "<unk>"]
        assert known == pieces
        doubts = ask(page, "t.subwords.doubts(given[0])", text)
        assert doubts == doubts_about_text(clean, subwords, translator.usual)
    sequences = translator_page.random_sources(30, 8000, seed=1)
    joined = ask(page, "given[0].map((ids) => t.subwords.join(ids))", sequences)
    assert joined == [subwords.decode(ids) for ids in sequences]


OUTPUTS = ["ein Hund ein Hund ein Hund", "der Hund", "ha ha ha ha", "1 1 1 1 1 1"]


def test_doubts_about_translations_are_the_packages(page, translator):
    code = "t.subwords.translationDoubts(...given)"
    for text in ("A dog.", "a dog, a dog, a dog, a dog", "A 🐶."):
        for given in product(OUTPUTS, (-0.7, -0.9, -9.0), ("greedy", "beam")):
            rest = (translator.subwords, translator.usual)
            wanted = doubts_about_translation(text, *given, *rest)
            assert ask(page, code, text, *given) == wanted
    assert ask(page, code, "A dog.", "Ein Hund.", -9.0, "sample") == []


def test_the_page_is_as_sure_of_a_translation_as_pytorch(page, translator):
    texts = ["A dog runs through the snow.", "I love you.", "What time is it?"]
    code = "given.map((x) => run(x)).map((r) => r.logProb / r.tokens.length)"
    wanted = [log_prob for _, log_prob in translator(texts, width=1, scored=True)]
    assert ask(page, code, *texts) == pytest.approx(wanted, abs=1e-4)
    limit = translator.usual["unsure"]["greedy"]
    assert [log_prob < limit for log_prob in wanted] == [False, True, True]
