// Words for several levels: runs of bands, public hierarchies, sets with a short name.

const IN_BRACKETS = new RegExp(`^([\\[(])\\s*(${END})(\\s*[,;–-]\\s*)(${END})\\s*([\\])])$`);
const wordSet = (text) => new Set(text.split(" "));
const BELOW = wordSet("<= ≤ < under below less lessthan upto unter bis moins menos meno minder jusqua hasta fino");
const ABOVE = wordSet(">= ≥ > over above more morethan greaterthan greater uber mehr ab plus mas piu mais meer");
const OPENING = wordSet("between from age ages aged von zwischen entre de da van leeftijd");
const BETWEEN = wordSet("- to bis a au al ate tot und and years year");
const EXCLUDING = wordSet(
  "< > under below less lessthan unter menos meno minder over above more morethan greaterthan greater uber",
);
const AFTER = wordSet("+ plus more mehr mas over");
const BRACKETS = ["[", "(", "]", ")"];
const MOST_BANDS = 300;

const has = (parts, words) => parts.some((part) => words.has(part));

/** The band that a level is, such as `18-25`, `[0-10)` or `80+`; null where it is none. */
function bandOf(level) {
  const bracketed = IN_BRACKETS.exec(level.trim());
  if (bracketed) {
    const [, before, one, between, other, behind] = bracketed;
    const [low, high] = [one, other].map((end) => (/inf/i.test(end)
      ? (end[0] === "-" ? -Infinity : Infinity) : Number(end)));
    return low < high ? { low, high, ends: [one, other], before, between, behind } : null;
  }
  const texts = [...level.matchAll(/[0-9][0-9,]*(?:\.[0-9]+)?/g)];
  const plain = level.toLowerCase().replaceAll("–", "-").replaceAll(",",
    "").normalize("NFKD").replace(/[^\x00-\x7f≤≥]/g, "");
  const parts = plain.match(/[0-9]+(?:\.[0-9]+)?|[a-z]+|<=|>=|[-<>≤≥+]/g) || [];
  const places = parts.flatMap((part, at) => (/[0-9]/.test(part[0]) ? [at] : []));
  if (texts.length !== places.length || ![1, 2].includes(places.length)) return null;
  const first = texts[0], last = texts[texts.length - 1];
  const before = level.slice(0, first.index), behind = level.slice(last.index + last[0].length);
  const [low, high] = [places[0], places[places.length - 1]].map((at) => Number(parts[at]));
  const opening = parts.slice(0, places[0]), closing = parts.slice(places[places.length - 1] + 1);
  if (places.length === 2) {
    const inside = parts.slice(places[0] + 1, places[1]);
    const joins = inside.every((part) => BETWEEN.has(part))
      && inside.some((part) => part !== "years" && part !== "year");
    const fits = joins && opening.every((part) => OPENING.has(part)) && low < high;
    const between = level.slice(first.index + first[0].length, last.index);
    return fits ? { low, high, ends: [first[0], last[0]], before, between, behind } : null;
  }
  if (has(opening, BELOW)) return { low: -Infinity, high, ends: ["", last[0]], before, between: "", behind };
  if (has(opening, ABOVE) || has(closing, AFTER)) {
    return { low, high: Infinity, ends: [first[0], ""], before, between: "", behind };
  }
  return null;
}

function excludes(band) {
  const words = band.before.toLowerCase().normalize("NFKD").match(/[a-z]+|[<>]=?/g) || [];
  return has(words, EXCLUDING) && !band.before.includes("=");
}

const isClosed = (band) => Boolean(band.ends[0] && band.ends[1]);
const isNear = (one, other) => Math.abs(one - other) <= 1e-9 * Math.max(Math.abs(one), Math.abs(other), 1);

/** The bands that levels in their order are; null unless all are, in one notation and apart from each other. */
function bandsOf(levels) {
  if (levels.length > MOST_BANDS) return null;
  const bands = levels.map(bandOf), bare = (text) => (BRACKETS.includes(text) ? "" : text);
  if (bands.includes(null)) return null;
  const closed = bands.filter(isClosed);
  if (closed.length < 2 || !bands.slice(1, -1).every(isClosed)) return null;
  if (new Set(closed.map((band) => JSON.stringify([bare(band.before), band.between, bare(band.behind)]))).size > 1) {
    return null;
  }
  if (closed.some((band, at) => at && closed[at - 1].high > band.low) || !(bands[0].low < bands[1].low)) return null;
  const step = Math.min(...closed.slice(1).map((band, at) => band.low - closed[at].high));
  const meets = (one, other) => isNear(other.low - one.high, 0) || isNear(other.low - one.high, step);
  const words = new Map(), textOf = new Map();
  for (let first = 0; first < bands.length; first++) {
    for (let last = first + 1; last < bands.length && meets(bands[last - 1], bands[last]); last++) {
      const word = runText(bands, step, first, last);
      if (word && !levels.includes(word) && !words.has(word)) words.set(word, [first, last]);
    }
  }
  for (const [word, reach] of words) textOf.set(String(reach), word);
  return { values: levels, words, textOf, place: new Map(levels.map((level, at) => [level, at])) };
}

