"""What commands of the terminal do, as functions: each is as thin as its command, and shares the work with it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from anonymizer.arguments import public, schema_of_roles
from anonymizer.attacks.joint import OverReleases, attack_releases
from anonymizer.checking.released_file import read_file
from anonymizer.checking.several import schema_there
from anonymizer.checking.verify import Verification
from anonymizer.checking.verify import verify as verify_rows
from anonymizer.digests import digest
from anonymizer.disclosure.brought import read_tree
from anonymizer.disclosure.constraints import GrowingRule, Knowledge
from anonymizer.disclosure.exposure import Exposure, assess
from anonymizer.disclosure.outline import KeyedTree, keys_of, lay_keys, outline_of
from anonymizer.errors import ParameterError, ReadError, SchemaError
from anonymizer.flow import Flow
from anonymizer.forest.cut_points import grow_private
from anonymizer.forest.domains import domains_of, read_domains
from anonymizer.forest.forest import Forest
from anonymizer.growing.encode import EncodedTable, encode
from anonymizer.growing.tree import Tree
from anonymizer.hierarchy import Hierarchy
from anonymizer.json_value import MAX_BYTES
from anonymizer.measuring.comparison import as_table
from anonymizer.partitions.check import look_through, verify_folder
from anonymizer.partitions.folder import dictionary_schema, is_archive, read_manifest, released_place
from anonymizer.pipeline import anonymize
from anonymizer.population.sample import Population, SampleRisk, sample_risk
from anonymizer.provenance.claim import Claim, claim_from
from anonymizer.releasing.hierarchies import cut_hierarchy, public_hierarchy
from anonymizer.reporting.packet import PacketCheck, check_packet, is_packet
from anonymizer.result import DrawnTree, Result
from anonymizer.schema import Schema
from anonymizer.settings import Settings
from anonymizer.studies.experiment import evaluate as evaluate_flow


def release(
    table: pd.DataFrame,
    *,
    quasi_identifying: Sequence[str],
    sensitive: Sequence[str] = (),
    identifying: Sequence[str] = (),
    insensitive: Sequence[str] = (),
    person: str | None = None,
    weight: str | None = None,
    household: str | None = None,
    stratum: str | None = None,
    target: str | None = None,
    kinds: Mapping[str, str] | None = None,
    domains: Mapping[str, Sequence[Any]] | None = None,
    ordered: Sequence[str] = (),
    **settings: Any,
) -> Result:
    """Return a verified release of a table (n rows) whose columns have these roles; the command ``anonymize``.

    ``quasi_identifying``: what others may know of a person; ``sensitive``: what nobody may learn; ``identifying``: left
    out; ``insensitive``: released as they are. ``person``: the column whose equal values are one person; ``weight``,
    ``household``, ``stratum``: how a sample was drawn. ``target``: the sensitive column that errors are counted on,
    the first one. ``kinds``, ``domains``, ``ordered``: of :meth:`anonymizer.schema.Schema.of`. ``settings``: whatever
    :func:`anonymizer.pipeline.anonymize` takes, such as ``k=10``, ``l=2``, ``generalizer="pack"``, ``reasons``.

    Raises :class:`SchemaError` for a column without a role that looks as if it told people apart, with the names to
    give one, and what :func:`anonymizer.pipeline.anonymize` raises.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]]
    >>> result = an.release(table, quasi_identifying=["age", "sex"], sensitive="diagnosis", k=10)
    >>> result.verification.passed, list(result.table.columns)
    (True, ['age', 'sex', 'diagnosis'])
    """
    once = {"person": person, "weight": weight, "household": household, "stratum": stratum}
    roles = {name: [column] for name, column in once.items() if column is not None}
    schema = schema_of_roles(
        table, quasi_identifying=quasi_identifying, sensitive=sensitive, identifying=identifying,
        insensitive=insensitive, target=target, kinds=kinds, domains=domains, ordered=ordered, **roles,
    )  # fmt: skip
    return public(anonymize)(table, schema, **settings)


def forest(
    table: pd.DataFrame,
    target: str,
    epsilon: float = 1.0,
    *,
    mode: str = "strict",
    domains: Mapping[str, Any] | str | Path | None = None,
    from_data: Sequence[str] = (),
    columns: Sequence[str] | None = None,
    identifying: Sequence[str] = (),
    person: str | None = None,
    kinds: Mapping[str, str] | None = None,
    cut_share: float = 0.0,
    n_trees: int = 1,
    max_depth: int = 5,
    min_size: float = 100,
) -> Forest:
    """Return a differentially private forest that predicts a column, to publish instead of rows (F15); the command
    ``forest``.

    ``epsilon``: the privacy budget, spent once on all of it. ``mode``: a key of
    :data:`anonymizer.forest.forest.MODES`; ``paper`` is not private. ``domains``: the public values of each column, or
    the path of a JSON file of them; those of other columns are read from the table, and the forest says so;
    ``from_data``: columns whose domain here was read from a table, too. ``columns``: those to split on, all by default;
    ``identifying``, ``person``: never looked at. ``cut_share``: share of the budget that buys cut points.
    ``n_trees``: each with another column at its root; ``max_depth``: most nodes on a path; ``min_size``: fewest noisy
    rows of a divided node, where the mode asks for them. Its noise has no seed.

    Raises :class:`SchemaError` for a column that is not there and a value outside its domain, and
    :class:`ParameterError` for parameters outside their bounds.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]]
    >>> domains = {"age": {"low": 0, "high": 120}, "sex": ["female", "male"]}
    >>> private = an.forest(table, "diagnosis", 2.0, domains=domains)
    >>> private.private, "diagnosis" in private.warnings[0]
    (False, True)
    """
    if isinstance(domains, str | Path):
        domains = read_domains(_bytes(domains))
    schema = Schema.of(table, quasi_identifying=[], identifying=identifying, person=person, kinds=kinds)
    domain = domains_of(table, target, domains, columns=columns, schema=schema).as_read(from_data)
    growth = {"n_trees": n_trees, "max_depth": max_depth, "min_size": min_size}
    return grow_private(table, domain, epsilon, cut_share=cut_share, mode=mode, **growth)[0]


def disclosure(
    tree: Tree | str | Path, table: pd.DataFrame | EncodedTable | None = None, schema: Schema | None = None, *,
    rates: bool = True, totals: bool = False, rule: GrowingRule | None = None, starts: int = 3, exact: bool = False,
) -> Exposure:  # fmt: skip
    """Return what a published tree tells whoever knows everybody's quasi-identifiers (Z10); the command ``disclosure``.

    ``tree``: the tree of a result, pruned; a grown one beside its ``table`` in codes; or the path of a published one
    (JSON, PMML, skops, ONNX, rpart's text) beside the ``table`` (n rows) and its ``schema``. ``rates``, ``totals``:
    whether error rates and class totals are published; ``rule``: how it was grown, where that is known. ``starts``: of
    the solver. ``exact``: count whole people as well. Posteriors are probabilities, divergences nats.

    Raises :class:`ParameterError` without a categorical target of two values, or a tree of another table, and
    :class:`ReadError` for a file that cannot be read.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]]
    >>> result = an.release(table, quasi_identifying=["age", "sex"], sensitive="diagnosis", k=100)
    >>> 0 < an.disclosure(result.tree).highest_posterior <= 1
    True
    """
    knowledge = Knowledge(rates, totals, rule)
    laid: KeyedTree
    if isinstance(tree, DrawnTree) and table is None:
        keys = keys_of(tree.flow.encoded)
        laid = lay_keys(outline_of(tree, keys.encodings, tree.flow.pruning.cut()), keys)
        return assess(laid, knowledge, starts=starts, exact=exact)
    if table is None or (isinstance(table, pd.DataFrame) and schema is None):
        what = "disclosure() lacks the table that the tree was made from, and its schema."
        raise ParameterError(what, remedy="Give both, or encode(table, schema).")
    encoded = table if isinstance(table, EncodedTable) else encode(table, schema)  # type: ignore[arg-type]
    keys = keys_of(encoded)
    if isinstance(tree, Tree):
        laid = lay_keys(outline_of(tree, keys.encodings), keys)
    else:
        brought = read_tree(_bytes(tree), keys, apart=True)
        laid, knowledge = brought.tree, knowledge if rule is not None else brought.knowledge
    return assess(laid, knowledge, starts=starts, exact=exact)


def evaluate(
    table: pd.DataFrame, schema: Schema, *, k: Sequence[int] = (10, 20, 30), folds: int = 10,
    groupings: Sequence[str] = (), generalizers: Sequence[str] = ("uniform", "pack"), only: int | None = None,
    sample: int | None = None, seed: int = 0, **settings: Any,
) -> pd.DataFrame:  # fmt: skip
    """Return the mean of every measure for each grouping with each generalizer at each k, cross-validated, a row each;
    the command ``evaluate``.

    ``only``: folds to run of so many ``folds``; ``sample``: rows that take part, drawn by ``seed``; ``settings``: what
    all of these share, such as ``l=2``. Measures are named and have units in
    :data:`anonymizer.measuring.measures.MEASURES`. Raises what :func:`anonymizer.studies.experiment.evaluate` raises.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]].head(300)
    >>> schema = an.Schema.of(table, quasi_identifying=["age", "sex"], sensitive=["diagnosis"])
    >>> an.evaluate(table, schema, k=[5], folds=3, only=1, generalizers=["uniform"])["k"].tolist()
    [1, 5, 5]
    """
    ks = [k] if isinstance(k, int) else k
    how: dict[str, Any] = {"groupings": groupings, "generalizers": generalizers, "sample": sample, "seed": seed}
    return as_table(evaluate_flow(Flow(table, schema, Settings(**settings)), folds=folds, ks=ks, run=only, **how))


def risk(
    table: pd.DataFrame, schema: Schema, *, population: pd.DataFrame | None = None, fraction: float | None = None,
    wildcard: bool = False,
) -> SampleRisk:  # fmt: skip
    """Return how risky a table (n rows) is as it stands, as a sample of its population; the command ``risk``.

    ``population``: a row a person, or numbers in a column ``count``; ``fraction``: the share of the population in the
    table, 0 to 1; ``wildcard``: a missing value agrees with every value. Risks are probabilities.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]]
    >>> schema = an.Schema.of(table, quasi_identifying=["age", "sex"], sensitive=["diagnosis"])
    >>> an.risk(table, schema, fraction=0.05).alone
    5
    """
    return sample_risk(table, schema, Population(fraction, population, wildcard))


def hierarchy(table: pd.DataFrame, schema: Schema, column: str, of: str = "cuts", **settings: Any) -> Hierarchy:
    """Return the groups of a column's values as a hierarchy, whose ``to_csv()`` ARX reads; the command ``hierarchy``.

    ``of``: "cuts", its public cuts, or "tree", the pruned tree that grows under ``settings``. Raises
    :class:`SchemaError` for a column without such groups, :class:`ParameterError` for another ``of``.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]]
    >>> roles = {"quasi_identifying": ["age", "sex"], "sensitive": "diagnosis"}
    >>> schema = an.Schema.of(table, **roles, domains={"age": (0, 120)})
    >>> len(an.hierarchy(table, schema, "age", "tree", k=50).words) > 1
    True
    """
    if of not in ("cuts", "tree"):
        raise ParameterError(f"There is no hierarchy of {of!r}.", value=of, remedy="Choose cuts or tree.")
    own = schema[column]
    if of == "cuts":
        return public_hierarchy(own)
    if own.name not in schema.quasi_identifying:
        what = f"{own.name!r} is not quasi-identifying, so no tree groups it."
        raise SchemaError(what, column=own.name, remedy="Choose a quasi-identifying column.")
    flow = Flow(table, schema, Settings(**settings))
    return cut_hierarchy(own, flow.pruning, flow.encoded.encodings)


def attack(
    releases: Sequence[pd.DataFrame], schema: Schema | Sequence[Schema], *, k: int = 10,
    original: pd.DataFrame | None = None,
) -> OverReleases:  # fmt: skip
    """Return what several released tables of the same people tell together; the command ``attack``. For one release
    there is ``result.attack()``.

    ``schema``: of all tables, or of each; ``k``: candidates that everybody should have; ``original``: the table (n
    rows) that all were made from, beside which it is counted. Raises :class:`ParameterError` for fewer than two.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]]
    >>> first = an.release(table, quasi_identifying=["age", "sex"], sensitive="diagnosis", k=10)
    >>> other = an.release(table, quasi_identifying=["age", "sex"], sensitive="diagnosis", k=15)
    >>> an.attack([first.table, other.table], first.schema).names
    ('1', '2 to 9', '10 to 19', '20 and more')
    """
    schemas = [schema] * len(releases) if isinstance(schema, Schema) else list(schema)
    if len(schemas) != len(releases):
        what = f"There are {len(releases):,} releases and {len(schemas):,} schemas."
        raise ParameterError(what, remedy="Give one schema for all, or one for each.")
    own = [schema_there(one, table) for one, table in zip(schemas, releases, strict=True)]
    return attack_releases(list(releases), own, k, original)


def verify(
    released: pd.DataFrame | str | Path, schema: Schema | None = None, *, k: int | None = None,
    report: str | Path | None = None, **how: Any,
) -> Verification | PacketCheck:  # fmt: skip
    """Return every check of a release, computed again; the command ``verify``.

    ``released``: the released rows (n rows), or the path of a file, a folder or a packet of them. ``schema``: their
    roles and kinds, which a folder has in its dictionary; ``k``: rows that a group must have. ``report``: the JSON
    report of the release, which has both, and every other limit; what is said here goes before it. A packet has its
    own, and comes to a :class:`PacketCheck`. ``how``: the original and other limits, of
    :func:`anonymizer.checking.verify.verify`; of a packet also ``key``, the public key that must have signed it.

    Raises :class:`ParameterError` where neither a report nor ``k`` says what is required, and for a release that is
    not the one that the report speaks of; :class:`ReadError` for what cannot be read.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]]
    >>> result = an.release(table, quasi_identifying=["age", "sex"], sensitive="diagnosis", k=10)
    >>> an.verify(result.table, result.schema, k=10, original=table).passed
    True
    """
    how |= {} if k is None else {"k": k}
    content = None if isinstance(released, pd.DataFrame) or Path(released).is_dir() else _bytes(released)
    if content is not None and is_packet(content):
        if schema is not None or report is not None:
            raise ParameterError("A packet's own report says its roles.", remedy="Leave schema and report out.")
        return public(check_packet)(content, **how)
    claim = None if report is None else claim_from(report)
    in_parts = not isinstance(released, pd.DataFrame) and (content is None or is_archive(content))
    if in_parts:
        return _verify_parts(released, schema, claim, how)
    limits: dict[str, Any] = {} if claim is None else {**claim.held_to, "left_out": claim.left_out}
    limits |= how
    own = schema if schema is not None or claim is None else claim.schema
    if own is None or "k" not in limits:
        raise _lack(["schema"] * (own is None) + ["k"] * ("k" not in limits))
    if content is None:
        return public(verify_rows)(released, own, **limits)
    file = read_file(content)
    labels = claim is not None and claim.knows_labels
    file = file.under(own, labels=labels, stored=claim is not None, sets=None if claim is None else claim.sets)
    if claim is not None:
        _require_same(claim.differences(digest(content), len(file.rows), own), released)
    return public(verify_rows)(file.rows, own, beside=file.beside, unjudged=file.unjudged, **limits)


def _verify_parts(
    released: Any, schema: Schema | None, claim: Claim | None, how: Mapping[str, Any]
) -> Verification:  # fmt: skip
    """Return every check of a released folder, or its ZIP file. Raises what :func:`verify` raises, and
    :class:`ParameterError` for an original: the run held the folder beside it."""
    if "original" in how:
        raise ParameterError("A folder is checked alone.", remedy="Leave original out: the run compared them.")
    place = released_place(released)
    manifest = read_manifest(place)
    own = schema or (dictionary_schema(place) if claim is None else claim.schema)
    limits = {**({} if claim is None else claim.limits), **how}
    if "k" not in limits:
        raise _lack(["k"])
    verification = verify_folder(place, own, manifest=manifest, **limits)
    if claim is not None:
        differences = claim.differences(manifest.sha256, manifest.rows, own)
        _require_same(differences or look_through(place, manifest, own, claim)[0], released)
    return verification


def _lack(names: Sequence[str]) -> ParameterError:
    """Return what is said where nobody says what is required."""
    remedy = "Give it, or the report: report='report.json'."
    return ParameterError(f"verify() lacks {' and '.join(names)}.", remedy=remedy)


def _require_same(differences: Sequence[str], released: str | Path) -> None:
    """Raise :class:`ParameterError` for a release that is not the one that a report speaks of."""
    if differences:
        raise ParameterError(f"{Path(released).name} is not what the report speaks of: {differences[0]}")


def _bytes(path: str | Path) -> bytes:
    """Return the bytes of a file. Raises :class:`ReadError` where it cannot be opened."""
    try:
        with Path(path).open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ReadError(f"{Path(path).name} cannot be opened: {error.strerror}.", remedy="Check the path.") from error
