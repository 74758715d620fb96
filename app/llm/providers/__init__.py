"""Adapters of models that run elsewhere. Only here is a provider's library known."""
