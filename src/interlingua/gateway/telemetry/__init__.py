"""Telemetry: trace, metrics, spans, losses, health."""
