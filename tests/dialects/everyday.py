"""Files that lie on every disk and are no conversations, as JSON or text, made up."""

from __future__ import annotations

import json
from typing import Any

VALUES: dict[str, Any] = {
    "package.json": {
        "name": "garden",
        "version": "1.0.0",
        "scripts": {"test": "vitest"},
        "dependencies": {"openai": "^6.0.0"},
    },
    "package-lock.json": {
        "name": "garden",
        "lockfileVersion": 3,
        "packages": {"node_modules/a": {"version": "1.0.0", "resolved": "https://example.com/a"}},
    },
    "tsconfig.json": {"compilerOptions": {"strict": True}, "include": ["src"]},
    "openapi.json": {
        "openapi": "3.1.0",
        "info": {"title": "Chat", "version": "1"},
        "paths": {"/messages": {"post": {"requestBody": {"content": {}}}}},
        "components": {"schemas": {"Message": {"properties": {"role": {"type": "string"}}}}},
    },
    "map.geojson": {
        "type": "FeatureCollection",
        "features": [
            {
                "type": "Feature",
                "geometry": {"type": "Point", "coordinates": [8.5, 47.4]},
                "properties": {"name": "Lake"},
            }
        ],
    },
    "schema.json": {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"messages": {"type": "array"}, "model": {"type": "string"}},
    },
    "notebook.ipynb": {
        "cells": [{"cell_type": "code", "source": ["1 + 1"], "outputs": [], "metadata": {}}],
        "metadata": {"kernelspec": {"name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    },
    "page.har": {
        "log": {
            "version": "1.2",
            "entries": [{"request": {"method": "GET", "url": "https://example.com"}}],
        }
    },
    "eslint.json": [
        {
            "filePath": "/src/a.js",
            "messages": [{"ruleId": "semi", "severity": 2, "message": "Missing semicolon."}],
            "errorCount": 1,
        }
    ],
    "slack.json": [
        {"type": "message", "user": "U1", "text": "Lunch?", "ts": "1700000000.000100"},
        {"type": "message", "user": "U2", "text": "Yes", "ts": "1700000001.000100"},
    ],
    "discord.json": {
        "guild": {"id": "1", "name": "Garden"},
        "messages": [{"id": "2", "type": "Default", "content": "hi", "author": {"name": "ada"}}],
    },
    "locale.json": {"messages": {"hello": "Hello", "bye": "Bye"}, "contents": "Table of contents"},
    "extension/messages.json": {"appName": {"message": "Garden", "description": "The name."}},
    "deployment.json": {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"template": {"spec": {"containers": [{"name": "web", "image": "web:1"}]}}},
    },
    "terraform.tfstate": {
        "version": 4,
        "serial": 1,
        "outputs": {},
        "resources": [{"mode": "managed", "type": "aws_s3_bucket", "instances": []}],
    },
    "bundle.spdx.json": {
        "spdxVersion": "SPDX-2.3",
        "name": "garden",
        "packages": [{"name": "a", "versionInfo": "1"}],
    },
    "coverage.json": {"meta": {"version": "7"}, "files": {"a.py": {"executed_lines": [1]}}},
    "sarif.json": {
        "version": "2.1.0",
        "runs": [{"tool": {"driver": {"name": "lint"}}, "results": [{"message": {"text": "No"}}]}],
    },
    "elastic.json": {
        "took": 3,
        "hits": {"total": {"value": 1}, "hits": [{"_id": "1", "_source": {"role": "user"}}]},
    },
    "mapping.json": {"mapping": {"properties": {"title": {"type": "text"}}}},
    "issue.json": {
        "id": 1,
        "number": 2,
        "title": "It breaks",
        "user": {"login": "ada"},
        "body": "Steps: …",
        "comments": 0,
    },
    "not-found.json": {"message": "Not Found", "documentation_url": "https://example.com"},
    "error.json": {"message": "Forbidden"},
    "people.json": [{"name": "Ada", "role": "admin"}, {"name": "Grace", "role": "owner"}],
    "users.json": {"users": [{"role": "user", "name": "ada"}], "total": 1},
    "survey.json": {"question": "Which?", "choices": ["a", "b"], "candidates": ["x"]},
    "feed.json": {
        "version": "https://jsonfeed.org/version/1.1",
        "title": "Garden",
        "items": [{"id": "1", "content_text": "Beans"}],
    },
    "embedding.json": {"model": "text-embedding-3-small", "input": "Beans by the wall"},
    "speech.json": {"model": "gpt-4o-mini-tts", "input": "Good morning", "voice": "alloy"},
    "prices.json": {"data": [{"id": "gpt-5", "object": "model"}], "object": "list"},
    "settings.json": {"editor.tabSize": 4, "files.exclude": {"**/.git": True}},
}
TEXTS = {
    "people.csv": "name,role,content\nAda,user,hello\n",
    "people.tsv": "name\trole\nAda\tuser\n",
    "notes.md": "# Notes\n\n- beans\n",
    "page.html": "<!doctype html>\n<html><body>Hi</body></html>\n",
    "feed.xml": '<?xml version="1.0"?>\n<rss version="2.0"></rss>\n',
    "compose.yaml": "services:\n  web:\n    image: web:1\n",
    "event.yaml": "id: 5\nevent: lunch\ndata: none\n",
    "Cargo.lock": '[[package]]\nname = "a"\nversion = "1.0.0"\n',
    "setup.cfg": "[metadata]\nname = garden\n",
    "poetry.lock": '[[package]]\nname = "a"\n\n[metadata]\nlock-version = "2.0"\n',
    "main.py": "print('hello')\n",
    "access.log": '127.0.0.1 - - [17/Nov/2026:09:00:00 +0000] "GET / HTTP/1.1" 200 5\n',
    "app.jsonl": '{"level": "info", "message": "started"}\n{"level": "info", "message": "ready"}\n',
    "response.http": "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\nhi\n",
}


def files() -> dict[str, bytes]:
    """All of them by name, as bytes."""
    values = {name: json.dumps(value, indent=2).encode() for name, value in VALUES.items()}
    return values | {name: text.encode() for name, text in TEXTS.items()}
