"""Export to Hugging Face transformers, and import of Marian models."""
