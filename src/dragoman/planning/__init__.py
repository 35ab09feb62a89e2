"""From text and a budget to a recipe."""
