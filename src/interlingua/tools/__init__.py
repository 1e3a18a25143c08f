"""Tools: registration, validation, execution, workspace files and MCP servers."""
