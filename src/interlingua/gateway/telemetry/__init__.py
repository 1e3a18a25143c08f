"""What is told of what happens: trace, numbers, spans, losses, health."""
