"""Export to Argos Translate and LibreTranslate."""
