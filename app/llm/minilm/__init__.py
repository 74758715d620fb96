"""all-MiniLM-L6-v2, converted from its published weights to a small ONNX file."""
