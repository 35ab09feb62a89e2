"""The engine that runs the model in plain PyTorch, on any device."""
