"""How fast does our Transformer train, what makes it fast, and how fast are others?

    python benchmarks/train_speed.py                    # on what is here: GPU or CPU
    python benchmarks/train_speed.py --work base --kinds eager compiled
    python benchmarks/train_speed.py --device cpu --small --json speed.json

Each step of making it faster is measured beside the others, in turns: bf16, a fused
optimizer, a padded vocabulary, batches of few shapes, CUDA graphs, ``torch.compile``.
``torch.nn.Transformer`` and Hugging Face's Marian (if ``transformers`` is installed)
have the same sizes, sentences, loss, optimizer and dropout.
"""

from speed.report import main

if __name__ == "__main__":
    main()
