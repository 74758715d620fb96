"""Measures answers on labelled questions: `python -m evals --data FOLDER`."""
