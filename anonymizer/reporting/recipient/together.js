// Two released files or more: what they prove of the cells that they make together, without the table.

/** Whether each pair of distinct cells of a column can hold one value. */
function meetsOf(first, second, column) {
  const cellOf = (values, text) => (text === null ? MISSING_CELL : values.cells.get(text));
  const [ones, others] = [first, second].map((values) => values.texts.map((text) => cellOf(values, text)));
  const sets = others.map((cell) => new Set(cell.levels)), width = others.length,
    meets = new Uint8Array(ones.length * width);
  ones.forEach((one, at) => others.forEach((other, place) => {
    const anything = one.withheld || other.withheld || one.estimate || other.estimate;
    const ends = one.ends && other.ends && Math.max(one.low, other.low) <= Math.min(one.high, other.high);
    if (anything || ends || (one.missing && other.missing) || one.levels.some((level) => sets[place].has(level))) {
      meets[at * width + place] = 1;
    }
  }));
  return { meets, width, name: column.name };
}

/** A number of each row's values in the columns that all files have unchanged, the same in all files. */
function valueNumbers(files, names) {
  let numbers = files.map(({ result: { table } }) => new Int32Array(table.rows));
  for (const name of names) {
    const place = new Map(), next = new Map(),
      number = (key, places) => places.get(key) ?? places.set(key, places.size).get(key);
    const columns = files.map(({ result: { table } }) => table.columns.get(name));
    const own = columns.map(({ texts, values, numbers: figures }) =>
      texts.map((text, at) => number(text === null ? null : (figures || values)[at], place)));
    numbers = numbers.map((before, file) =>
      before.map((value, row) => number(value * place.size + own[file][columns[file].codes[row]], next)));
  }
  return numbers;
}

function unchangedIn(files) {
  const boxes = new Set(files.flatMap(({ claim }) => claim.columns.filter(isQuasi).map((column) => column.name)));
  const names = files.map(({ claim }) => new Set(releasedOf(claim).map((column) => column.name)));
  return releasedOf(files[0].claim).map((column) => column.name).filter((name) => !boxes.has(name)
    && names.every((own) => own.has(name)));
}

/** The rows of a file by value, then by group: entries of `group` and `rows`. */
function entriesOf(numbers, classes) {
  const entries = new Map();
  numbers.forEach((value, row) => {
    const own = entries.get(value) ?? entries.set(value, new Map()).get(value), group = classes.of[row];
    own.set(group, (own.get(group) || 0) + 1);
  });
  return entries;
}

const firstRows = ({ of, sizes }) => {
  const rows = new Int32Array(sizes.length).fill(-1);
  of.forEach((group, row) => { if (rows[group] < 0) rows[group] = row; });
  return rows;
};

function countEach(numbers) {
  const counts = new Map();
  for (const number of numbers) counts.set(number, (counts.get(number) || 0) + 1);
  return counts;
}

/** The least and the most people of each cell that two files can have. */
function boundsOf(first, second) {
  const files = [first, second], [one, other] = valueNumbers(files, unchangedIn(files));
  const counts = [countEach(one), countEach(other)];
  const same = counts[0].size === counts[1].size
    && [...counts[0]].every(([value, number]) => counts[1].get(value) === number);
  const common = first.claim.columns.filter((column) => isQuasi(column)
    && second.claim.columns.some((own) => isQuasi(own) && own.name === column.name));
  const rows = files.map(({ result }) => firstRows(result.classes));
  const columns = common.map((column) => {
    const values = files.map(({ result }) => result.table.columns.get(column.name));
    const codes = values.map((own, at) => Int32Array.from(rows[at], (row) => own.codes[row]));
    return { ...meetsOf(values[0], values[1], column), one: codes[0], other: codes[1] };
  });
  const meet = (g, h) => columns.every(({ meets, width, one: own, other: their }) => meets[own[g] * width + their[h]]);
  const entries = [entriesOf(one, first.result.classes), entriesOf(other, second.result.classes)];
  const cells = new Map(), width = second.result.classes.sizes.length;
  for (const [value, own] of entries[0]) {
    const their = [...(entries[1].get(value) || [])], pairs = [], rest = [new Map(), new Map()];
    for (const [g, a] of own) {
      for (const [h, b] of their) {
        if (!meet(g, h)) continue;
        const most = Math.min(a, b);
        pairs.push([g, h, a, b, most]);
        rest[0].set(g, (rest[0].get(g) || 0) + most);
        rest[1].set(h, (rest[1].get(h) || 0) + most);
      }
    }
    const alone = counts[0].get(value) === 1 && counts[1].get(value) === 1;
    for (const [g, h, a, b, most] of pairs) {
      const surely = same ? Math.max(0, a - rest[0].get(g) + most, b - rest[1].get(h) + most) : alone ? most : 0;
      const key = g * width + h, cell = cells.get(key) || { first: g, second: h, least: 0, most: 0 };
      cell.least += surely;
      cell.most += most;
      cells.set(key, cell);
    }
  }
  return { cells, same, width };
}

