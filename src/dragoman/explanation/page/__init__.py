"""The inspector's page: `data` is what it shows, and `render` fills the template."""
