"""The engine for float32 on CPUs with oneDNN."""
