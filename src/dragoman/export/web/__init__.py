"""Export to a web page that translates in the browser: `exporter` writes it; its modules are in JavaScript."""
