from attnbook.course.kit.tables import stored_runs


def test_runs_are_those_whose_entries_are_as_given():
    runs = stored_runs("recall")
    some = stored_runs("recall", kind="gru", steps=300)
    assert some
    assert some == [run for run in runs if (run["kind"], run["steps"]) == ("gru", 300)]
