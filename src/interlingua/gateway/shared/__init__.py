"""Used by several packages of the gateway: exchanges, fronts, refusals, bodies."""
