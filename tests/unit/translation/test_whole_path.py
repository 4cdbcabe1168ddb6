"""From texts to BLEU: subwords, updates, a kill, the rest, average, translation."""

import json
import math
from itertools import pairwise

from small_runs import LOG_EVERY, lines_of, small_config, train_until, write_texts

from attnbook.translation import command_line
from attnbook.translation.bleu_score import corpus_bleu
from attnbook.translation.configs import to_json
from attnbook.translation.corpora import load_texts
from attnbook.translation.run_folder import read_metrics
from attnbook.translation.training_state import read_state
from attnbook.translation.translator import Translator


def whole_path(config, folder, sentence, capsys):
    """Train as a reader would, with a kill on the way; return what came out."""
    (folder / "config.json").write_text(to_json(config))
    run = folder / "run"
    arguments = ["--config", str(folder / "config.json"), "--out", str(run)]
    killed = train_until(2, *arguments)
    assert killed.returncode == 9, killed.stderr
    assert not (run / "results.json").exists()
    kept = read_state(run / "last.safetensors")[1]["step"]
    logged = read_metrics(run / "metrics.jsonl")[-1]["step"]
    assert 0 <= logged - kept <= LOG_EVERY
    command_line.main(["train", *arguments])
    shown = capsys.readouterr().out
    steps = [line["step"] for line in lines_of(run) if "loss" in line]
    assert steps == sorted(set(steps))  # nothing twice, and nothing left out
    assert max(b - a for a, b in pairwise(steps)) <= LOG_EVERY
    command_line.main(["translate", "--model", str(run), sentence])
    output = capsys.readouterr().out
    assert output == Translator(run / "model")([sentence])[0] + "\n"
    losses = [line["loss"] for line in lines_of(run) if "loss" in line]
    assert losses[-1] < losses[0] < 1.3 * math.log(config.vocab_size)
    results, hypotheses = (
        json.loads((run / f"{name}.json").read_text(encoding="utf-8"))
        for name in ("results", "hypotheses")
    )
    return results, hypotheses, shown


def test_from_a_folder_of_texts(tmp_path, capsys):
    data = write_texts(tmp_path / "data", {"train": 600, "val": 8, "test": 8})
    config = small_config(data, d_model=64, d_ff=64, max_epochs=2)
    results, output, shown = whole_path(
        config, tmp_path, "the dog sees a farmer", capsys
    )
    assert results["updates"] >= 50
    for name, score in results["scores"]["test"].items():
        how, case = name.split(", ")
        wanted = corpus_bleu(
            output["test"][how], load_texts(config, "test").target, case == "lowercased"
        )
        assert score["bleu"] == wanted.bleu
        assert f"test, {name}: BLEU {wanted.bleu:.1f}" in shown
