"""Export to ONNX: `convert` makes the two graphs, and `exporter` writes and runs them."""
