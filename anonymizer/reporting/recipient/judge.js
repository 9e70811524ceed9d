// The form of cells: whether each is one, in its one spelling, within its domain, and written as the report says.

function cellOrNull(text, column) {
  try {
    return parseColumnCell(text, column);
  } catch (error) {
    return error instanceof Unreadable ? null : raise(error);
  }
}

function sameLists(one, other) {
  return one.length === other.length && one.every((item, at) => item === other[at]);
}

const ascends = (items, compare) => items.every((item, at) => !at || compare(items[at - 1], item) <= 0);

/** Whether levels stand in the order of their letters, or of numbers where all are such. */
function levelsAscend(levels) {
  if (ascends(levels, compareTexts)) return true;
  const numbers = levels.every((level) => NUMBER.test(level.trim()) && Number.isFinite(Number(level)));
  return numbers && ascends(levels, (one, other) => Number(one) - Number(other) || compareTexts(one, other));
}

class Judge {
  constructor(column) {
    this.column = column;
    this.place = new Map(isLevels(column) && column.domain ? column.domain.map((level, at) => [level, at]) : []);
    this.inFull = new Set();
    this.readable = true;
  }

  /** What is wrong with a cell; "" when nothing is. */
  problem(text, values) {
    let cell;
    try {
      cell = parseColumnCell(text, this.column);
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      this.readable = false;
      return error.message;
    }
    values.cells.set(text, cell);
    if (!this.isSpelled(cell, text)) return "a cell has one spelling, and this is another";
    if (cell.withheld || (cell.missing && !cell.levels.length && !cell.ends)) return "";
    return isLevels(this.column) ? this.levelsProblem(cell) : this.numbersProblem(cell);
  }

  isSpelled(cell, text) {
    const inFull = cell.words.length > 0 && this.column.bands !== null && cellText({ ...cell, words: [] }) === text;
    if (cell.words.length) this.inFull.add(inFull);
    return this.inFull.size < 2 && (cellText(cell) === text || (inFull && this.column.suggested));
  }

  levelsProblem(cell) {
    const { column, place } = this;
    if (cell.ends) return "an interval in a column of levels";
    if (place.size) {
      const unknown = cell.levels.find((level) => !place.has(level));
      if (unknown !== undefined) return `${excerpt(unknown)} is outside the declared domain`;
      if (column.hierarchy && cell.levels.length > 1 && !cell.words.length) {
        return "it does not keep to the public hierarchy";
      }
      const inOrder = cell.levels.every((level, at) => !at || place.get(cell.levels[at - 1]) < place.get(level));
      if (inOrder || column.declared) return inOrder ? "" : "the levels are not in their order";
    }
    return levelsAscend(cell.levels) ? "" : "the levels are not in their order";
  }

  numbersProblem(cell) {
    const { column } = this, ofDates = column.kind === "date", what = ofDates ? "dates" : "numbers";
    if (!cell.ends) return `levels in a column of ${what}`;
    if (hasCuts(column) && !keepsToCuts(cell, column)) return "it does not keep to the public cuts";
    for (const text of cell.ends.filter(Boolean)) {
      if (DATE.test(text) !== ofDates) return `a ${ofDates ? "number" : "date"} in a column of ${what}`;
      if (!isPlain(text)) return "a number or date has one spelling, and this is another";
    }
    if (!hasCuts(column) && cell.ends.includes("")) return "an open end in a column without public cuts";
    const ends = [cell.low, cell.high].filter(Number.isFinite);
    const inside = !column.domain || (column.domain[0] <= ends[0] && ends[ends.length - 1] <= column.domain[1]);
    return inside ? "" : "it is outside the declared domain";
  }
}

// Public cuts.

function hasCuts({ cuts }) {
  return Boolean(cuts.hierarchy || (cuts.bands && cuts.bands.length))
    || ["bottom", "top", "rounding"].some((name) => cuts[name] != null);
}

