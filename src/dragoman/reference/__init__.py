"""The equations of the Transformer in NumPy, to read and to test against; nothing that runs imports them."""
