// Figures that are computed again from the cells: groups, k, l, t, and the order of rows.

const TOLERANCE = 1e-9;
const atLeast = (achieved, required) => achieved >= required - TOLERANCE * Math.max(1, Math.abs(required));
const OF_VALUES = ["l", "entropy_l", "t", "rsd_min", "spread_min"];

function count(number) {
  return Math.round(number).toLocaleString("en-US");
}

function rowsText(number) {
  return number === 1 ? "1 row" : `${count(number)} rows`;
}

/** The groups of rows whose cells are alike in some columns: `of` each row, and their `sizes`. */
function classesOf(columns, rows) {
  let of = new Int32Array(rows), groups = 1;
  for (const { codes, texts } of columns) {
    const next = new Int32Array(rows), bound = texts.length;
    const dense = groups * bound <= 4 * rows + 65536;
    const place = dense ? new Int32Array(groups * bound).fill(-1) : new Map();
    groups = 0;
    for (let row = 0; row < rows; row++) {
      const key = of[row] * bound + codes[row], group = dense ? place[key] : place.get(key);
      if (group === undefined || group < 0) {
        if (dense) place[key] = groups;
        else place.set(key, groups);
        next[row] = groups++;
      } else {
        next[row] = group;
      }
    }
    of = next;
  }
  const sizes = new Float64Array(rows ? groups : 0);
  for (let row = 0; row < rows; row++) sizes[of[row]]++;
  return { of, sizes };
}

function smallest(values) {
  let at = 0;
  for (let place = 1; place < values.length; place++) if (values[place] < values[at]) at = place;
  return at;
}

// Values of sensitive columns.

