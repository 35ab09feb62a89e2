"""The web page of the server: its files, and requests that only the page sends."""