/** How the bands from one to another are written as one; "" where their notation cannot say it. */
function runText(bands, step, first, last) {
  const one = bands[first], other = bands[last];
  if (isClosed(one) && isClosed(other)) return one.before + one.ends[0] + one.between + other.ends[1] + other.behind;
  if (isClosed(one)) {
    let number = one.ends[0];
    const before = bands[(first || bands.length) - 1];
    if (step > 0 && other.low === bands[bands.length - 2].high) {
      number = first && before.high < one.low ? before.ends[1] : "";
    }
    else if (BRACKETS.includes(one.before) && (one.before === "(") !== excludes(other)) number = "";
    return number ? other.before + number + other.behind : "";
  }
  if (isClosed(other)) {
    let number = other.ends[1];
    const after = bands[(last + 1) % bands.length];
    if (step > 0 && one.high === bands[1].low) number = after.low > other.high ? after.ends[0] : "";
    else if (BRACKETS.includes(other.behind) && (other.behind === ")") !== excludes(one)) number = "";
    return number ? one.before + number + one.behind : "";
  }
  return "";
}

function cellInBands(cell, bands) {
  if (cell.joined || cell.counts.length || !cell.levels.length) return cell;
  const levels = cell.levels.flatMap((level) => {
    const reach = bands.words.get(level);
    return reach ? bands.values.slice(reach[0], reach[1] + 1) : [level];
  });
  if (new Set(levels).size !== levels.length || !levels.every((level) => bands.place.has(level))) return cell;
  const places = levels.map((level) => bands.place.get(level)), texts = [];
  for (let at = 0; at < places.length;) {
    let last = at;
    while (last + 1 < places.length && places[last + 1] === places[last] + 1) last++;
    while (last > at && !bands.textOf.has(`${places[at]},${places[last]}`)) last--;
    texts.push(last > at ? bands.textOf.get(`${places[at]},${places[last]}`) : levels[at]);
    at = last + 1;
  }
  const same = texts.length === levels.length && texts.every((text, at) => text === levels[at]);
  return { ...cell, levels, words: same ? [] : texts };
}

/** A public hierarchy: its values, and the word of each group of several. */
function hierarchyOf(rows) {
  const levels = rows[0].length - 1, words = new Map(), wordOf = new Map();
  const heights = rows.map((row, at) => {
    for (let level = 1; at && level <= levels; level++) {
      if (row.slice(level).every((word, next) => word === rows[at - 1][level + next])) return level;
    }
    return levels + 1;
  });
  for (let level = 1; level <= levels; level++) {
    const starts = [...heights.flatMap((height, at) => (height > level ? [at] : [])), rows.length];
    for (let at = 0; at + 1 < starts.length; at++) {
      const reach = [starts[at], starts[at + 1] - 1], word = rows[starts[at]][level];
      if (reach[1] > reach[0] && !wordOf.has(String(reach)) && word !== "*") {
        words.set(word, reach);
        wordOf.set(String(reach), word);
      }
    }
  }
  return { values: rows.map((row) => row[0]), numbers: rows.map((row) => Number(row[0])), words, wordOf, rows };
}

// Sets with a short name: `{C: 48 levels}` is the list of its levels again.

const SHORT = /^\{([A-Z]+): ([1-9][0-9]*) levels(, missing)?\}$/;
const MOST_LISTED = 12, MOST_LETTERS = 100;

function listText(levels, column, missing) {
  try {
    return cellText(parseColumnCell(cellText(levelsCell(levels, missing)), column));
  } catch (error) {
    return error instanceof Unreadable ? null : raise(error);
  }
}

function isLong(text, column) {
  const cell = cellOrNull(text, column);
  const parts = cell ? (cell.words.length ? cell.words : cell.levels) : [];
  if (parts.length < 2 || cell.joined || cell.counts.length) return false;
  const bare = text.endsWith(MISSING) ? text.length - MISSING.length + 1 : text.length;
  return parts.length > MOST_LISTED || bare > MOST_LETTERS;
}

function setName(at) {
  let name = "";
  for (let number = at + 1; number > 0; number = Math.floor((number - 1) / 26)) {
    name = String.fromCharCode(65 + (number - 1) % 26) + name;
  }
  return name;
}

/** Write the sets of a column out, and return how their names are not what they should be, a sentence each. */
function writeOut(values, sets, column) {
  const problems = [], present = new Set(), own = new Map(Object.entries(sets));
  values.texts = values.texts.map((text) => {
    const match = SHORT.exec(text || "");
    if (!match) {
      if (text && isLong(text, column)) problems.push("a set of many levels is written in full");
      return text;
    }
    present.add(match[1]);
    const levels = own.get(match[1]) || [];
    const list = levels.length === Number(match[2]) ? listText(levels, column, Boolean(match[3])) : null;
    if (list === null) problems.push(`the set ${excerpt(text)} is not in the dictionary as it is in the rows`);
    return list === null ? text : list;
  });
  const lists = [...own].map(([, levels]) => listText(levels, column, false));
  if ([...own.keys()].some((name) => !present.has(name))) problems.push("the dictionary names a set that no row has");
  if (lists.some((text) => text === null || !isLong(text, column))) {
    problems.push("a set has too few levels for a name");
  }
  else if (![...own.keys()].every((name, at) => name === setName(at))
    || lists.some((text, at) => at && compareTexts(lists[at - 1], text) >= 0)) {
    problems.push("the names of its sets do not stand in the order of the sets");
  }
  return problems.map((problem) => `Column ${excerpt(column.name)}: ${problem}.`);
}
