"""An HTML page that compares two translators."""