function pairVerdict({ cells, same }, k) {
  const all = [...cells.values()];
  if (all.some(({ least, most }) => least > 0 && most < k)) return "fails";
  return all.every(({ least }) => least >= k) && (same || !all.length) ? "holds" : "open";
}

function surelyBelow({ cells }, k) {
  let below = 0;
  for (const { least, most } of cells.values()) if (most < k) below += least;
  return below;
}

/** Of more than two files: the groups of the rows whose unchanged values are unique in all of them. */
function joinedRows(files) {
  const numbers = valueNumbers(files, unchangedIn(files)), counts = numbers.map(countEach);
  const rowOf = numbers.map((own) => new Map(Array.from(own, (value, row) => [value, row])));
  return [...counts[0].keys()].filter((value) => counts.every((own) => own.get(value) === 1))
    .map((value) => files.map(({ result }, at) => result.classes.of[rowOf[at].get(value)]));
}

/** How many joined rows are surely in a cell of fewer than k. */
function sureRows(joined, files, pairs, k) {
  const cells = countEach(joined.map(String)), inside = files.map((_, at) => countEach(joined.map((row) => row[at])));
  return joined.filter((row) => {
    const others = row.map((group, at) => files[at].result.classes.sizes[group] - inside[at].get(group));
    const most = [cells.get(String(row)) + Math.min(...others)];
    for (const { first, second, bounds } of pairs) {
      const cell = bounds.cells.get(row[first] * bounds.width + row[second]);
      if (cell) most.push(cell.most);
    }
    return Math.min(...most) < k;
  }).length;
}

/** What several files prove together. The verdict is `fails`, `holds`, or `open`: the files cannot tell. */
function checkTogether(files) {
  const k = Math.max(...files.map(({ claim }) => claim.limits.k)), pairs = [];
  const unread = files.find(({ result }) => !result.readable);
  if (unread) refuse(`${unread.name} has cells that cannot be read`);
  for (let first = 0; first < files.length; first++) {
    for (let second = first + 1; second < files.length; second++) {
      const pair = [files[first], files[second]],
        names = pair.map(({ claim }) => claim.columns.filter(isQuasi).map((column) => column.name));
      if (!unchangedIn(pair).length && !names[0].some((name) => names[1].includes(name))) {
        refuse("two of the files have no column in common");
      }
      const bounds = boundsOf(...pair);
      pairs.push({ first, second, bounds, below: surelyBelow(bounds, k) });
    }
  }
  const small = files.map(({ result: { classes } }) =>
    classes.sizes.filter((size) => size < k).reduce((sum, size) => sum + size, 0));
  const same = pairs.every(({ bounds }) => bounds.same);
  let below = Math.max(...small, ...pairs.map((pair) => pair.below));
  let holds = files.length === 2 && pairVerdict(pairs[0].bounds, k) === "holds";
  if (files.length > 2) {
    const joined = joinedRows(files);
    below = Math.max(below, sureRows(joined, files, pairs, k));
    holds = same && joined.length === files[0].result.table.rows
      && Math.min(...countEach(joined.map(String)).values()) >= k;
  }
  const persons = same ? files[0].result.table.rows : null;
  return { k, below, persons, verdict: below ? "fails" : holds ? "holds" : "open" };
}
