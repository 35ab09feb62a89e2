"""The engine for float32 and int8 on CPUs with oneDNN."""
