"""The inspector's page: `data` and `reasons` are what it shows, and `render` fills the template.

The same page is a self-contained file, or is served by `dragoman.serving.inspector`; then `controls.js` asks for data.
"""
