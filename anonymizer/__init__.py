"""Release personal data safely: grow a tree on what identifies people, merge look-alikes, check what leaves.

Start with :func:`anonymize`, or take its steps one by one: :func:`suggest`, :func:`encode`, :func:`grow`,
:func:`annotate`, :func:`prune`, :func:`generalize`, :func:`verify`. Nothing is compiled at import.
"""

from anonymizer.encode import EncodedTable, encode
from anonymizer.errors import (
    AnonymizerError,
    CellError,
    EncodeError,
    GuaranteeError,
    ParameterError,
    ReadError,
    SchemaError,
)
from anonymizer.generalize import GENERALIZERS, generalize
from anonymizer.grow import CRITERIA, grow
from anonymizer.linkage import LinkageRisk, linkage_risk, singling_out
from anonymizer.pipeline import Result, anonymize
from anonymizer.profile import ColumnFacts, profile, suggest
from anonymizer.prune import Pruning, prune
from anonymizer.read import Reading, ReadOptions, read_table
from anonymizer.records import descend
from anonymizer.release import Release, read_release
from anonymizer.report import Provenance, Report
from anonymizer.risk import NodeRisk, annotate
from anonymizer.samples import SAMPLES
from anonymizer.schema import Column, Kind, Role, Schema
from anonymizer.tree import Tree
from anonymizer.utility import Utility, measure
from anonymizer.verify import MODELS, Check, Verification, verify
from anonymizer.version import VERSION as __version__

__all__ = [
    "CRITERIA",
    "GENERALIZERS",
    "MODELS",
    "SAMPLES",
    "AnonymizerError",
    "CellError",
    "Check",
    "Column",
    "ColumnFacts",
    "EncodeError",
    "EncodedTable",
    "GuaranteeError",
    "Kind",
    "LinkageRisk",
    "NodeRisk",
    "ParameterError",
    "Provenance",
    "Pruning",
    "ReadError",
    "ReadOptions",
    "Reading",
    "Release",
    "Report",
    "Result",
    "Role",
    "Schema",
    "SchemaError",
    "Tree",
    "Utility",
    "Verification",
    "__version__",
    "annotate",
    "anonymize",
    "descend",
    "encode",
    "generalize",
    "grow",
    "linkage_risk",
    "measure",
    "profile",
    "prune",
    "read_release",
    "read_table",
    "singling_out",
    "suggest",
    "verify",
]
