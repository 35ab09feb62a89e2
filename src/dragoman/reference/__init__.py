"""The equations of the Transformer in NumPy, for reading and for tests; no other package imports them."""
