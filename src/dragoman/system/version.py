"""The version of dragoman."""

__version__ = "0.1.0"
