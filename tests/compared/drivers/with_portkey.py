"""Portkey's gateway, started with node, and a provider on loopback behind it. Its streams are left
out: with node 20.20.2 every one ends in an exception when it adds headers to the answer."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from typing import Any

from runner import Job, NotOfferedError, Upstream, main

PATHS = {
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "anthropic": "/v1/messages",
}
PROVIDERS = {
    "openai-chat": "openai",
    "openai-responses": "openai",
    "anthropic": "anthropic",
    "gemini": "google",
}
BASES = {"openai-chat": "/v1", "openai-responses": "/v1", "anthropic": "/v1", "gemini": "/v1beta"}
HOMES = {("openai-responses", "openai-responses"), ("anthropic", "anthropic")}
UPSTREAM = Upstream()


def start() -> tuple[subprocess.Popen[bytes], str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = os.environ["PORTKEY"]
    process = subprocess.Popen(
        ["node", program, f"--port={port}", "--headless"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TRUSTED_CUSTOM_HOSTS": "127.0.0.1,localhost"},
    )
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.1)
    return process, f"http://127.0.0.1:{port}"


PROCESS, GATEWAY = start()


def convert(job: Job) -> tuple[Any, str]:
    asks = job["source"] if job["kind"] == "request" else job["target"]
    answers = job["target"] if job["kind"] == "request" else job["source"]
    if asks not in PATHS or (asks != "openai-chat" and (asks, answers) not in HOMES):
        raise NotOfferedError
    if (asks == "openai-chat" and answers == "openai-responses") or job["kind"] == "stream":
        raise NotOfferedError
    body = {**UPSTREAM.prepare(job), "model": job["model"]}
    headers = {
        "content-type": "application/json",
        "authorization": "Bearer x",
        "x-api-key": "x",
        "x-portkey-provider": PROVIDERS[answers],
        "x-portkey-custom-host": UPSTREAM.url + BASES[answers],
        "anthropic-version": "2023-06-01",
    }
    data = json.dumps(body).encode()
    request = urllib.request.Request(GATEWAY + PATHS[asks], data, headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as response:
            text = response.read().decode()
    except urllib.error.HTTPError as refused:
        if job["kind"] != "request" or UPSTREAM.asked is None:
            raise RuntimeError(refused.read().decode()[:200]) from None
        text = "{}"
    if job["kind"] == "request":
        return UPSTREAM.asked, ""
    return json.loads(text), ""


try:
    main(convert, None)
finally:
    PROCESS.terminate()
