"""The engine that runs the model with faster modules, on any device."""
