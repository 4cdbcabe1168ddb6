"""Multi30k: the copy on this machine, downloads that fail, and what the files hold."""

import gzip
import hashlib
import http.server
import threading

import pooch
import pytest
import requests

from attnbook.data import multi30k
from attnbook.data.multi30k import DATA_VARIABLE as DATA
from attnbook.data.multi30k import (
    LANGUAGES,
    SHA256,
    SPLITS,
    available,
    clean,
    sentences,
)

LINES = ["Ein Mann\u00a0geht. ", "Zwei  Männer", "a\u2028b"]
FILE = gzip.compress(("\n".join(LINES) + "\n").encode(), mtime=0)
CLEAN = ["Ein Mann geht.", "Zwei Männer", "a b"]


def checksum(content):
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache folder of our own, no copy named, and one small file expected."""
    monkeypatch.setenv(DATA, "")  # as if there were none
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "cache" / name)
    monkeypatch.setitem(SHA256, "val.de", checksum(FILE))
    return tmp_path / "cache" / "attnbook" / "multi30k"


@pytest.fixture
def copy(tmp_path, monkeypatch, cache):
    """A folder named as the copy on this machine, with the small file in it."""
    folder = tmp_path / "copy"
    folder.mkdir()
    (folder / "val.de.gz").write_bytes(FILE)
    monkeypatch.setenv(DATA, str(folder))
    return folder


@pytest.fixture
def server(monkeypatch):
    """A server on this machine in the place of the network: (answer, asked)."""
    answer, asked = {"content": FILE, "length": len(FILE), "status": 200}, []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(answer["status"])
            self.send_header("Content-Length", str(answer["length"]))
            self.end_headers()
            self.wfile.write(answer["content"])

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        threading.Thread(target=running.serve_forever, args=(0.01,)).start()
        address = f"http://127.0.0.1:{running.server_port}/raw/"
        monkeypatch.setattr(multi30k, "URLS", (address,))
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield answer, asked
        running.shutdown()


def files(folder):
    return sorted(path.name for path in folder.glob("**/*") if path.is_file())


def test_a_copy_is_read_and_the_network_left_alone(copy, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a request")

    monkeypatch.setattr(requests.Session, "request", refuse)
    assert sentences("val", "de") == CLEAN
    assert files(copy) == ["val.de.gz"]


def test_a_download_is_kept_and_not_repeated(cache, server):
    _, asked = server
    assert sentences("val", "de") == CLEAN
    assert files(cache) == ["val.de.gz"]
    assert sentences("val", "de") == CLEAN
    assert asked == ["/raw/val.de.gz"]


def test_the_mirror_is_asked_if_the_first_address_fails(cache, server, monkeypatch):
    _, asked = server
    (url,) = multi30k.URLS
    retrieve = pooch.retrieve

    def first_fails(address, *rest):
        if address.startswith("first:"):
            asked.append(address)
            raise requests.ConnectionError("no such host")
        return retrieve(address, *rest)

    monkeypatch.setattr(pooch, "retrieve", first_fails)
    monkeypatch.setattr(multi30k, "URLS", ("first:", url))
    assert sentences("val", "de") == CLEAN
    assert asked == ["first:val.de.gz", "/raw/val.de.gz"]


def test_what_stops_a_download_is_told_for_each_address(cache, monkeypatch):
    def fail(address, *_):
        raise requests.Timeout(f"no answer from {address}, although asked again")

    monkeypatch.setattr(pooch, "retrieve", fail)
    with pytest.raises(ValueError, match=r"val\.de\.gz could not be downl") as output:
        sentences("val", "de")
    where = "raw.githubusercontent.com (Timeout) nor cdn.jsdelivr.net (Timeout)"
    assert where in str(output.value)
    assert "asked again" not in str(output.value)


@pytest.mark.parametrize("old", [b"", FILE[:9], FILE[:-1] + b"x"])
def test_a_spoiled_file_in_the_cache_is_downloaded_anew(cache, server, old):
    cache.mkdir(parents=True)
    (cache / "val.de.gz").write_bytes(old)
    assert sentences("val", "de") == CLEAN
    assert (cache / "val.de.gz").read_bytes() == FILE


@pytest.mark.parametrize(
    "change",
    [
        {"content": FILE[:-3], "length": len(FILE) - 3},  # another file
        {"content": FILE[:20]},  # the line breaks half-way
        {"status": 404, "content": b"", "length": 0},
    ],
    ids=["wrong checksum", "half", "not found"],
)
def test_a_download_that_fails_leaves_nothing(cache, server, change):
    server[0].update(change)
    with pytest.raises(
        ValueError, match=r"val\.de\.gz could not be downloaded"
    ) as output:
        sentences("val", "de")
    assert f"set {DATA} to its folder" in str(output.value)
    assert "--config toy" in str(output.value)
    assert not files(cache)
    server[0].update(content=FILE, length=len(FILE), status=200)
    assert sentences("val", "de") == CLEAN


def test_a_copy_with_another_checksum_is_refused_and_stays(copy):
    (copy / "val.de.gz").write_bytes(b"mine")
    message = r"val\.de\.gz is not the expected file \(its sha256 differs\)"
    with pytest.raises(ValueError, match=message):
        sentences("val", "de")
    assert (copy / "val.de.gz").read_bytes() == b"mine"


def test_a_copy_that_is_not_there_is_named(tmp_path, cache, monkeypatch):
    monkeypatch.setenv(DATA, str(tmp_path / "nowhere"))
    with pytest.raises(ValueError, match=rf"{DATA} is '.*nowhere', but has no"):
        sentences("val", "de")
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize(
    "content",
    [FILE[:-5], b"no gzip at all", gzip.compress(b"Stra\xdfe")],
    ids=["cut", "no gzip", "no UTF-8"],
)
def test_a_file_that_cannot_be_read_is_named(copy, monkeypatch, content):
    (copy / "val.de.gz").write_bytes(content)
    monkeypatch.setitem(SHA256, "val.de", checksum(content))
    with pytest.raises(ValueError, match=r"val\.de\.gz cannot be read .*delete it"):
        sentences("val", "de")


def test_white_space_of_all_kinds_is_one_space():
    assert clean(" a\u00a0 b\tc\u2003d\r") == "a b c d"
    assert clean("\u00a0") == ""


def test_all_files_must_be_there_to_be_available(copy):
    for language in ("en", "de"):
        for split in SPLITS:
            assert not available()
            (copy / f"{split}.{language}.gz").write_bytes(b"")
    assert available()
    assert not available(LANGUAGES)
    assert not available(["fr"])


@pytest.mark.parametrize(("split", "lines"), [("train", 29_000), ("val", 1_014)])
def test_the_files_are_as_long_as_their_authors_say(requires_data, split, lines):
    found = sentences(split, "de")
    assert len(found) == lines
    assert found == list(map(clean, found))
