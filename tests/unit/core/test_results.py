"""Results are stored whole, and found again."""

import json
import math

import pytest

from attnbook.core import results


def test_results_are_stored_whole_and_found_again(tmp_path, monkeypatch):
    path = results.save("trial", {"runs": [1, 2]}, 12.3, tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["trial.json"]
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    found = results.load("trial")
    assert found == json.loads(path.read_text())
    assert found["command"] == "python -m attnbook.course trial"
    assert found["runs"] == [1, 2]
    assert found["seconds"] == 12
    with pytest.raises(ValueError, match="no stored result 'other'; there are trial"):
        results.load("other")


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_result_that_is_not_finite_is_not_stored(tmp_path, number):
    with pytest.raises(ValueError, match=r"trial\.json.*runs.*NaN or infinite"):
        results.save("trial", {"runs": [{"loss": 1.0}, {"loss": number}]}, 1, tmp_path)
    assert not (tmp_path / "trial.json").exists()