function roundTo(number, step) {
  const whole = Math.floor(Number((number / step).toFixed(9)) + 0.5) * step;
  return step % 1 === 0 || !Number.isFinite(whole)
    ? whole : Number(whole.toFixed(Math.min(100, Math.max(0, 10 - Math.floor(Math.log10(step))))));
}

function keepsToCuts({ low, high }, { cuts, hierarchy }) {
  if (cuts.bands && cuts.bands.length) {
    const later = cuts.bands.slice(1);
    return cuts.bands.includes(low) && (high === Infinity || later.includes(high)
      || later.some((start) => Math.ceil(start) - 1 === high));
  }
  if (hierarchy) {
    const first = hierarchy.numbers.indexOf(low), last = hierarchy.numbers.indexOf(high);
    if (first < 0 || last < 0) return false;
    return first === last || hierarchy.wordOf.has(`${first},${last}`)
      || (first === 0 && last === hierarchy.numbers.length - 1);
  }
  const step = cuts.rounding;
  if (step != null && [low, high].some((end) => Number.isFinite(end) && roundTo(end, step) !== end)) return false;
  const least = cuts.bottom ?? -Infinity, most = cuts.top ?? Infinity;
  const below = low === -Infinity && cuts.bottom != null, above = high === Infinity && cuts.top != null;
  return (below || (Number.isFinite(low) && low >= least && high > least))
    && (above || (Number.isFinite(high) && high <= most && low < most));
}

// Columns without boxes.

function isTreated(text, number, treat) {
  const [name, words] = treat.split(":"), n = Number(words);
  if (name === "round") {
    const nearest = Math.floor(Number((number / n).toFixed(9)) + 0.5) * n;
    return Math.abs(nearest - number) <= 1e-9 * Math.max(1, Math.abs(number));
  }
  if (name === "digits") {
    return (text.match(/[\p{L}\p{N}]/gu) || []).length <= n;
  }
  const days = Math.floor(number / MICROSECONDS), [, month, day] = dayOf(days), rest = number - days * MICROSECONDS;
  if (name === "hour") return rest % 3600e6 === 0;
  if (!["day", "month", "quarter", "year"].includes(name)) return true;
  return !rest && (name === "day" || (day === 1
    && (name === "month" || (month - 1) % (name === "year" ? 12 : 3) === 0)));
}

function outsideProblem(values, at, column) {
  const text = values.texts[at], number = values.numbers ? values.numbers[at] : NaN;
  if (text === null) return "";
  if (column.treat) {
    return isTreated(values.values ? values.values[at] : text, number, column.treat)
      ? "" : `it is not treated: ${column.treat}`;
  }
  if (!column.domain) return "";
  const { domain } = column, isBetween = number >= domain[0] && number <= domain[1];
  const inside = isLevels(column) ? domain.includes(values.values[at]) : isBetween;
  return inside ? "" : "it is outside the declared domain";
}

/** The check that every cell is one, in its one spelling, within the domain. */
function cellsCheck(table, claim, classes) {
  const sentences = [];
  let wrong = 0;
  for (const column of releasedOf(claim)) {
    const values = table.columns.get(column.name);
    if (!values) continue;
    const judge = new Judge(column), problems = new Map();
    values.cells = new Map();
    values.texts.forEach((text, at) => {
      const judged = () => (text === null ? "" : judge.problem(text, values));
      const problem = isQuasi(column) ? judged() : outsideProblem(values, at, column);
      if (problem) problems.set(at, problem);
    });
    if (isQuasi(column)) noteWrongCounts(values, classes, problems);
    if (!problems.size) continue;
    const rows = new Float64Array(values.texts.length);
    for (const code of values.codes) rows[code]++;
    const places = [...problems.keys()], worst = places.reduce((one, at) => (rows[at] > rows[one] ? at : one));
    const number = places.reduce((sum, at) => sum + rows[at], 0);
    wrong += number;
    sentences.push(`${rowsText(number)} of ${column.name} (${excerpt(values.texts[worst])}: ${problems.get(worst)}).`);
  }
  const sentence = wrong ? `Cells are not in order: ${sentences.join(" ")}` : "Every cell has the expected format.";
  return { name: "cells", required: 0, achieved: wrong, passed: !wrong, sentence };
}

