"""Sixty-four columns that find people, and ten clean tables in which nothing does: for the gate to tell apart."""

import base64
import hashlib
import uuid
from collections.abc import Callable

import numpy as np
import pandas as pd

N = 1_000
Rng = np.random.Generator
FIRST = ["Ada", "Bruno", "Carla", "Dana", "Emil", "Farah", "Goran", "Hana", "Ivo", "Jana", "Karim", "Lena"]
FAMILY = ["Abbott", "Bauer", "Chen", "Dubois", "Eriksson", "Ferrari", "Garcia", "Haddad", "Ito", "Jansen", "Kaya"]
LETTERS = np.array(list("ABCDEFGHJKLMNPRSTUVWXYZ"))


def moments(rng: Rng) -> pd.Series:
    return pd.Series(pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 3 * 365 * 86400, N), "s"))


def days(rng: Rng) -> pd.Series:
    return moments(rng).dt.normalize()


def texts(rng: Rng, pattern: str, count: int = N) -> np.ndarray:
    """Codes after a pattern (9 a digit, A a letter), of which so many are different."""
    made = ["".join(str(rng.integers(10)) if c == "9" else str(rng.choice(LETTERS)) if c == "A" else c for c in pattern)
            for _ in range(count)]  # fmt: skip
    return np.array(made, object)[rng.permutation(np.arange(N) % count)]


def digests(rng: Rng, name: str, count: int = N) -> list[str]:
    return [hashlib.new(name, f"x{i % count}".encode()).hexdigest() for i in rng.permutation(N)]


def words(rng: Rng, *lists: list[str]) -> list[str]:
    return [" ".join(str(rng.choice(some)) for some in lists) for _ in range(N)]


def floats(rng: Rng, low: float, high: float, digits: int) -> np.ndarray:
    return np.round(rng.uniform(low, high, N), digits)


def spots(rng: Rng) -> list[tuple[float, float]]:
    return list(zip(rng.uniform(47, 55, N), rng.uniform(6, 15, N), strict=True))


