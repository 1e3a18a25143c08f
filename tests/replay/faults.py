"""Every fault that can be staged, each a function that makes one."""

from __future__ import annotations

from tests.replay.broken import close_idle as close_idle
from tests.replay.broken import cut as cut
from tests.replay.broken import cut_head as cut_head
from tests.replay.broken import drip as drip
from tests.replay.broken import dropped as dropped
from tests.replay.broken import half_chunk as half_chunk
from tests.replay.broken import late as late
from tests.replay.broken import silence as silence
from tests.replay.broken import wrong_length as wrong_length
from tests.replay.fault import FAULTS as FAULTS
from tests.replay.fault import Fault as Fault
from tests.replay.fault import FaultError as FaultError
from tests.replay.fault import fault_from as fault_from
from tests.replay.instead import failing as failing
from tests.replay.instead import garbage as garbage
from tests.replay.instead import html_error as html_error
from tests.replay.instead import overloaded as overloaded
from tests.replay.instead import rate_limited as rate_limited
from tests.replay.instead import redirect as redirect
from tests.replay.oddly import duplicate_end as duplicate_end
from tests.replay.oddly import error_event as error_event
from tests.replay.oddly import gzip_bomb as gzip_bomb
from tests.replay.oddly import gzipped as gzipped
from tests.replay.oddly import invalid_utf8 as invalid_utf8
from tests.replay.oddly import keep_alive as keep_alive
from tests.replay.oddly import large_headers as large_headers
from tests.replay.oddly import line_ends as line_ends
from tests.replay.oddly import truncated_gzip as truncated_gzip
