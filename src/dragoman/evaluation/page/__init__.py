"""The page of a comparison: `render` fills the template."""
