"""An HTML page that explains one translation."""
