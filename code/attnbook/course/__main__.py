"""``python -m attnbook.course NAME`` repeats an experiment and stores its result."""

from attnbook.course.kit.experiments import main

if __name__ == "__main__":
    main()
