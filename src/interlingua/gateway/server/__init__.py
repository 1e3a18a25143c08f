"""Processes and sockets: how clients' connections come in, and how a gateway starts and goes."""