/** What is left of a level when case, form, accents, blanks, dots and hyphens do not count. */
function meaningOf(text) {
  let plain = text;
  if (/[^\x00-\x7f]/.test(text)) {
    plain = text.normalize("NFKC").toUpperCase().toLowerCase().replaceAll("ς", "σ").normalize("NFD")
      .replace(/(?!\s)[\p{Cf}\p{Cc}]|[\u0300-\u036f]/gu, "").normalize("NFC");
  }
  plain = plain.toLowerCase().split(/[\s\u001c-\u001f\u0085]+/).filter(Boolean).join(" ");
  const word = plain.replace(/(?<=[\p{L}\p{N}_])[-_.'’\u2010-\u2015 ]+(?=[\p{L}\p{N}_])/gu, (match, at, whole) =>
    (/\p{Nd}/u.test(whole[at - 1]) && /\p{Nd}/u.test(whole[at + match.length]) ? match : ""));
  return word.replace(/(?<=[\p{L}\p{M}])\.$/u, "") || text;
}

/** The place of each distinct value among all, whether the places carry an order, and of which somebody learns. */
function ranksOf(values, column) {
  const { texts, numbers } = values;
  if (!isLevels(column)) {
    const distinct = [...new Set(numbers.filter((number) => number === number))].sort((a, b) => a - b);
    const place = new Map(distinct.map((number, at) => [number, at])), misses = texts.includes(null);
    const tells = [...distinct.map(() => true), ...(misses ? [false] : [])];
    return { of: numbers.map((number) => (number === number ? place.get(number) : distinct.length)), tells,
      ordered: true };
  }
  const domain = column.ordered && column.domain ? column.domain : [];
  const levels = values.values.map((level, at) => {
    const rank = level === null ? -1 : domain.indexOf(level);
    const key = level === null ? null : meaningOf(level);
    return { at, key, place: rank >= 0 ? rank : domain.length + (level === null ? 1 : 0) };
  });
  levels.sort((one, other) => one.place - other.place || (one.key === null) - (other.key === null)
    || one.at - other.at);
  const rank = new Map(), of = [], harmless = new Set(column.harmless.map(meaningOf));
  for (const { at, key } of levels) of[at] = rank.get(key) ?? rank.set(key, rank.size).get(key);
  return { of, tells: [...rank.keys()].map((key) => key !== null && !harmless.has(key)), ordered: domain.length > 0 };
}

/** The runs of equal ranks: each rank with how often it occurs. */
function runsOf(ranks) {
  const runs = [];
  for (let from = 0; from < ranks.length;) {
    let to = from + 1;
    while (to < ranks.length && ranks[to] === ranks[from]) to++;
    runs.push([ranks[from], to - from]);
    from = to;
  }
  return runs;
}

/** How often each value occurs in each group: runs of one group, of one value, in their order. */
function histogramsOf(values, column, classes) {
  const ranks = ranksOf(values, column), totals = new Float64Array(ranks.tells.length), { codes } = values;
  const ends = new Int32Array(classes.sizes.length + 1), sorted = new Int32Array(codes.length);
  classes.sizes.forEach((size, group) => { ends[group + 1] = ends[group] + size; });
  const place = ends.slice();
  for (let row = 0; row < codes.length; row++) {
    const rank = ranks.of[codes[row]];
    totals[rank]++;
    sorted[place[classes.of[row]]++] = rank;
  }
  const groups = Array.from(classes.sizes, (_, group) => runsOf(sorted.subarray(ends[group], ends[group + 1]).sort()));
  return { ...ranks, totals, groups, sizes: classes.sizes };
}

function distinctOf({ groups, tells, totals }) {
  const every = tells.filter((one, at) => one && totals[at] > 0).length;
  return groups.map((runs) => runs.filter(([rank]) => tells[rank]).length || every);
}

function effectiveOf(histograms) {
  const distinct = distinctOf(histograms);
  return histograms.groups.map((runs, group) => {
    let rows = 0, logs = 0;
    for (const [rank, number] of runs) {
      if (!histograms.tells[rank]) continue;
      rows += number;
      logs += number * Math.log(number);
    }
    return rows ? Math.max(1, Math.exp(Math.log(rows) - logs / rows)) : Math.max(1, distinct[group]);
  });
}

/** The earth mover's distance of each group's values to those of the whole table, 0 to 1. */
function distancesOf({ groups, totals, sizes, ordered }) {
  const width = totals.length, rows = totals.reduce((sum, number) => sum + number, 0);
  if (!ordered) {
    return groups.map((runs, group) =>
      1 - runs.reduce((sum, [rank, number]) => sum + Math.min(number / sizes[group], totals[rank] / rows), 0));
  }
  if (width < 2) return groups.map(() => 0);
  const overall = new Float64Array(width), area = new Float64Array(width + 1);
  let running = 0;
  for (let rank = 0; rank < width; rank++) {
    running += totals[rank];
    overall[rank] = running / rows;
    area[rank + 1] = area[rank] + overall[rank];
  }
  return groups.map((runs, group) => {
    let sum = area[runs[0][0]], before = 0;
    runs.forEach(([rank, number], at) => {
      before += number;
      const share = before / sizes[group], end = at + 1 < runs.length ? runs[at + 1][0] : width - 1;
      let low = rank, high = Math.max(end, rank);
      while (low < high) {
        const middle = (low + high) >> 1;
        if (overall[middle] < share) low = middle + 1;
        else high = middle;
      }
      sum += share * (2 * low - rank - end) + area[rank] + area[end] - 2 * area[low];
    });
    return Math.min(1, Math.max(0, sum / (width - 1)));
  });
}

/** Of a numeric column: the squared error that each group's mean leaves, and its spread, as shares of the table's. */
function spreadsOf({ codes, numbers }, classes) {
  let sum = 0, rows = 0, least = Infinity, most = -Infinity;
  for (const code of codes) {
    const number = numbers[code];
    if (number !== number) continue;
    sum += number;
    rows++;
    least = Math.min(least, number);
    most = Math.max(most, number);
  }
  const ones = () => new Float64Array(classes.sizes.length).fill(1), rsd = ones(), spread = ones();
  if (!rows) return { rsd, spread };
  const mean = sum / rows, scale = most - least || 1,
    away = numbers.map((number) => (number === number ? (number - mean) / scale : 0));
  const [means, within, around] = [0, 1, 2].map(() => new Float64Array(classes.sizes.length));
  codes.forEach((code, row) => { means[classes.of[row]] += away[code] / classes.sizes[classes.of[row]]; });
  let whole = 0;
  codes.forEach((code, row) => {
    const group = classes.of[row];
    within[group] += (away[code] - means[group]) ** 2;
    around[group] += away[code] ** 2;
    whole += away[code] ** 2 / codes.length;
  });
  classes.sizes.forEach((size, group) => {
    if (around[group] > 1e-12) rsd[group] = Math.min(1, within[group] / around[group]);
    if (whole > 0) spread[group] = Math.sqrt(within[group] / size / whole);
  });
  return { rsd, spread };
}

// Checks.

function check(name, required, achieved, passed, sentence) {
  return { name, required, achieved, passed, sentence };
}

function judged(name, required, achieved, least, holds, fails) {
  const passed = required == null ? null : least ? atLeast(achieved, required) : atLeast(-achieved, -required);
  return check(name, required ?? null, achieved, passed, passed === false ? fails : holds);
}

function sensitiveCheck(table, claim) {
  const on = OF_VALUES.filter((name) => claim.limits[name] != null);
  if (!on.length) return [];
  const sensitive = claim.columns.filter((column) => column.role === "sensitive");
  const absent = sensitive.filter((column) => !table.columns.has(column.name)).map((column) => column.name);
  const passed = sensitive.length > 0 && !absent.length;
  const sentence = passed ? "Every sensitive column is in the release."
    : "The release lacks sensitive values that its limits speak of.";
  return [check("sensitive columns", 0, absent.length, passed, sentence)];
}

function columnsCheck(table, claim) {
  const roles = new Map(claim.columns.map((column) => [column.name, column.role]));
  const wrong = table.names.filter((name) => !roles.has(name) || LEFT_OUT.includes(roles.get(name)));
  const sentence = wrong.length ? `The release has columns that should not be there: ${wrong.join(", ")}.`
    : "No identifying and no unknown column is in the release.";
  return check("columns", 0, wrong.length, !wrong.length, sentence);
}

function sizeCheck(classes, { limits: { k } }) {
  const size = classes.sizes[smallest(classes.sizes)], small = classes.sizes.filter((one) => one < k);
  const rows = small.reduce((sum, one) => sum + one, 0);
  const groups = `${count(small.length)} of ${count(classes.sizes.length)} groups`;
  const sentence = size >= k ? `The smallest group has ${rowsText(size)}; at least ${count(k)} were promised.`
    : `${groups} have fewer than ${count(k)} rows, ${count(rows)} in all; ${count(k)} were promised.`;
  return check("k-anonymity", k, size, size >= k, sentence);
}

function valuesChecks(column, values, classes, { limits }) {
  const { name } = column, histograms = histogramsOf(values, column, classes), checks = [];
  if (histograms.tells.some((one, at) => one && histograms.totals[at] > 0)) {
    const distinct = distinctOf(histograms), l = distinct[smallest(distinct)];
    checks.push(judged(`distinct l-diversity of ${name}`, limits.l, l, true,
      `Every group holds at least ${count(l)} different values of ${name}.`,
      `A group holds only ${count(l)} different values of ${name}; ${limits.l} were promised.`));
    const effective = effectiveOf(histograms), mixed = effective[smallest(effective)];
    checks.push(judged(`entropy l-diversity of ${name}`, limits.entropy_l, mixed, true,
      `In every group, ${name} is at least as mixed as ${mixed.toFixed(2)} equally frequent values.`,
      `In a group, ${name} is only as mixed as ${mixed.toFixed(2)} equal shares; ${limits.entropy_l} was promised.`));
  } else {
    for (const [model, limit] of [["distinct", limits.l], ["entropy", limits.entropy_l]]) {
      checks.push(check(`${model} l-diversity of ${name}`, limit ?? null, null, limit == null ? null : true,
        `Nobody has a value of ${name} that tells something.`));
    }
  }
  const distances = distancesOf(histograms), t = distances.reduce((most, one) => Math.max(most, one), 0);
  checks.push(judged(`t-closeness of ${name}`, limits.t, t, false,
    `No group's values of ${name} are further than ${t.toFixed(3)} from the whole table's.`,
    `A group's values of ${name} are ${t.toFixed(3)} away from the whole table's; at most ${limits.t} was promised.`));
  return checks;
}

function spreadChecks(column, values, classes, { limits }) {
  const spreads = spreadsOf(values, classes), { name } = column;
  return [["RSD", spreads.rsd, limits.rsd_min, "squared error"],
    ["spread", spreads.spread, limits.spread_min, "standard deviation"]]
    .map(([model, shares, limit, what]) => {
      const least = shares[smallest(shares)], share = `${(100 * least).toFixed(1)}% of the table's ${what} of ${name}`;
      return judged(`${model} of ${name}`, limit, least, true, `Every group leaves at least ${share}.`,
        `A group leaves only ${share}; ${limit} was promised.`);
    });
}

// The order of rows.

function orderKeys(values, column) {
  const keys = values.texts.map((text, at) => {
    if (!isQuasi(column)) {
      return text === null ? [1] : isLevels(column) ? [0, values.values[at]] : [0, values.numbers[at]];
    }
    const cell = text === null ? MISSING_CELL : values.cells.get(text);
    const own = cellText(cell);
    const ends = cell.low === null ? [1, 0, 0] : [0, cell.low, cell.high];
    return [own === null ? 1 : 0, ...ends, own || ""];
  });
  const compare = (one, other) => {
    for (let at = 0; at < one.length && at < other.length; at++) {
      const [a, b] = [one[at], other[at]];
      if (a !== b) return typeof a === "string" ? compareTexts(a, b) : a < b ? -1 : 1;
    }
    return 0;
  };
  const inOrder = keys.map((_, at) => at).sort((one, other) => compare(keys[one], keys[other])), rank = [];
  inOrder.forEach((at, place) => {
    rank[at] = place && compare(keys[inOrder[place - 1]], keys[at]) === 0 ? rank[inOrder[place - 1]] : place;
  });
  return { codes: values.codes, rank };
}

/** Whether rows stand as their own cells sort; null where that was not promised or cannot be told. */
function standsSorted(table, claim) {
  if (claim.order !== "content" || releasedOf(claim).some((column) => !table.columns.has(column.name))) return null;
  const columns = releasedOf(claim);
  const keys = [...columns.filter(isQuasi), ...columns.filter((column) => !isQuasi(column))]
    .map((column) => orderKeys(table.columns.get(column.name), column));
  for (let row = 1; row < table.rows; row++) {
    for (const { codes, rank } of keys) {
      const step = rank[codes[row]] - rank[codes[row - 1]];
      if (step < 0) return false;
      if (step > 0) break;
    }
  }
  return true;
}

/** All that a table shows by itself, under the roles and limits of its report. */
function checkTable(bytes, claim) {
  const table = underClaim(readTable(bytes), claim), quasi = claim.columns.filter(isQuasi);
  if (!table.rows) refuse("the release has no rows");
  if (!quasi.length) refuse("no column is a quasi-identifier");
  const absent = quasi.find((column) => !table.columns.has(column.name));
  if (absent) refuse(`the release has no column ${excerpt(absent.name)}`);
  const classes = classesOf(quasi.map((column) => table.columns.get(column.name)), table.rows);
  const cells = cellsCheck(table, claim, classes);
  const sentence = table.beside.join(" ") || "The file holds its rows and nothing else, written in one way.";
  const checks = [check("file", 0, table.beside.length, !table.beside.length, sentence), cells,
    ...sensitiveCheck(table, claim),
    columnsCheck(table, claim), sizeCheck(classes, claim)];
  for (const column of claim.columns.filter(({ role, name }) => role === "sensitive" && table.columns.has(name))) {
    const values = table.columns.get(column.name);
    checks.push(...valuesChecks(column, values, classes, claim),
      ...(isLevels(column) ? [] : spreadChecks(column, values, classes, claim)));
  }
  const readable = quasi.map((column) => table.columns.get(column.name))
    .every((values) => values.texts.every((text) => text === null || values.cells.has(text)));
  const sorted = readable ? standsSorted(table, claim) : null, others = [];
  if (releasedOf(claim).every((column) => table.columns.has(column.name))) {
    others.push(...writtenOtherwise(table, claim));
  }
  if (sorted === false) {
    others.push("The rows do not stand in the order that the report says: they are not sorted by their own cells.");
  }
  return { table, classes, checks, readable, sorted, others, passed: checks.every(({ passed }) => passed !== false) };
}
