"""Export to a web page that translates in the browser."""
