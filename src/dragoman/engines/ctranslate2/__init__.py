"""The engine that runs CTranslate2."""
