"""The other paths of the gateway: models, health, metrics, OpenAPI."""
