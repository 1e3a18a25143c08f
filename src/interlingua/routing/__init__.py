"""Which model serves a turn, and why.

`router.py` decides by the rules file and the models' availability, and emits the events;
`policy.py` reads the rules file. `swap.py` checks whether a whole session can move to a model.
"""

from interlingua.events.payloads import ChainStep, FailureCode, Slot, Verdict
from interlingua.routing.availability import Availability
from interlingua.routing.decision import (
    MODES,
    Decision,
    NoModelError,
    OverrideError,
    RegistryError,
    RoutingError,
    SwapError,
    UnknownAliasError,
    quota_refusal,
    show,
)
from interlingua.routing.policy import Policy
from interlingua.routing.predicates import Problem
from interlingua.routing.registry import ModelEntry, Registry
from interlingua.routing.router import Config, PolicyFile, Router, check_rules, decide
from interlingua.routing.swap import (
    AddressedText,
    Capabilities,
    CapabilityLookup,
    Choice,
    Command,
    Failure,
    Refusal,
    address,
    check_swap,
    parse_command,
    split_override,
)
from interlingua.routing.turn import DelegateRequest, Needs, PatternStats, Turn, needs_of, turn_of

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
