"""Which model serves a turn.

`chain.py` decides, from values alone; `router.py` brings the rules file, the account of failures
and the events to it. `swap.py` is the other question: whether a whole session can move to a model.
"""

from interlingua.bus.payloads.routes import ChainStep, FailureCode, Slot, Verdict
from interlingua.routing.availability import Availability
from interlingua.routing.chain import Config, decide
from interlingua.routing.choice import Choice, Command, parse_command
from interlingua.routing.decision import MODES, Decision, quota_refusal, show
from interlingua.routing.errors import (
    NoModelError,
    OverrideError,
    RegistryError,
    RoutingError,
    SwapError,
    UnknownAliasError,
)
from interlingua.routing.files import PolicyFile, check_rules
from interlingua.routing.limits import Capabilities, CapabilityLookup, Failure
from interlingua.routing.override import AddressedText, address, split_override
from interlingua.routing.policy import Policy
from interlingua.routing.predicates import Problem
from interlingua.routing.registry import ModelEntry, Registry
from interlingua.routing.router import Router
from interlingua.routing.swap import Refusal, check_swap
from interlingua.routing.turn import (
    DelegateRequest,
    Needs,
    PatternStats,
    Turn,
    needs_of,
    turn_of,
)

__all__ = [
    "MODES",
    "AddressedText",
    "Availability",
    "Capabilities",
    "CapabilityLookup",
    "ChainStep",
    "Choice",
    "Command",
    "Config",
    "Decision",
    "DelegateRequest",
    "Failure",
    "FailureCode",
    "ModelEntry",
    "Needs",
    "NoModelError",
    "OverrideError",
    "PatternStats",
    "Policy",
    "PolicyFile",
    "Problem",
    "Refusal",
    "Registry",
    "RegistryError",
    "Router",
    "RoutingError",
    "Slot",
    "SwapError",
    "Turn",
    "UnknownAliasError",
    "Verdict",
    "address",
    "check_rules",
    "check_swap",
    "decide",
    "needs_of",
    "parse_command",
    "quota_refusal",
    "show",
    "split_override",
    "turn_of",
]
