"""Converts files of conversations on all cores, in constant memory; a killed run resumes.

from interlingua import bulk

bulk.convert_files(["logs/"], "logs.parquet", bulk.Job(target="canonical"))
"""

from __future__ import annotations

from interlingua.bulk.convert import Job
from interlingua.bulk.files import SUFFIXES, BulkError, suffix_of
from interlingua.bulk.run import Summary, convert_files

__all__ = ["SUFFIXES", "BulkError", "Job", "Summary", "convert_files", "suffix_of"]
