"""Export to a web page that translates in the browser.

`exporter` writes it, and `patterns` its modules that come from tables in Python; the other modules are in JavaScript.
"""
