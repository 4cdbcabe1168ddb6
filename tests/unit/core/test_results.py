"""Stored results are found by name."""

import pytest

from attnbook.core import results


def test_a_result_that_is_not_there_is_answered_by_all_names(tmp_path, monkeypatch):
    (tmp_path / "trial.json").write_text('{"runs": [1, 2]}')
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    assert results.load("trial") == {"runs": [1, 2]}
    with pytest.raises(ValueError, match="no stored result 'other'; there are trial"):
        results.load("other")
