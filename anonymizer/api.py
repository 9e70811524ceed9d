"""The public names, which ``import anonymizer`` has.

What there is to choose from:

>>> import anonymizer as an
>>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]]
>>> schema = an.Schema.of(table, quasi_identifying=["age", "sex"], sensitive="diagnosis")
>>> trees = {criterion: an.grow(an.encode(table, schema), criterion).n_nodes for criterion in an.CRITERIA[:2]}
>>> result = an.anonymize(table, schema, k=10, generalizer=list(an.GENERALIZERS)[0])
>>> [name in an.MODELS for name in ("k-anonymity", "t-closeness")]
[True, True]
>>> an.__version__.count(".")
2
"""

from anonymizer.arguments import public
from anonymizer.checking.linkage import LinkageRisk, linkage_risk, singling_out
from anonymizer.checking.several import Proof, verify_together
from anonymizer.checking.verify import MODELS, Check, Verification
from anonymizer.commands import attack, disclosure, evaluate, forest, hierarchy, release, risk, verify
from anonymizer.cuts import Cuts
from anonymizer.databases.read import read_database
from anonymizer.engines import anonymize_files
from anonymizer.errors import (
    AnonymizerError,
    AnonymizerWarning,
    CellError,
    EncodeError,
    GuaranteeError,
    ParameterError,
    ReadError,
    SchemaError,
)
from anonymizer.forest.audit import audit
from anonymizer.groups.prune import Pruning, prune
from anonymizer.groups.risk import NodeRisk, annotate
from anonymizer.growing.encode import EncodedTable, encode
from anonymizer.growing.grow import CRITERIA, grow
from anonymizer.growing.records import descend
from anonymizer.growing.tree import Tree
from anonymizer.labelled.codebook import read_codebook
from anonymizer.ledger.ledger import Ledger
from anonymizer.measuring.utility import Utility, measure
from anonymizer.partitions.check import verify_folder
from anonymizer.partitions.run import FilesResult
from anonymizer.pipeline import anonymize
from anonymizer.plan.plan import Plan
from anonymizer.provenance.report import Provenance, Report
from anonymizer.reading.facts import ColumnFacts, profile
from anonymizer.reading.files import Reading, ReadOptions, read_table
from anonymizer.reading.profile import suggest
from anonymizer.reading.samples import SAMPLES
from anonymizer.releasing.expand import expand
from anonymizer.releasing.generalize import GENERALIZERS, generalize
from anonymizer.releasing.one_way_file import OneWayFiles
from anonymizer.releasing.release import Release, read_release
from anonymizer.reporting.packet import PacketCheck
from anonymizer.result import Result
from anonymizer.schema import Column, Kind, Role, Schema
from anonymizer.version import VERSION as __version__
from anonymizer.whatif.described import with_codebook
from anonymizer.whatif.project import last_release
from anonymizer.whatif.series import Series, first_release, next_release

annotate = public(annotate)
attack = public(attack)
audit = public(audit)
disclosure = public(disclosure)
evaluate = public(evaluate)
expand = public(expand)
forest = public(forest)
hierarchy = public(hierarchy)
risk = public(risk)
anonymize = public(anonymize)
anonymize_files = public(anonymize_files)
descend = public(descend)
encode = public(encode)
first_release = public(first_release)
generalize = public(generalize)
grow = public(grow)
last_release = public(last_release)
linkage_risk = public(linkage_risk)
measure = public(measure)
next_release = public(next_release)
profile = public(profile)
prune = public(prune)
read_codebook = public(read_codebook)
read_release = public(read_release)
read_database = public(read_database)
read_table = public(read_table)
release = public(release)
singling_out = public(singling_out)
suggest = public(suggest)
verify = public(verify)
verify_folder = public(verify_folder)
verify_together = public(verify_together)
with_codebook = public(with_codebook)

__all__ = [
    "CRITERIA",
    "GENERALIZERS",
    "MODELS",
    "SAMPLES",
    "AnonymizerError",
    "AnonymizerWarning",
    "CellError",
    "Check",
    "Column",
    "Cuts",
    "ColumnFacts",
    "EncodeError",
    "EncodedTable",
    "FilesResult",
    "GuaranteeError",
    "Kind",
    "Ledger",
    "OneWayFiles",
    "PacketCheck",
    "LinkageRisk",
    "NodeRisk",
    "ParameterError",
    "Plan",
    "Proof",
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
    "Series",
    "Tree",
    "Utility",
    "Verification",
    "__version__",
    "annotate",
    "attack",
    "audit",
    "disclosure",
    "evaluate",
    "expand",
    "forest",
    "hierarchy",
    "risk",
    "anonymize",
    "anonymize_files",
    "descend",
    "encode",
    "first_release",
    "generalize",
    "grow",
    "last_release",
    "linkage_risk",
    "measure",
    "next_release",
    "profile",
    "prune",
    "read_codebook",
    "read_release",
    "read_database",
    "read_table",
    "release",
    "singling_out",
    "suggest",
    "verify",
    "verify_folder",
    "verify_together",
    "with_codebook",
]
