// The report of a release: roles, domains and limits of its columns, and the files it speaks of.

const LEFT_OUT = ["person", "identifying", "weight", "household", "stratum"];
const LIMITS = ["k", "share_max", "l", "entropy_l", "t", "rsd_min", "spread_min"];
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const isQuasi = (column) => column.role === "quasi-identifying";
const isLevels = (column) => column.kind === "categorical";

function raise(error) {
  throw error;
}

/** A column as the report describes it, with what follows from that. */
function columnOf(entry) {
  const column = { role: "insensitive", kind: "categorical", domain: null, ordered: false, grid: null, groups: null,
    suggested: false, treat: "", harmless: [], dates: "", cuts: {}, hierarchy: null, bands: null, ...entry };
  if (column.cuts.hierarchy) column.hierarchy = hierarchyOf(column.cuts.hierarchy);
  if (column.hierarchy && !column.treat) {
    const { values, numbers } = column.hierarchy;
    column.domain = isLevels(column) ? values : [numbers[0], numbers[numbers.length - 1]];
    column.suggested = false;
  }
  column.declared = column.domain !== null && !column.suggested;
  if (column.domain && !isLevels(column)) {
    column.domain = column.domain.map((end) => (column.kind === "date" ? momentOf(end) : Number(end)));
  }
  if (isLevels(column) && column.ordered && column.domain && !column.hierarchy) column.bands = bandsOf(column.domain);
  return column;
}

