"""How long does a recurrent network remember its first input?"""

from __future__ import annotations

from attnbook.course.kit.experiments import experiment
from attnbook.toy.recall_task import train_recall

LENGTHS = (4, 8, 16, 32)


@experiment("recall")
def recall_grid() -> dict:
    """RNN and GRU, trained on one length and on mixed lengths, three seeds.

    Returns:
        "runs": for each kind, training, length and seed, the two accuracies.
    """
    trainings = [(str(n), (n,), steps) for steps in (300, 1500) for n in LENGTHS]
    trainings.append(("mixed", LENGTHS, 1500))
    runs = []
    for kind in ("rnn", "gru"):
        for trained_on, lengths, steps in trainings:
            for seed in (0, 1, 2):
                about = dict(kind=kind, trained_on=trained_on, steps=steps, seed=seed)
                found = train_recall(kind, lengths, steps, seed)
                runs += [{**about, **run} for run in found]
                shares = ", ".join(f"{100 * run['first']:.0f}" for run in found)
                print(f"  {about}: first {shares} %", flush=True)
    return {"runs": runs}
