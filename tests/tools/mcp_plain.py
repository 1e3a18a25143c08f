"""A small MCP server of an earlier revision, in plain Python, so that it is there at once: for
tests that ask what becomes of its process. `mcp_server` has everything else."""

import json
import os
import sys

NOTHING = {"type": "object", "properties": {}}
TOOLS = {
    "echo": {"type": "object", "properties": {"text": {"type": "string"}}},
    "add": NOTHING,
    "die": NOTHING,
    "Who-Am.I": NOTHING,
}
NO_METHOD = {"code": -32601, "message": "Method not found"}


def called(name, arguments):
    if name == "die":
        os._exit(3)
    text = str(os.getpid()) if name == "Who-Am.I" else arguments.get("text", "")
    return {"content": [{"type": "text", "text": text}]}


def answered(method, params):
    if method == "initialize":
        return {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "plain", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [{"name": name, "inputSchema": schema} for name, schema in TOOLS.items()]}
    if method == "tools/call":
        return called(params["name"], params.get("arguments") or {})
    return None


def main():
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" not in asked:
            continue
        result = answered(asked["method"], asked.get("params") or {})
        collected = {"error": NO_METHOD} if result is None else {"result": result}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **collected}), flush=True)


if __name__ == "__main__":
    main()
