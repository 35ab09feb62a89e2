"""The engine CTranslate2: `convert` a bundle by its `spec`, and translate with it in `engine`."""
