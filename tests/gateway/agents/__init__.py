"""Real coding agents against the gateway, with scripted models of other vendors behind it."""
