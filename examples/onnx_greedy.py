"""Translate greedily with an export to ONNX, without dragoman: python examples/onnx_greedy.py DIRECTORY TEXT."""

import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import tokenizers

directory, text = Path(sys.argv[1]), sys.argv[2]
config = json.loads((directory / "config.json").read_text())
described = [json.loads((directory / f"{side}.tokenizer.json").read_text("utf-8")) for side in ("source", "target")]
source, target = (tokenizers.Tokenizer.from_str(json.dumps(each["tokenizer"])) for each in described)
encoder, decoder = (onnxruntime.InferenceSession(directory / f"{part}.onnx") for part in ("encoder", "decoder"))

ids = [*source.encode(text, add_special_tokens=False).ids, config["source"]["eos"]]
memory = encoder.run(["memory_keys", "memory_values", "memory_mask"], {"source": np.array([ids])})
state = dict(zip(["memory_keys", "memory_values", "memory_mask"], memory, strict=True))
layers, heads, d_head = config["cache"]
state["keys"] = state["values"] = np.zeros((layers, 1, heads, 0, d_head), np.float32)
bos, eos, pad, unk = (config["target"][name] for name in ("bos", "eos", "pad", "unk"))
tokens = [bos]
while tokens[-1] != eos and len(tokens) < min(2 * len(ids) + 10, config["max_length"]):
    step = {**state, "tokens": np.array(tokens[-1:])}
    logits, state["keys"], state["values"] = decoder.run(["logits", "new_keys", "new_values"], step)
    logits[0, [bos, pad, unk]] = -np.inf
    tokens.append(int(logits[0].argmax()))
print(target.decode([token for token in tokens if token not in (bos, eos)]).strip())