Make = Callable[[Rng], object]
STOPS: dict[str, Make] = {
    "booked_at": moments,
    "admission": days,
    "moment": lambda rng: moments(rng).astype(str).to_numpy(object),
    "zulu": lambda rng: moments(rng).dt.strftime("%Y-%m-%dT%H:%M:%SZ").to_numpy(object),
    "german_day": lambda rng: days(rng).dt.strftime("%d.%m.%Y").to_numpy(object),
    "american_day": lambda rng: days(rng).dt.strftime("%m/%d/%Y").to_numpy(object),
    "day_number": lambda rng: days(rng).dt.strftime("%Y%m%d").astype(int).to_numpy(),
    "x_seconds": lambda rng: (moments(rng).astype("datetime64[s]").astype("int64")).to_numpy(),
    "x_millis": lambda rng: (moments(rng).astype("datetime64[s]").astype("int64") * 1000).to_numpy(),
    "clock": lambda rng: moments(rng).dt.strftime("%H:%M:%S").to_numpy(object),
    "hour_minute": lambda rng: moments(rng).dt.strftime("%H:%M").to_numpy(object),
    "last_seen": lambda rng: moments(rng).dt.strftime("%d %b %Y %H:%M").to_numpy(object),
    "dob": lambda rng: pd.Series(
        pd.Timestamp("1950-01-01") + pd.to_timedelta(rng.integers(0, 18000, N), "D")
    ).dt.strftime("%Y-%m-%d").to_numpy(object),
    "age_in_days": lambda rng: rng.integers(7_000, 30_000, N),
    "lat": lambda rng: floats(rng, 47, 55, 5),
    "longitude": lambda rng: floats(rng, 6, 15, 4),
    "where": lambda rng: [f"{a:.1f},{b:.1f}" for a, b in spots(rng)],
    "spot": lambda rng: [f"({a:.4f}, {b:.4f})" for a, b in spots(rng)],
    "cell": lambda rng: ["u33" + "".join(rng.choice(list("0123456789bcdefghjkmnpqrstuvwxyz"), 4)) for _ in range(N)],
    "square": lambda rng: texts(rng, "TQ 999 999"),
    "mgrs": lambda rng: texts(rng, "33UAA99999999"),
    "easting": lambda rng: rng.integers(300_000, 700_000, N),
    "plz": lambda rng: texts(rng, "99999", 600),
    "zip": lambda rng: rng.integers(10_000, 99_999, N),
    "postcode": lambda rng: texts(rng, "AA9 9AA", 900),
    "bed": lambda rng: rng.integers(1, 400, N),
    "room_no": lambda rng: rng.integers(100, 420, N),
    "case_number": lambda rng: rng.integers(0, 700, N),
    "order_id": lambda rng: texts(rng, "ORD-999999", 1500),
    "invoice": lambda rng: texts(rng, "99999/2024", 1500),
    "family_id": lambda rng: rng.permutation(np.arange(N) // 3),
    "household_key": lambda rng: texts(rng, "HH99999", 700),
    "f1": lambda rng: rng.permutation(np.arange(N) // 2) + 1000,
    "md5": lambda rng: digests(rng, "md5"),
    "h2": lambda rng: digests(rng, "sha1", 700),
    "h3": lambda rng: digests(rng, "sha256", 300),
    "h4": lambda rng: [digest[:10] for digest in digests(rng, "sha256", 900)],
    "h5": lambda rng: [base64.b64encode(hashlib.sha1(f"{i // 2}".encode()).digest()).decode() for i in range(N)],
    "guid": lambda rng: [str(uuid.UUID(int=int(i) * 7919**9 % 2**128)) for i in rng.permutation(N)],
    "plate": lambda rng: texts(rng, "B-AA 9999"),
    "vehicle": lambda rng: texts(rng, "AA99 AAA", 1200),
    "imei": lambda rng: rng.integers(10**14, 10**15, N),
    "adapter": lambda rng: [":".join(f"{b:02x}" for b in rng.integers(0, 256, 6)) for _ in range(N)],
    "source": lambda rng: [".".join(map(str, rng.integers(1, 255, 4))) for _ in range(N)],
    "serial_no": lambda rng: texts(rng, "SN-AA9999A", 1500),
    "device": lambda rng: texts(rng, "99AA9999", 900),
    "login": lambda rng: [f"{rng.choice(FIRST).lower()}{rng.integers(100)}" for _ in range(N)],
    "staff_number": lambda rng: rng.integers(1000, 9999, N),
    "initials_year": lambda rng: texts(rng, "AA1999", 1500),
    "ext": lambda rng: rng.integers(100, 900, N),
    "seat": lambda rng: texts(rng, "99A", 250),
    "site": lambda rng: [f"https://example.org/p/{i}" for i in rng.permutation(N)],
    "person_name": lambda rng: words(rng, FIRST, FAMILY),
    "mail": lambda rng: [f"p{i}@example.org" for i in rng.permutation(N)],
    "ticket": lambda rng: rng.integers(10**6, 10**7, N),
    "claim_ref": lambda rng: texts(rng, "CL/99-9999", 800),
}  # fmt: skip
"""Dates, times, places and numbers of cases, which stop a release in any role."""

LOOKS: dict[str, Make] = {
    "amount_paid": lambda rng: floats(rng, 10, 9_000, 2),
    "income": lambda rng: rng.integers(9_000, 180_000, N),
    "diagnosis": lambda rng: texts(rng, "A99.9", 700),
    "score_exact": lambda rng: floats(rng, 0, 1, 6),
    "job_title": lambda rng: words(rng, ["senior", "junior", "chief", "deputy"], [f"job{i}" for i in range(180)]),
    "lab_value": lambda rng: floats(rng, 0, 300, 3),
    "measure7": lambda rng: rng.normal(0, 1, N),
    "answer_text": lambda rng: words(rng, ["likes", "wants", "needs"], [f"thing{i}" for i in range(400)]),
}  # fmt: skip
"""What only the person could know, which is worth a look in any role."""


def table(rng: Rng, n: int = N) -> pd.DataFrame:
    """A survey in which nothing that is released unchanged finds anybody."""
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "sex": rng.choice(["f", "m"], n),
            "height": rng.integers(150, 200, n),
            "weight": rng.integers(45, 130, n),
            "satisfaction": rng.integers(1, 6, n),
            "smoker": rng.choice(["yes", "no", "ex"], n),
        }
    )


QUASI = ["age", "sex", "height", "weight"]


def clean_tables() -> dict[str, pd.DataFrame]:
    """Clean tables: all columns but the quasi-identifiers are sensitive."""
    rng = np.random.default_rng(5)
    survey = table(rng)
    scores = {f"item{i}": rng.integers(1, 6, N) for i in range(4)}
    shop = (
        table(rng)
        .drop(columns="smoker")
        .assign(visits=rng.poisson(4, N), channel=rng.choice(["web", "shop"], N), spent=rng.integers(1, 40, N) * 10)
    )
    ward = table(rng).assign(
        diagnosis=rng.choice([f"{c}{d:02d}" for c in "AEIJ" for d in range(8)], N), stay=rng.poisson(4, N),
        num_lab_procedures=rng.integers(1, 100, N), number_inpatient=rng.poisson(1, N),
    )  # fmt: skip
    school = table(rng).assign(grade=rng.choice(list("ABCDE"), N), points=rng.integers(0, 101, N))
    months = table(rng).assign(
        result=rng.choice(["cured", "better", "worse"], N),
        seen=pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 2, N) * 31, "D"),
    )
    wages = table(rng).assign(salary=rng.integers(15, 90, N) * 1000, hours_per_week=rng.integers(10, 60, N))
    lab = table(rng).assign(cholesterol=rng.integers(120, 300, N), glucose=rng.integers(60, 200, N))
    panel = table(rng).assign(party=rng.choice(["a", "b", "c", "d"], N), trust=rng.integers(0, 11, N), **scores)
    trial = table(rng).assign(arm=rng.choice(["drug", "placebo"], N), dose=rng.choice([5, 10, 20], N))
    lots = table(rng).assign(births=rng.poisson(1, N), room_type=rng.choice(["single", "double"], N))
    return {
        "survey": survey, "shop": shop, "ward": ward, "school": school, "months": months, "wages": wages, "lab": lab,
        "panel": panel, "trial": trial, "lots": lots,
    }  # fmt: skip
