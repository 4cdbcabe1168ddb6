"""Half an hour on a GPU: what is tried first, packed, and kept of a stop."""

import json
import zipfile

import pytest
import torch

import half_hour
import packing
from attention_costs import DTYPES, FORMS, costs
from growing import begun, part_of, write_growing
from packing import Packer, pack, unpack
from smoke import choose


def way(speed, *losses):
    return {"tokens_per_second": speed, "losses": losses}


SHAPES, PLAIN = way(3, 5, 4), way(2)


@pytest.mark.parametrize(
    ("ways", "best"),
    [
        ({"graphs": way(9, 5, 4.01), "shapes": SHAPES, "plain": PLAIN}, "graphs"),
        ({"graphs": way(9, 5, 4.1), "shapes": SHAPES, "plain": PLAIN}, "shapes"),
        ({"graphs": way(9, 5, 4), "plain": PLAIN}, "plain"),
        ({"graphs_fp32": way(9, 5), "shapes": SHAPES, "plain": PLAIN}, "shapes"),
        ({"graphs": way(2, 5), "graphs_fp32": way(9), "shapes": SHAPES}, "graphs_fp32"),
    ],
    ids=["same", "another loss", "nothing to compare", "graphs failed", "fp32"],
)
def test_a_recorded_way_is_taken_only_if_it_computes_the_same(ways, best):
    assert choose(ways) == best


def test_without_a_way_that_works_no_seed_is_trained(tmp_path, capsys):
    for runs in (None, {}):
        if runs is not None:
            (tmp_path / "smoke.json").write_text(json.dumps({"runs": runs}))
        with pytest.raises(SystemExit) as end:
            half_hour.main(["seeds", "--out", str(tmp_path)])
        assert end.value.code == 1
    told = capsys.readouterr().err
    assert "run the command smoke first" in told
    assert "no way of training works here" in told


def test_the_seeds_are_trained_in_the_way_that_was_chosen(tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(half_hour.gpu, "main", calls.append)
    ways = {"graphs": way(9, 5), "shapes": way(3, 5)}
    (tmp_path / "smoke.json").write_text(json.dumps({"runs": ways}))
    for command in half_hour.COMMANDS:
        half_hour.main(
            [command, "--out", str(tmp_path), "--set", "seed=7", "--pack", "x"]
        )
    parts = [x for call in calls for x in call[call.index("--part") + 1 :]]
    assert [p for p in parts if p in half_hour.gpu.PARTS] == [
        *(p for parts in half_hour.COMMANDS.values() for p in parts)
    ]
    entries = calls[1][calls[1].index("--set") + 1 :]
    assert {"few_shapes=True", "cuda_graphs=True", *half_hour.SEEDS} < {*entries}
    assert entries[-1] == "seed=7"
    assert all("--pack" in call for call in calls)


def test_the_way_may_come_from_a_packed_file(tmp_path, monkeypatch):
    calls, here, there = [], tmp_path / "here", tmp_path / "there"
    monkeypatch.setattr(half_hour.gpu, "main", calls.append)
    here.mkdir()
    (here / "smoke.json").write_text(json.dumps({"runs": {"shapes": way(3, 5)}}))
    pack(here, tmp_path / "results.zip")
    begin = ["--out", str(there), "--unpack", str(tmp_path / "results.zip")]
    half_hour.main(["seeds", *begin])
    assert "few_shapes=True" in calls[0]


def write(folder, files):
    for name, size in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(torch.rand(size).numpy().tobytes()[:size])


WEIGHTS = "{}/seed_{}/model/weights.safetensors"
FILES = {
    **{"en_de.json": 500, "en_de/seed_0/metrics.jsonl": 300, "en_de/seed_0.log": 9},
    **{WEIGHTS.format(part, i): 40_000 for part in ("en_de", "de_en") for i in (0, 1)},
    "speed/tiny_eager.json": 45_000,
    **{"en_de/seed_0/last.safetensors": 9, "en_de/seed_0/epochs/0001.safetensors": 9},
    **{"en_de/seed_0/lock": 0, "data/train.en": 9},
}


def test_a_pack_holds_results_without_states_and_as_many_weights_as_fit(tmp_path):
    """First all that is no weight, then those of each first seed."""
    folder, file = tmp_path / "run", tmp_path / "back" / "results.zip"
    write(folder, FILES)
    limit = 135_000
    left = [WEIGHTS.format(part, 1) for part in ("de_en", "en_de")]
    assert pack(folder, file, limit) == left
    assert file.stat().st_size <= limit
    names = {*zipfile.ZipFile(file).namelist()}
    states = {*list(FILES)[-4:]}
    assert names == {*FILES, packing.LIST} - states - {*left}
    other = tmp_path / "other"
    write(other, {"en_de.json": 5})
    unpack(file, other)
    assert (other / "en_de.json").stat().st_size == 5  # what is there stays
    for name in names - {"en_de.json", packing.LIST}:
        assert (other / name).read_bytes() == (folder / name).read_bytes()
    (tmp_path / "bad").write_text("no archive")
    with pytest.raises(ValueError, match="cannot be unpacked"):
        unpack(tmp_path / "bad", other)


def test_it_is_packed_again_if_something_is_new_but_not_all_the_time(
    tmp_path, monkeypatch
):
    now, packed = 0.0, []
    monkeypatch.setattr(packing.time, "monotonic", lambda: now)
    monkeypatch.setattr(packing, "pack", lambda *_: packed.append(now))
    packer = Packer(tmp_path, tmp_path / "x.zip")
    for now, new in ((0.0, "a"), (1.0, "b"), (11.0, "c"), (22.0, ""), (33.0, "d")):  # noqa: B007
        write(tmp_path, dict.fromkeys(new, 1))
        packer()
    assert packed == [0.0, 11.0, 33.0]
    write(tmp_path, {"e": 1})
    packer(now=True)
    assert packed[3:] == [33.0]
    monkeypatch.setattr(packing, "contents", lambda _: [tmp_path / "deleted"])
    packer(now=True)  # by a program, since the folder was listed
    assert len(packed) == 4
    Packer(tmp_path, None)(now=True)


def test_a_stop_leaves_what_was_measured(tmp_path):
    file = tmp_path / "speed.json"

    def stopped():
        yield {"machine": "this", "rows": [1]}
        yield {"machine": "this", "rows": [1, 2]}
        raise KeyboardInterrupt

    assert begun(file, "this") == {}
    with pytest.raises(KeyboardInterrupt):
        write_growing(file, stopped())
    assert begun(file, "this")["rows"] == [1, 2]
    assert begun(file, "another") == {}
    assert not file.exists()
    write_growing(file, [{"rows": [1, 2, 3]}])
    assert json.loads(file.read_text()) == {"rows": [1, 2, 3]}
    assert not part_of(file).exists()


def test_costs_of_attention_grow_row_by_row_and_none_is_measured_twice():
    device, lengths = torch.device("cpu"), (8, 64)
    tables = [[*values["rows"]] for values in costs(device, lengths)]
    whole = tables[-1]
    assert [len(rows) for rows in tables] == [*range(len(whole) + 1)]
    assert len(whole) == len(lengths) * len(DTYPES["cpu"]) * len(FORMS) * 2
    heads, size = 8, 4
    for row in whole:
        scores = heads * row["n"] ** 2 * size
        held = row["form"] == "eager" and row["n"] == 64
        assert (row["bytes"] > scores) or not held
    assert [values["rows"] for values in costs(device, lengths, whole)] == [whole]
