"""What a release is still good for, as a section of the report for people."""

from anonymizer.reporting.document import Figure, Section, Table
from anonymizer.reporting.findings import Findings
from anonymizer.settings import name_of


def losses(findings: Findings) -> Section:
    """Return what was lost and what an analysis would still say, before and after."""
    utility = findings.report.utility
    rows: list[tuple[str | Figure, ...]] = [
        (f"{name_of('measure', 'gcp')}, 0 to 1", Figure("gcp.before", "0"), Figure("gcp.after", f"{utility.gcp:.4f}")),
        (
            f"{name_of('measure', 'discernibility')}, squared records",
            Figure("discernibility.before", f"{findings.discernibility_before:,}"),
            Figure("discernibility.after", f"{utility.discernibility:,}"),
        ),
    ]
    if utility.left_out:
        title = "The same, over the records that are there: those that were left out lose all of their detail"
        rows.insert(
            1, (title, Figure("gcp_released.before", "0"), Figure("gcp_released.after", f"{utility.gcp_released:.4f}"))
        )
    if findings.error_before is not None and utility.error is not None:
        rows.append(
            (
                "Records outside the majority of their look-alikes",
                Figure("error.before", f"{findings.error_before:.4f}"),
                Figure("error.after", f"{utility.error:.4f}"),
            )
        )
    tables, agreed = findings.report.two_way, findings.report.coefficients
    if tables.mean is not None and tables.worst is not None:
        first, second, most = tables.worst
        distances = {
            "two_way": ("People in another cell of a two-way table, mean over pairs of columns, 0 to 1", tables.mean),
            "two_way.most": (f"The same of the table that changes most: {first} and {second}", most),
        }
        rows += [
            (title, Figure(f"{key}.before", "0"), Figure(f"{key}.after", f"{distance:.4f}"))
            for key, (title, distance) in distances.items()
        ]
    if agreed is not None:
        title = f"Coefficients of a {agreed.model} of {agreed.target}, and those inside the original's 95 % intervals"
        counts = agreed.coefficients, agreed.inside
        rows.append(
            (title, *(Figure(f"coefficients.{n}", f"{c:,}") for n, c in zip(("before", "after"), counts, strict=True)))
        )
    columns = tuple((name, Figure(f"ncp.{name}", f"{loss:.4f}")) for name, loss in utility.ncp_by_column.items())
    return Section(
        "What the release is still good for",
        (
            Table(("", "Before", "After"), tuple(rows)),
            "The share of its domain that a cell of each column leaves open on average (NCP), 0 to 1:",
            Table(("Column", "NCP"), columns),
        ),
    )
