"""``python -m attnbook.course NAME`` repeats an experiment and stores its result."""

import sys

if __name__ == "__main__":
    try:
        from experiments.registry import main
    except ModuleNotFoundError:
        sys.exit(
            "the experiments aren't part of the installed package: they are in the "
            "folder code/experiments of a copy of the project; run this there"
        )
    main()
