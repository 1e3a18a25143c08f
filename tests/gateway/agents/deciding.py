"""Vercel's SDK asks for decisions through the gateway, from scripted models of other vendors.

    python -m tests.gateway.agents.deciding

The packages `ai` and `@ai-sdk/gateway` are installed by npm. The SDK checks every answer against
its own schema: probabilities of all options, a refusal, a score within its levels."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from tests.gateway.sdks.judge import Judge
from tests.gateway.sdks.provider import settings, targets
from tests.gateway.sdks.standing import standing
from tests.transcripts.resume.tools import CACHE

VERSION, GATEWAY = "7.0.173", "4.0.146"
MODELS = ("back-anthropic", "back-openai-chat", "back-gemini")
PROGRAM = """
import { experimental_decide as decide } from 'ai';
import { createGateway } from '@ai-sdk/gateway';
const gateway = createGateway({ baseURL: process.argv[2] + '/v4/ai', apiKey: 'any' });
const result = await decide({
  model: gateway.decisionModel(process.argv[3]),
  state: 'My parcel is late!',
  questions: {
    angry: { type: 'boolean', instructions: 'The customer is angry.' },
    team: {
      type: 'choice',
      instructions: 'Who handles it?',
      criteria: { billing: 'money', shipping: 'parcels' },
    },
    urgency: { type: 'score', instructions: 'How urgent?', criteria: ['low', 'high'] },
  },
  maxRetries: 0,
});
console.log(JSON.stringify(result.answers));
"""


def main() -> int:
    folder = CACHE / f"vercel-ai-{VERSION}"
    if not (folder / "node_modules" / "ai").exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text('{"type": "module"}')
        ask = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error"]
        packages = [f"ai@{VERSION}", f"@ai-sdk/gateway@{GATEWAY}"]
        subprocess.run([*ask, *packages], cwd=folder, check=True)
    program = folder / "decide.mjs"
    program.write_text(PROGRAM)
    failed = 0
    with Judge() as upstream, standing(settings(), targets(upstream.url)) as here:
        for model in MODELS:
            done = subprocess.run(
                ["node", str(program), here.url, model],
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            problem = judge(done.stdout) if done.returncode == 0 else done.stderr[-2000:]
            failed += bool(problem)
            print(f"{model}: {'failed: ' + problem if problem else 'passed'}")
    return 1 if failed else 0


def judge(printed: str) -> str:
    """What is wrong with the answers, which the SDK has taken."""
    answers: dict[str, Any] = json.loads(printed)
    kinds = {name: each["type"] for name, each in answers.items()}
    wanted = {"angry": "boolean", "team": "choice", "urgency": "score"}
    return "" if kinds == wanted else f"answers are {kinds}"


if __name__ == "__main__":
    sys.exit(main())
