# Printed by docs/generate.py from the list of names in __init__.py.
from interlingua import bulk as bulk
from interlingua import transcripts as transcripts
from interlingua import views as views
from interlingua.adapt.adapted import Adapted as Adapted
from interlingua.adapt.convert import convert as convert
from interlingua.adapt.convert import plan as plan
from interlingua.adapt.converter import Converter as Converter
from interlingua.adapt.fit.fit import Fitted as Fitted
from interlingua.adapt.fit.fit import fit as fit
from interlingua.adapt.formats import detect as detect
from interlingua.adapt.history.retell import Retold as Retold
from interlingua.adapt.history.retell import retell as retell
from interlingua.adapt.refusals import refusal_category as refusal_category
from interlingua.adapt.stream_convert import StreamConverter as StreamConverter
from interlingua.adapt.stream_convert import stream_convert as stream_convert
from interlingua.agents.chat.chat import AsyncChat as AsyncChat
from interlingua.agents.chat.chat import Chat as Chat
from interlingua.agents.chat.delegate import DelegateError as DelegateError
from interlingua.agents.chat.delegate import Delegation as Delegation
from interlingua.agents.chat.files import AttachmentError as AttachmentError
from interlingua.agents.tasks.agent import Agent as Agent
from interlingua.agents.tasks.agent import AsyncAgent as AsyncAgent
from interlingua.agents.tasks.events import TaskError as TaskError
from interlingua.bulk import arrow as arrow
from interlingua.client.answer import Answer as Answer
from interlingua.client.answer import Middleware as Middleware
from interlingua.client.answer import Parsed as Parsed
from interlingua.client.answer import Run as Run
from interlingua.client.client import AsyncClient as AsyncClient
from interlingua.client.deciding import Decided as Decided
from interlingua.client.errors import AuthError as AuthError
from interlingua.client.errors import CallCancelledError as CallCancelledError
from interlingua.client.errors import CallError as CallError
from interlingua.client.errors import CallTimeoutError as CallTimeoutError
from interlingua.client.errors import ContextOverflowError as ContextOverflowError
from interlingua.client.errors import InvalidRequestError as InvalidRequestError
from interlingua.client.errors import NetworkError as NetworkError
from interlingua.client.errors import OutputError as OutputError
from interlingua.client.errors import ProviderFailure as ProviderFailure
from interlingua.client.errors import RateLimitError as RateLimitError
from interlingua.client.errors import ServerError as ServerError
from interlingua.client.errors import TooLargeError as TooLargeError
from interlingua.client.sync import Client as Client
from interlingua.client.sync import decide as decide
from interlingua.costs.cost import Cost as Cost
from interlingua.costs.cost import UnknownCostError as UnknownCostError
from interlingua.costs.cost import priced as priced
from interlingua.costs.table import PriceTable as PriceTable
from interlingua.dialects.record import Dialect as Dialect
from interlingua.dialects.record import Written as Written
from interlingua.dialects.registry import dialect as dialect
from interlingua.dialects.registry import dialects as dialects
from interlingua.errors import DepthError as DepthError
from interlingua.errors import DetectError as DetectError
from interlingua.errors import InterlinguaError as InterlinguaError
from interlingua.errors import LossError as LossError
from interlingua.errors import MissingExtraError as MissingExtraError
from interlingua.errors import ReadError as ReadError
from interlingua.errors import SchemaError as SchemaError
from interlingua.errors import ToolInputError as ToolInputError
from interlingua.errors import WriteError as WriteError
from interlingua.events.bus import Bus as Bus
from interlingua.local.model import LocalModelError as LocalModelError
from interlingua.model.arguments import recover as recover
from interlingua.model.blocks import AudioBlock as AudioBlock
from interlingua.model.blocks import Block as Block
from interlingua.model.blocks import Cache as Cache
from interlingua.model.blocks import Citation as Citation
from interlingua.model.blocks import CompactionBlock as CompactionBlock
from interlingua.model.blocks import ContentBlock as ContentBlock
from interlingua.model.blocks import DocumentBlock as DocumentBlock
from interlingua.model.blocks import ImageBlock as ImageBlock
from interlingua.model.blocks import ImageSource as ImageSource
from interlingua.model.blocks import RedactedThinkingBlock as RedactedThinkingBlock
from interlingua.model.blocks import RefusalBlock as RefusalBlock
from interlingua.model.blocks import Source as Source
from interlingua.model.blocks import TextBlock as TextBlock
from interlingua.model.blocks import ThinkingBlock as ThinkingBlock
from interlingua.model.blocks import ToolResultBlock as ToolResultBlock
from interlingua.model.blocks import ToolUseBlock as ToolUseBlock
from interlingua.model.blocks import UnknownBlock as UnknownBlock
from interlingua.model.blocks import VideoBlock as VideoBlock
from interlingua.model.codec import dumps as dumps
from interlingua.model.codec import loads as loads
from interlingua.model.decisions import DecisionAnswer as DecisionAnswer
from interlingua.model.decisions import Question as Question
from interlingua.model.decisions import QuestionOption as QuestionOption
from interlingua.model.events import StreamEvent as StreamEvent
from interlingua.model.exchange import AdapterOptions as AdapterOptions
from interlingua.model.exchange import Compaction as Compaction
from interlingua.model.exchange import Continues as Continues
from interlingua.model.exchange import ErrorKind as ErrorKind
from interlingua.model.exchange import Options as Options
from interlingua.model.exchange import ProviderError as ProviderError
from interlingua.model.exchange import Reasoning as Reasoning
from interlingua.model.exchange import Request as Request
from interlingua.model.exchange import Response as Response
from interlingua.model.exchange import ResponseFormat as ResponseFormat
from interlingua.model.exchange import TaskBudget as TaskBudget
from interlingua.model.exchange import ToolChoice as ToolChoice
from interlingua.model.losses import Loss as Loss
from interlingua.model.losses import Report as Report
from interlingua.model.message import AssistantMessage as AssistantMessage
from interlingua.model.message import Changes as Changes
from interlingua.model.message import Message as Message
from interlingua.model.message import Role as Role
from interlingua.model.message import ToolMessage as ToolMessage
from interlingua.model.message import UserMessage as UserMessage
from interlingua.model.metadata import CacheDiagnosis as CacheDiagnosis
from interlingua.model.metadata import CostBreakdown as CostBreakdown
from interlingua.model.metadata import Diagnostic as Diagnostic
from interlingua.model.metadata import InputTransformation as InputTransformation
from interlingua.model.metadata import MessageMetadata as MessageMetadata
from interlingua.model.metadata import MessageStatus as MessageStatus
from interlingua.model.metadata import RoutingDecisionRecord as RoutingDecisionRecord
from interlingua.model.metadata import RoutingMode as RoutingMode
from interlingua.model.metadata import RoutingRecord as RoutingRecord
from interlingua.model.metadata import StopReason as StopReason
from interlingua.model.metadata import Usage as Usage
from interlingua.model.rules import Violation as Violation
from interlingua.model.rules import validate as validate
from interlingua.model.spelled_numbers import schema_of as schema_of
from interlingua.model.tools import Grammar as Grammar
from interlingua.model.tools import SideEffects as SideEffects
from interlingua.model.tools import ToolDefinition as ToolDefinition
from interlingua.profiles.capabilities import AdapterCapabilities as AdapterCapabilities
from interlingua.profiles.capabilities import Capabilities as Capabilities
from interlingua.profiles.capabilities import capabilities as capabilities
from interlingua.profiles.estimate.estimator import estimate_input_tokens as estimate_input_tokens
from interlingua.profiles.names import AmbiguousModelError as AmbiguousModelError
from interlingua.profiles.names import UnknownModelError as UnknownModelError
from interlingua.profiles.overlay import ProfileError as ProfileError
from interlingua.profiles.profile import Profile as Profile
from interlingua.profiles.profile import profile_of as profile_of
from interlingua.providers.provider import MissingSettingError as MissingSettingError
from interlingua.providers.provider import ProviderSetupError as ProviderSetupError
from interlingua.providers.provider import UnknownProviderError as UnknownProviderError
from interlingua.routing.decision import AmbiguousAliasError as AmbiguousAliasError
from interlingua.routing.decision import NoModelError as NoModelError
from interlingua.routing.decision import RoutingError as RoutingError
from interlingua.routing.decision import SwapError as SwapError
from interlingua.routing.decision import UnknownAliasError as UnknownAliasError
from interlingua.routing.registry import ModelEntry as ModelEntry
from interlingua.routing.registry import Registry as Registry
from interlingua.routing.router import Router as Router
from interlingua.sessions.adapters.adapter import Adapter as Adapter
from interlingua.sessions.adapters.assemble import RequestContext as RequestContext
from interlingua.sessions.adapters.assemble import new_assistant_message as new_assistant_message
from interlingua.sessions.adapters.ids import IdMap as IdMap
from interlingua.sessions.effects import SessionError as SessionError
from interlingua.sessions.effects import TurnError as TurnError
from interlingua.sessions.plans import SwapPlan as SwapPlan
from interlingua.sessions.session import AsyncSession as AsyncSession
from interlingua.sessions.session import Session as Session
from interlingua.store.base import AsyncStore as AsyncStore
from interlingua.store.base import Store as Store
from interlingua.store.errors import ConflictError as ConflictError
from interlingua.store.errors import NotFoundError as NotFoundError
from interlingua.store.errors import StoreError as StoreError
from interlingua.store.open import open_async_store as open_async_store
from interlingua.store.open import open_store as open_store
from interlingua.streams import aws as aws
from interlingua.streams import jsonarray as jsonarray
from interlingua.streams import ndjson as ndjson
from interlingua.streams import sse as sse
from interlingua.streams.fold import fold as fold
from interlingua.streams.fold import fold_all as fold_all
from interlingua.streams.fold import unfold as unfold
from interlingua.streams.fold import with_partial_input as with_partial_input
from interlingua.streams.frames import Frame as Frame
from interlingua.tools.dispatch import Dispatcher as Dispatcher
from interlingua.tools.dispatch import ToolRun as ToolRun
from interlingua.tools.functions import tool as tool
from interlingua.tools.handlers import CallContext as CallContext
from interlingua.tools.handlers import McpError as McpError
from interlingua.tools.handlers import WorkspaceError as WorkspaceError
from interlingua.tools.mcp import McpServer as McpServer
from interlingua.tools.mcp import McpServers as McpServers
from interlingua.tools.registry import ToolRegistry as ToolRegistry
from interlingua.tools.workspace import Workspace as Workspace
from interlingua.transcripts.files import TranscriptError as TranscriptError
from interlingua.views import view as view

