"""Plugins and settings of the whole suite."""

import gc
import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from interlingua.client import retry
from tests import authorities
from tests.effort import examples

pytest_plugins = ["pytester", "tests.plugin_requirements"]

# Every client of an SDK reads whom to trust, and all that the world trusts takes it 20 ms. Here
# nobody is trusted: this certificate is of nobody, and its key was thrown away.
os.environ.setdefault("SSL_CERT_FILE", str(Path(__file__).with_name("certificate.pem")))

# A shell has what it starts in the background ignore Ctrl-C, and what that starts as well.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A law is about values, not about how fast a busy machine computes them. The gate tries the same
# values every time, so that a change is judged by what it changed; INTERLINGUA_RANDOM=1 looks for
# new ones.
_SLOW = [HealthCheck.too_slow]  # which a busy machine is, and no fault of what is tested
settings.register_profile(
    "gate",
    max_examples=examples(100),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=_SLOW,
)
settings.register_profile("random", deadline=None, suppress_health_check=_SLOW)
settings.load_profile("random" if os.environ.get("INTERLINGUA_RANDOM") else "gate")


authorities.leave_out()


# What is collected stays to the end: to look through it for garbage again and again takes a quarter
# of the whole time.
gc.disable()


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.enable()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(autouse=True)
def _own_budget() -> None:
    """What other tests tried again is none of this one's business."""
    retry.SHARED.clear()
