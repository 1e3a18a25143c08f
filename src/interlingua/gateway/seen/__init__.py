"""What is seen from outside: trace, numbers, spans, losses, health."""