/** JSON as the digests of roles and sets are made of: names in their order, fractions marked as such. */
function plainJson(value) {
  if (value instanceof Number) return floatText(Number(value));
  if (Array.isArray(value)) return `[${value.map(plainJson).join(", ")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const names = Object.keys(value).sort(compareTexts);
  return `{${names.map((name) => `${JSON.stringify(name)}: ${plainJson(value[name])}`).join(", ")}}`;
}

/** The entry of a column in which numbers that are fractions by their nature are marked. */
function markedEntry({ reason, own_reason, variable, ...entry }) {
  const mark = (value) => (typeof value === "number" ? Object(value) : value);
  const cuts = entry.cuts && !entry.cuts.hierarchy
    ? Object.fromEntries(Object.entries(entry.cuts).map(([name, part]) => [name, Array.isArray(part)
      ? part.map(mark) : mark(part)]))
    : entry.cuts;
  return { ...entry, ...(entry.domain ? { domain: entry.domain.map(mark) } : {}),
    ...(entry.grid ? { grid: entry.grid.map(mark) } : {}), ...(cuts ? { cuts } : {}),
    ...(entry.importance ? { importance: mark(entry.importance) } : {}) };
}

function parseJson(bytes, what) {
  try {
    return JSON.parse(textOf(bytes));
  } catch {
    return refuse(`${what} is no JSON that can be read`);
  }
}

/** What a report says of a release. */
async function claimOf(report) {
  const run = report.provenance, entries = run && run.schema && run.schema.columns;
  if (!entries || !run.output_sha256 || !report.verification) refuse("this is no report of a release");
  const digest = await sha256(new TextEncoder().encode(plainJson(entries.map(markedEntry))));
  if (digest !== run.schema_sha256) refuse("the report does not have the roles that it states the digest of");
  const described = report.described ? report.described.columns : null;
  const dates = new Map((described || []).map((one) => [one.name, (one.variable && one.variable.dates) || ""]));
  const named = run.parameters.sets === "named";
  if (Boolean(report.sets) && !named) refuse("the report names sets, and says that they are written in full");
  if (report.sets && (await sha256(new TextEncoder().encode(plainJson(report.sets)))) !== report.sets_sha256) {
    refuse("the report does not have the sets that it states the digest of");
  }
  const columns = entries.map((entry) => columnOf({ ...entry, dates: dates.get(entry.name) || "" }));
  return {
    columns, described: described && described.map((one) => one.name), outputs: run.output_sha256,
    rows: report.verification.rows, leftOut: report.verification.left_out || 0, settings: run.parameters,
    limits: Object.fromEntries(LIMITS.map((name) => [name, run.parameters[name] === undefined
      ? null : run.parameters[name]])),
    order: run.row_order === PACKET.content ? "content" : "", time: run.time, ledger: run.ledger || null,
    contained: Boolean(report.described && report.described.contained), sets: named ? report.sets || {} : null,
    override: report.override || "",
  };
}

const releasedOf = (claim) => claim.columns.filter((column) => !LEFT_OUT.includes(column.role));

// Dates in a form of their own.

function datesFrom(text, form) {
  const parts = form.match(/Y+|M+|D+/g);
  const patterns = { YYYY: "([0-9]{4})", MMM: `(${MONTHS.join("|")})`, MM: "([0-9]{2})", DD: "([0-9]{2})",
    M: "([1-9]|1[0-2])", D: "([1-9]|[12][0-9]|3[01])" };
  const pattern = form.replaceAll(".", "\\.").replace(/Y+|M+|D+/g, (part) => patterns[part]);
  return text.replace(new RegExp(`\\b${pattern}\\b`, "g"), (...groups) => {
    const [year, month, day] = ["Y", "M", "D"].map((sign) => groups[1 + parts.findIndex((part) => part[0] === sign)]);
    const number = MONTHS.includes(month) ? MONTHS.indexOf(month) + 1 : month;
    return `${year}-${two(number)}-${two(day)}`;
  });
}

function datesTo(text, form) {
  return text.replace(/\b([0-9]{4})-([0-9]{2})-([0-9]{2})\b/g,
    (_, year, month, day) => form.replace(/Y+|M+|D+/g, (part) => ({
    YYYY: year, MMM: MONTHS[month - 1], MM: month, DD: day, M: String(Number(month)), D: String(Number(day)),
  })[part]));
}

// A table under the roles of its report.

/** One code for texts that have become equal. */
function mergeTexts(values) {
  const place = new Map();
  const to = values.texts.map((text) => place.get(text) ?? place.set(text, place.size).get(text));
  if (place.size === values.texts.length) return;
  values.texts = [...place.keys()];
  values.codes = values.codes.map((code) => to[code]);
}

/** The numbers of the distinct cells of a column that is released unchanged; NaN for missing. */
function numbersOf(values, column) {
  return values.texts.map((text) => {
    if (text === null) return NaN;
    const plain = text.trim(), number = column.kind === "date" ? momentOf(plain) : NUMBER.test(plain)
      ? Number(plain) : NaN;
    if (Number.isFinite(number)) return number + 0;
    return refuse(`column ${excerpt(column.name)} has ${excerpt(text)}, which is no ${column.kind === "date"
      ? "date" : "number"}`);
  });
}

function keptProblem(values, column) {
  const present = values.texts.filter((text) => text !== null), name = excerpt(column.name);
  if (isLevels(column)) {
    const other = present.find((text) => keptText(keptValue(text)) !== text);
    values.values = values.texts.map((text) => (text === null ? null : keptValue(text)));
    return other === undefined ? "" : `Column ${name} has ${excerpt(other)}, which a release writes in another way.`;
  }
  values.numbers = numbersOf(values, column);
  if (new Set(values.numbers.filter((number) => number === number)).size < present.length) {
    return `Column ${name} has a value that is written in two ways.`;
  }
  const plain = present.every((text) => NUMBER.test(text) || DATE.test(text));
  const digits = new Set(present.map((text) => (text.split(".")[1] || "").length));
  if (plain && (present.every(isPlain) || digits.size === 1)) return "";
  return present.length ? `Column ${name} has values with different numbers of digits behind the point.` : "";
}

/** Read a table under a claim; what else is in it joins `beside`. */
function underClaim(table, claim) {
  const beside = [...table.beside];
  for (const column of claim.columns) {
    const values = table.columns.get(column.name);
    if (!values) continue;
    if (column.kind === "date" && column.dates) {
      const before = values.texts;
      values.texts = before.map((text) => text && datesFrom(text, column.dates));
      if (values.texts.some((text, at) => text && datesTo(text, column.dates) !== before[at])) {
        beside.push(`Column ${excerpt(column.name)} does not have its dates written ${column.dates}.`);
      }
      mergeTexts(values);
    }
    const problem = isQuasi(column) ? "" : keptProblem(values, column);
    if (problem) beside.push(problem);
    if (claim.sets && isQuasi(column) && isLevels(column)) {
      beside.push(...writeOut(values, claim.sets[column.name] || {}, column));
      mergeTexts(values);
    }
  }
  return { ...table, beside };
}
