"""HTML: its text split into segments, and translations put between its tags."""
