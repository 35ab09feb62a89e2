"""Translate greedily with an ONNX export, without dragoman.

python examples/onnx_greedy.py DIRECTORY TEXT
python examples/onnx_greedy.py DIRECTORY TEXT LANGUAGE    # a model with several: the language to translate into
"""

import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import tokenizers

if len(sys.argv) not in (3, 4) or not Path(sys.argv[1], "encoder.onnx").is_file():
    sys.exit(f"usage: python {sys.argv[0]} DIRECTORY TEXT [LANGUAGE], where DIRECTORY is an export of dragoman to ONNX")
directory, text, *target_language = Path(sys.argv[1]), *sys.argv[2:]
config = json.loads((directory / "config.json").read_text())
languages = config.get("languages", {})
if languages.keys().isdisjoint(target_language) and (languages or target_language):
    sys.exit(f"choose the language to translate into: {', '.join(languages) or 'there is only one, so leave it out'}")
tokenizer_files = [
    json.loads((directory / f"{side}.tokenizer.json").read_text("utf-8")) for side in ("source", "target")
]
if languages:  # their tokens are in front of what the tokenizer splits
    tokenizer_files = [file["tokenizer"] for file in tokenizer_files]
source, target = (tokenizers.Tokenizer.from_str(json.dumps(file["tokenizer"])) for file in tokenizer_files)
encoder, decoder = (onnxruntime.InferenceSession(directory / f"{name}.onnx") for name in ("encoder", "decoder"))

source_ids = [languages[code] for code in target_language] + source.encode(text, add_special_tokens=False).ids
ids = [*source_ids[: config["max_length"] - 1], config["source"]["eos"]]
memory_names = ["memory_keys", "memory_values", "memory_mask"]
state = dict(zip(memory_names, encoder.run(memory_names, {"source": np.array([ids])}), strict=True))
layers, heads, d_head = config["cache"]
state["keys"] = state["values"] = np.zeros((layers, 1, heads, 0, d_head), np.float32)  # no tokens yet
bos, eos, pad, unk = (config["target"][name] for name in ("bos", "eos", "pad", "unk"))

tokens = [bos]
limit = min(2 * len(ids) + 10, config["max_length"])  # most tokens of a translation, eos included
while tokens[-1] != eos and len(tokens) < limit:
    inputs = {**state, "tokens": np.array(tokens[-1:])}
    logits, state["keys"], state["values"] = decoder.run(["logits", "new_keys", "new_values"], inputs)
    logits[0, [bos, pad, unk, *languages.values()]] = -np.inf
    tokens.append(int(logits[0].argmax()))
print(target.decode([token for token in tokens if token not in (bos, eos)]).strip())
