"""Language models and embedders: the protocols, and the adapters behind them."""