/** Note the cells whose counts do not add up to the groups that have them. */
function noteWrongCounts(values, classes, problems) {
  const totals = values.texts.map((text) => {
    const cell = values.cells.get(text);
    return cell ? cell.counts.reduce((sum, number) => sum + number, 0) : 0;
  });
  if (!totals.some(Boolean)) return;
  values.codes.forEach((code, row) => {
    if (totals[code] && classes.sizes[classes.of[row]] % totals[code] && !problems.has(code)) {
      problems.set(code, "its counts do not add up to a group of rows");
    }
  });
}

// Whether cells are written as the report says: on the declared grid, in the way that levels and numbers are written.

function isOnLine(end, column) {
  if (!Number.isFinite(end)) return false;
  const [step, origin] = column.grid;
  if (typeof step === "number") {
    const places = (end - origin) / step, floor = Math.floor(places), rest = places - floor;
    const nearest = origin + (rest < 0.5 || (rest === 0.5 && floor % 2 === 0) ? floor : floor + 1) * step;
    return Math.abs(nearest - end) <= 1e-9 * Math.max(1, Math.abs(end), step);
  }
  const days = Math.floor(end / MICROSECONDS), [year, month, day] = dayOf(days);
  if (end !== days * MICROSECONDS || step === "day") return end === days * MICROSECONDS;
  if (step === "week") return day === 1 || (((days + 3) % 7) + 7) % 7 === 0;
  const every = { month: 1, quarter: 3, year: 12, decade: 120 }[step], months = (year - 1970) * 12 + month - 1;
  return day === 1 && ((months % every) + every) % every === 0;
}

function writtenProblem(cell, column, levels, { numbers, writing }) {
  if (cell.estimate && numbers != null && !["mean", "median"].includes(numbers)) {
    return `is a mean or median, and numbers are written as ${numbers}`;
  }
  const several = cell.levels.length + (cell.missing ? 1 : 0) > 1 && !column.hierarchy;
  const ways = cell.counts.length ? ["weighted"] : cell.joined ? ["concatenate"] : several ? ["sets", "groups"] : [];
  if (ways.length && writing != null && isLevels(column) && !ways.includes(writing)) {
    return `is not how levels are written as ${writing}`;
  }
  if (writing === "groups" && several && column.groups) {
    const inside = new Set(cell.levels);
    const parted = (group) => group.some((level) => inside.has(level))
      && group.some((level) => levels.has(level) && !inside.has(level));
    if (column.groups.some(parted)) return "is not made of whole public groups";
  }
  if ((numbers != null && numbers !== "public") || !column.grid || hasCuts(column) || !cell.ends) return "";
  const domain = column.domain || [], unit = column.kind === "date" ? MICROSECONDS : 1;
  const isEnd = (end) => domain.includes(end) || isOnLine(end, column);
  return isEnd(cell.low) && (isEnd(cell.high) || isOnLine(cell.high + unit, column))
    ? "" : "does not end where the declared grid does";
}

function writtenOtherwise(table, claim) {
  return claim.columns.filter((column) => isQuasi(column) && table.columns.has(column.name)).flatMap((column) => {
    const { cells, texts } = table.columns.get(column.name);
    const all = [...cells.values(), ...(texts.includes(null) ? [MISSING_CELL] : [])];
    const levels = new Set([...(isLevels(column) && column.domain ? column.domain : []),
      ...all.flatMap((cell) => cell.levels)]);
    for (const cell of all) {
      const problem = writtenProblem(cell, column, levels, claim.settings);
      if (problem) {
        const text = excerpt(cellText(cell) || "");
        return [`Cells of column ${excerpt(column.name)} are not as was said: ${text} ${problem}.`];
      }
    }
    return [];
  });
}
