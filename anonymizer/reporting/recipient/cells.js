// Released cells: what a text says, and how it is spelled. A cell has one spelling.

const NUMBER = /^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/;
const DATE = /^(-?[0-9]{4,})-([0-9]{2})-([0-9]{2})(?:([T ])([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?)?$/;
const END = "[+-]?(?:[0-9]+(?:\\.[0-9]+)?|[Ii]nf)";
const BARE = `(?:(?!\\[${END}, ${END}\\])[\\[(]${END} ?[,;–-] ?${END}[\\])]|[0-9]+(?:\\.[0-9]+)?\\+)`;
const BAND = new RegExp(`^${BARE}$`), BEGINS_WITH_BAND = new RegExp(`^${BARE}`);
const IN_SET = new RegExp(`${BARE}(?=, |\\}$)|[^,}]*`, "y"), IN_CONCATENATION = /[^+:]*/y, COUNT = /[0-9]+/y;
const QUOTED = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const UNPRINTABLE = /(?! )[\p{C}\p{Z}]/u, EACH_UNPRINTABLE = /(?! )[\p{C}\p{Z}]/gu;
const FORMULA = /^[=+\-@\uff1d\uff0b\uff0d\uff20]/, STRUCTURE = /[,{}+:[\]"]/;
const UP = "≥ ", DOWN = "≤ ", MISSING = ", missing}";
const MICROSECONDS = 86400e6;

class Unreadable extends Error {}

function refuse(reason) {
  throw new Unreadable(reason);
}

function excerpt(text) {
  return `‘${text.length <= 60 ? text : `${text.slice(0, 57)}…`}’`;
}

// Numbers and dates.

function daysOf(year, month, day) {
  const y = month <= 2 ? year - 1 : year;
  const era = Math.floor(y / 400), ofEra = y - era * 400;
  const ofYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  return era * 146097 + ofEra * 365 + Math.floor(ofEra / 4) - Math.floor(ofEra / 100) + ofYear - 719468;
}

/** Year, month and day of a number of days since 1970. */
function dayOf(days) {
  const z = days + 719468, era = Math.floor(z / 146097), ofEra = z - era * 146097;
  const leapDays = Math.floor(ofEra / 1460) - Math.floor(ofEra / 36524) + Math.floor(ofEra / 146096);
  const year = Math.floor((ofEra - leapDays) / 365);
  const ofYear = ofEra - (365 * year + Math.floor(year / 4) - Math.floor(year / 100));
  const m = Math.floor((5 * ofYear + 2) / 153), month = m < 10 ? m + 3 : m - 9;
  return [year + era * 400 + (month <= 2 ? 1 : 0), month, ofYear - Math.floor((153 * m + 2) / 5) + 1];
}

/** A date as microseconds since 1970; NaN for what is none. */
function momentOf(text) {
  const parts = DATE.exec(text);
  if (!parts) return NaN;
  const [year, month, day, hour, minute, second] = [1, 2, 3, 5, 6, 7].map((at) => Number(parts[at] || 0));
  if (hour > 23 || minute > 59 || second > 59 || month < 1 || month > 12) return NaN;
  const days = daysOf(year, month, day);
  if (day < 1 || dayOf(days)[1] !== month) return NaN;
  const micro = Number((parts[8] || "").padEnd(6, "0").slice(0, 6));
  return days * MICROSECONDS + (hour * 3600 + minute * 60 + second) * 1e6 + micro;
}

/** A number, or a date as microseconds since 1970. */
function numberOf(text) {
  const number = NUMBER.test(text) ? Number(text) : momentOf(text);
  return Number.isFinite(number) ? number + 0 : refuse("a finite number or a date (2024-05-17) was expected");
}

/** A number in the shortest form that reads back, whole ones as such. */
function numberText(number) {
  if (Number.isInteger(number) && Math.abs(number) < 1e15) return String(number + 0);
  return floatText(number);
}

function floatText(number) {
  const [, sign, first, rest, power] = /^(-?)(\d)(?:\.(\d+))?e([+-]\d+)$/.exec(number.toExponential());
  const digits = first + (rest || ""), exponent = Number(power);
  if (exponent < -4 || exponent >= 16) {
    const mantissa = rest ? `${first}.${rest}` : first;
    return `${sign}${mantissa}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
  }
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${digits}`;
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, "0");
  return `${sign}${whole}.${digits.slice(exponent + 1) || "0"}`;
}

function two(number) {
  return String(number).padStart(2, "0");
}

/** A date as it is written: without a clock time at midnight. */
function momentText(moment) {
  const days = Math.floor(moment / MICROSECONDS), rest = moment - days * MICROSECONDS;
  const [year, month, day] = dayOf(days);
  const text = `${String(year).padStart(4, "0")}-${two(month)}-${two(day)}`;
  if (!rest) return text;
  const seconds = Math.floor(rest / 1e6), micro = rest - seconds * 1e6;
  const clock = `${two(Math.floor(seconds / 3600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
  return `${text}T${clock}${micro ? `.${String(micro).padStart(6, "0")}` : ""}`;
}

function isPlain(text) {
  if (!NUMBER.test(text)) return momentText(momentOf(text)) === text;
  return text === numberText(Number(text)) || /^(?:0|-?[1-9][0-9]*)$/.test(text);
}

// Levels.

function mustQuote(text) {
  return text === "" || text === "missing" || text === "*" || text.startsWith(" ") || text.endsWith(" ")
    || UNPRINTABLE.test(text) || (FORMULA.test(text) && !NUMBER.test(text));
}

function quote(text) {
  return JSON.stringify(text).replace(EACH_UNPRINTABLE, (letter) =>
    [...Array(letter.length).keys()].map((at) => `\\u${letter.charCodeAt(at).toString(16).padStart(4, "0")}`).join(""));
}

function memberText(level) {
  return mustQuote(level) || STRUCTURE.test(level) ? quote(level) : level;
}

const LEVEL_TEXTS = new Map();

function levelText(level) {
  let text = LEVEL_TEXTS.get(level);
  if (text === undefined) {
    text = BAND.test(level) ? level : memberText(level);
    LEVEL_TEXTS.set(level, text);
  }
  return text;
}

function keptText(text) {
  return mustQuote(text) || text.startsWith('"') ? quote(text) : text;
}

function keptValue(text) {
  if (!text.startsWith('"')) return text;
  try {
    const value = JSON.parse(text);
    return typeof value === "string" ? value : text;
  } catch {
    return text;
  }
}

/** The order of texts by their letters' numbers, which is not that of JavaScript beyond the first 65,536 letters. */
function compareTexts(one, other) {
  if (one === other) return 0;
  let at = 0;
  while (at < one.length && one[at] === other[at]) at++;
  if (at === one.length || at === other.length) return one.length - other.length;
  const [a, b] = [one.charCodeAt(at), other.charCodeAt(at)];
  const isPair = (code) => code >= 0xd800 && code < 0xe000;
  return isPair(a) !== isPair(b) ? (isPair(a) ? 1 : -1) : a - b;
}

// Cells.

const NOTHING = { low: null, high: null, levels: [], missing: false, withheld: false, ends: null, joined: false,
  counts: [], estimate: false, words: [] };
const WITHHELD_CELL = { ...NOTHING, withheld: true }, MISSING_CELL = { ...NOTHING, missing: true };

function intervalCell(low, high, missing) {
  const cell = { ...NOTHING, low: numberOf(low), high: numberOf(high), ends: [low, high], missing };
  return cell.low > cell.high ? refuse("the lower end is above the upper end") : cell;
}

function levelsCell(levels, missing) {
  if (new Set(levels).size !== levels.length || !(levels.length || missing)) {
    refuse("a set needs levels, each of them once");
  }
  return { ...NOTHING, levels, missing };
}

function concatenationCell(levels, missing, counts) {
  const plain = levelsCell(levels, missing), parts = levels.length + (missing ? 1 : 0);
  if (counts.length && (counts.length !== parts || Math.min(...counts) < 1)) {
    refuse("a weighted concatenation needs one count of at least 1 for each level");
  }
  return !counts.length && parts === 1 ? plain : { ...plain, joined: true, counts };
}

function cellText(cell) {
  if (cell.withheld) return "*";
  if (cell.ends) {
    const [low, high] = cell.ends;
    let inner = low === high ? low : `[${low}, ${high}]`;
    if (!low || !high) inner = low ? UP + low : DOWN + high;
    if (cell.estimate) inner = `~${inner}`;
    return cell.missing ? `{${inner}${MISSING}` : inner;
  }
  const members = (cell.words.length ? cell.words : cell.levels).map(cell.joined ? memberText : levelText);
  if (cell.missing) {
    if (!members.length && !cell.counts.length) return null;
    members.push("missing");
  }
  if (cell.counts.length) return members.map((member, at) => `${member}:${cell.counts[at]}`).join("+");
  if (cell.joined) return members.join("+");
  return members.length === 1 ? members[0] : `{${members.join(", ")}}`;
}

function parseNumber(part, missing) {
  for (const sign of [UP, DOWN]) {
    if (part.startsWith(sign) && part.length > sign.length) {
      const end = part.slice(sign.length), number = numberOf(end);
      return sign === UP ? { ...NOTHING, low: number, high: Infinity, ends: [end, ""], missing }
        : { ...NOTHING, low: -Infinity, high: number, ends: ["", end], missing };
    }
  }
  if (part.startsWith("~")) return { ...intervalCell(part.slice(1), part.slice(1), missing), estimate: true };
  return intervalCell(part, part, missing);
}

function parseInterval(part, missing) {
  const ends = part.slice(1, -1).split(", ");
  if (!part.endsWith("]") || ends.length !== 2) refuse("an interval is written [low, high]");
  return intervalCell(ends[0], ends[1], missing);
}

/** The level that starts at a place, whether it is bare, and where it ends. */
function parseMember(text, place, bare) {
  const pattern = text.startsWith('"', place) ? QUOTED : bare;
  pattern.lastIndex = place;
  const match = pattern.exec(text);
  if (pattern === QUOTED) {
    if (!match) refuse("a quotation mark is never closed");
    return [JSON.parse(match[0]), false, place + match[0].length];
  }
  if (!match || !match[0]) refuse("a level is empty");
  return [match[0], true, place + match[0].length];
}

function parseSet(text, kind) {
  if (text.endsWith(MISSING)) {
    const inner = text.slice(1, -MISSING.length);
    if (inner.startsWith("[") && !(kind === "categorical" && BEGINS_WITH_BAND.test(inner))) {
      return parseInterval(inner, true);
    }
    if (kind !== "categorical") return parseNumber(inner, true);
  }
  if (!text.endsWith("}")) refuse("a set ends with a closing brace");
  const levels = [];
  let place = 1;
  for (;;) {
    const [level, bare, end] = parseMember(text, place, IN_SET);
    place = end;
    if (bare && level === "missing") {
      if (place !== text.length - 1) refuse("‘missing’ comes last in a set");
      return levelsCell(levels, true);
    }
    levels.push(level);
    if (text.startsWith(", ", place)) place += 2;
    else if (place === text.length - 1) return levelsCell(levels, false);
    else refuse("the levels of a set are separated by a comma and a blank");
  }
}

function parseConcatenation(text) {
  const levels = [], counts = [];
  let missing = false, place = 0;
  for (;;) {
    const [level, bare, end] = parseMember(text, place, IN_CONCATENATION);
    place = end;
    if (missing) refuse("‘missing’ comes last in a concatenation");
    if (bare && level === "missing") missing = true;
    else levels.push(level);
    if (text.startsWith(":", place)) {
      COUNT.lastIndex = place + 1;
      const count = COUNT.exec(text) || refuse("a colon is followed by a count");
      counts.push(Number(count[0]));
      place = COUNT.lastIndex;
    }
    if (place === text.length) return concatenationCell(levels, missing, counts);
    if (text[place] !== "+") refuse("the parts of a concatenation are joined by +");
    place += 1;
  }
}

function parseCell(text, kind) {
  if (text === null || text === "") return MISSING_CELL;
  if (text === "*") return WITHHELD_CELL;
  if (kind === "categorical" && BAND.test(text)) return levelsCell([text], false);
  if (text.startsWith("[")) return parseInterval(text, false);
  if (SHORT.test(text)) refuse("the name of a set, which only the dictionary explains");
  if (text.startsWith("{")) return parseSet(text, kind);
  if (kind !== "categorical") return parseNumber(text, false);
  if (!text.startsWith('"') && !text.includes("+") && !text.includes(":")) return levelsCell([text], false);
  return parseConcatenation(text);
}

/** The cell in a column: words of its hierarchy, and runs of its bands, are all of their levels. */
function parseColumnCell(text, column) {
  const cell = parseCell(text, column.kind);
  if (column.bands) return cellInBands(cell, column.bands);
  const hierarchy = column.hierarchy;
  if (!hierarchy || cell.levels.length !== 1 || cell.joined || cell.counts.length) return cell;
  const node = hierarchy.words.get(cell.levels[0]);
  if (!node) return cell;
  return { ...NOTHING, levels: hierarchy.values.slice(node[0], node[1] + 1), missing: cell.missing,
    words: [hierarchy.wordOf.get(String(node))] };
}