__version__: str
__all__ = [
    "Adapted",
    "Adapter",
    "AdapterCapabilities",
    "AdapterOptions",
    "Agent",
    "AmbiguousAliasError",
    "AmbiguousModelError",
    "Answer",
    "AssistantMessage",
    "AsyncAgent",
    "AsyncChat",
    "AsyncClient",
    "AsyncSession",
    "AsyncStore",
    "AttachmentError",
    "AudioBlock",
    "AuthError",
    "Block",
    "Bus",
    "Cache",
    "CacheDiagnosis",
    "CallCancelledError",
    "CallContext",
    "CallError",
    "CallTimeoutError",
    "Capabilities",
    "Changes",
    "Chat",
    "Citation",
    "Client",
    "Compaction",
    "CompactionBlock",
    "ConflictError",
    "ContentBlock",
    "ContextOverflowError",
    "Continues",
    "Converter",
    "Cost",
    "CostBreakdown",
    "Decided",
    "DecisionAnswer",
    "DelegateError",
    "Delegation",
    "DepthError",
    "DetectError",
    "Diagnostic",
    "Dialect",
    "Dispatcher",
    "DocumentBlock",
    "ErrorKind",
    "Fitted",
    "Frame",
    "Grammar",
    "IdMap",
    "ImageBlock",
    "ImageSource",
    "InputTransformation",
    "InterlinguaError",
    "InvalidRequestError",
    "LocalModelError",
    "Loss",
    "LossError",
    "McpError",
    "McpServer",
    "McpServers",
    "Message",
    "MessageMetadata",
    "MessageStatus",
    "Middleware",
    "MissingExtraError",
    "MissingSettingError",
    "ModelEntry",
    "NetworkError",
    "NoModelError",
    "NotFoundError",
    "Options",
    "OutputError",
    "Parsed",
    "PriceTable",
    "Profile",
    "ProfileError",
    "ProviderError",
    "ProviderFailure",
    "ProviderSetupError",
    "Question",
    "QuestionOption",
    "RateLimitError",
    "ReadError",
    "Reasoning",
    "RedactedThinkingBlock",
    "RefusalBlock",
    "Registry",
    "Report",
    "Request",
    "RequestContext",
    "Response",
    "ResponseFormat",
    "Retold",
    "Role",
    "Router",
    "RoutingDecisionRecord",
    "RoutingError",
    "RoutingMode",
    "RoutingRecord",
    "Run",
    "SchemaError",
    "ServerError",
    "Session",
    "SessionError",
    "SideEffects",
    "Source",
    "StopReason",
    "Store",
    "StoreError",
    "StreamConverter",
    "StreamEvent",
    "SwapError",
    "SwapPlan",
    "TaskBudget",
    "TaskError",
    "TextBlock",
    "ThinkingBlock",
    "TooLargeError",
    "ToolChoice",
    "ToolDefinition",
    "ToolInputError",
    "ToolMessage",
    "ToolRegistry",
    "ToolResultBlock",
    "ToolRun",
    "ToolUseBlock",
    "TranscriptError",
    "TurnError",
    "UnknownAliasError",
    "UnknownBlock",
    "UnknownCostError",
    "UnknownModelError",
    "UnknownProviderError",
    "Usage",
    "UserMessage",
    "VideoBlock",
    "Violation",
    "Workspace",
    "WorkspaceError",
    "WriteError",
    "Written",
    "__version__",
    "aws",
    "capabilities",
    "convert",
    "decide",
    "detect",
    "dialect",
    "dialects",
    "dumps",
    "estimate_input_tokens",
    "fit",
    "fold",
    "fold_all",
    "jsonarray",
    "loads",
    "ndjson",
    "new_assistant_message",
    "open_async_store",
    "open_store",
    "plan",
    "priced",
    "profile_of",
    "recover",
    "refusal_category",
    "retell",
    "schema_of",
    "sse",
    "stream_convert",
    "tool",
    "unfold",
    "validate",
    "view",
    "with_partial_input",
]
