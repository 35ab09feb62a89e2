"""Export to CTranslate2: `exporter` writes the converted model of the engine, and a program that uses it."""
