"""Processes, sockets and client connections: how a gateway starts, serves and stops."""
