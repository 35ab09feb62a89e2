"""Export to a web page that translates in the browser: `exporter` writes it, with the tables of Python that `patterns` writes."""
