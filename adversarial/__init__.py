"""Attacks that the service must withstand, run apart from the tests."""
