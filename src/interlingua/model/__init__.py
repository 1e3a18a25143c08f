"""The canonical values: messages, blocks, requests, responses, stream events, losses."""
