// Files: ZIP archives and CSV tables, read with nothing but what the browser has.

const NEXT = 0x04034b50, CENTRAL = 0x02014b50, LAST = 0x06054b50;
const LARGEST = 2 ** 31;

async function sha256(bytes) {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function textOf(bytes) {
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
}

const CRC = Uint32Array.from({ length: 256 }, (_, number) => {
  for (let bit = 0; bit < 8; bit++) number = number & 1 ? (number >>> 1) ^ 0xedb88320 : number >>> 1;
  return number;
});

function crc32(bytes) {
  let crc = 0xffffffff;
  for (let at = 0; at < bytes.length; at++) crc = CRC[(crc ^ bytes[at]) & 255] ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

/** Unpack a member, and stop at the size that it should have. */
async function inflate(packed, size) {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const content = new Uint8Array(size), reader = stream.getReader();
  let place = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return place === size ? content : refuse("a file is shorter than the archive says");
    if (place + value.length > size) {
      await reader.cancel();
      refuse("a file is longer than the archive says");
    }
    content.set(value, place);
    place += value.length;
  }
}

/** What a member has to say of itself in both of its headers, if nothing is noted beside it. */
function checkHeader(view, at, central) {
  const shift = central ? 2 : 0, field = (offset) => view.getUint16(at + offset + shift, true);
  if (view.getUint32(at, true) !== (central ? CENTRAL : NEXT)) refuse("something stands between its files");
  if (field(6) & 1) refuse("a file in it is encrypted");
  const plain = field(4) === 20 && (field(6) & ~0x800) === 0 && field(8) === 8 && field(10) === 0 && field(12) === 0x21;
  if (!plain || field(28)) refuse("something is noted beside a file");
  const more = [[4, 2], [32, 4], [34, 0], [36, 0]];
  if (central && (view.getUint16(at + 4, true) !== 0x314
    || more.slice(1).some(([offset]) => view.getUint16(at + offset, true))
    || view.getUint32(at + 38, true) !== (0o100644 << 16) >>> 0)) {
    refuse("something is noted beside a file");
  }
  const [crc, packed, size] = [14, 18, 22].map((offset) => view.getUint32(at + offset + shift, true));
  return { flags: field(6), crc, packed, size, name: view.getUint16(at + 26 + shift, true) };
}

/** The members of an archive by name, in their order. Whatever is out of the ordinary is refused. */
async function unzip(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), end = bytes.length - 22;
  if (end < 0 || view.getUint32(end, true) !== LAST) refuse("it is cut off, or something stands behind its end");
  const count = view.getUint16(end + 10, true);
  let entry = view.getUint32(end + 16, true), total = 0, place = 0;
  const start = entry, members = new Map();
  if (view.getUint32(end + 4, true) || view.getUint16(end + 8, true) !== count || view.getUint16(end + 20, true)) {
    refuse("its end is not as it should be");
  }
  for (let number = 0; number < count; number++) {
    if (entry + 46 > end || place + 30 > start) refuse("its list of files is damaged");
    const listed = checkHeader(view, entry, true), own = checkHeader(view, place, false);
    if (Object.keys(own).some((field) => own[field] !== listed[field])) refuse("a file is listed otherwise than it is");
    if (view.getUint32(entry + 42, true) !== place) refuse("files overlap, or something stands between them");
    const [name, same] = [bytes.subarray(entry + 46, entry + 46 + listed.name),
      bytes.subarray(place + 30, place + 30 + own.name)];
    const path = textOf(name), body = place + 30 + own.name;
    if (path !== textOf(same)) refuse("a file has two names");
    if (members.has(path)) refuse("a file is there twice");
    total += own.size;
    if (body + own.packed > start || total > LARGEST) refuse("it unfolds into too much, or is damaged");
    const content = await inflate(bytes.subarray(body, body + own.packed), own.size);
    if (crc32(content) !== own.crc) refuse("a file in it is damaged");
    members.set(path, content);
    place = body + own.packed;
    entry += 46 + listed.name;
  }
  if (place !== start || entry !== end || view.getUint32(end + 12, true) !== end - start) {
    refuse("something stands between or behind its files");
  }
  return members;
}

// CSV: one pass, to codes and the distinct cells of each column.

class Fields {
  constructor(text) {
    this.text = text;
    this.place = 0;
    this.manners = { present: true, needed: true, all: true };
    this.line = 1;
    this.oddLine = 0;
    this.end = "";
    this.value = "";
    this.ends = false;
  }

  odd() {
    this.oddLine = this.oddLine || this.line;
  }

  /** Read the next cell into `value`; `ends` says whether it is the last of its line. */
  read() {
    const { text, place } = this;
    if (text.charCodeAt(place) === 34) {
      let end = text.indexOf('"', place + 1), doubled = false;
      while (end >= 0 && text.charCodeAt(end + 1) === 34) {
        doubled = true;
        end = text.indexOf('"', end + 2);
      }
      if (end < 0) {  // it is never closed
        this.odd();
        end = text.length;
      }
      const raw = text.slice(place + 1, end);
      this.value = doubled ? raw.replaceAll('""', '"') : raw;
      this.quoted = true;
      this.place = Math.min(end + 1, text.length);
    } else {
      this.quoted = false;
      this.value = "";
    }
    const from = this.place;
    let code = text.charCodeAt(this.place);
    while (code === code && code !== 44 && code !== 10 && code !== 13) code = text.charCodeAt(++this.place);
    if (this.place > from) {
      if (this.quoted) this.odd();
      this.value += text.slice(from, this.place);
    }
    this.ends = code !== 44;
    if (!this.ends) this.place++;
    else this.readEnd(code);
  }

  readEnd(code) {
    const last = this.place >= this.text.length;
    if (last) return;
    const end = code === 13 && this.text.charCodeAt(this.place + 1) === 10 ? "\r\n" : code === 13 ? "\r" : "\n";
    if (end === "\r" || (this.end && this.end !== end)) this.odd();
    this.end = this.end || end;
    this.place += end.length;
  }

  /** Note in which manners the cell could have been written. */
  note(alone) {
    const { value, manners, quoted } = this;
    if (!quoted) manners.all = false;
    if (quoted !== (alone || value !== "")) manners.present = false;
    if (manners.needed && quoted !== (/[",\r\n]/.test(value) || (alone && value === ""))) manners.needed = false;
    if (!quoted && value.includes('"')) this.odd();
    if (!manners.all && !manners.present && !manners.needed) this.odd();
  }
}

/** The header of a table: its names, and in which manners it is written beside that of all cells in quotes. */
function readHeader(fields) {
  const names = [];
  do {
    fields.read();
    names.push(fields.value);
    fields.note(false);
  } while (!fields.ends);
  if (names.length === 1 && !fields.quoted && !names[0]) refuse("the file has no header");
  const manners = { ...fields.manners, present: fields.manners.present || (names.length === 1 && fields.quoted) };
  fields.manners = manners.all ? { present: true, needed: true, all: true } : manners;
  return names.map(keptValue);
}

/** A CSV file: columns as `texts`, the distinct cells, and `codes`, the place of each row's; and what else is in it. */
function readTable(bytes) {
  const beside = [], whole = textOf(bytes), marked = whole.startsWith("\ufeff");
  if (marked) beside.push("The file begins with a byte-order mark.");
  if (whole.includes("\0")) beside.push("The file has NUL characters.");
  const text = marked ? whole.slice(1) : whole, fields = new Fields(text);
  const names = readHeader(fields);
  if (new Set(names).size !== names.length) refuse("the file has two columns of one name");
  for (const name of names) {
    if (name.startsWith("__index_level_") || !name.trim()) {
      beside.push(`Column ${excerpt(name)} looks like the index of a table.`);
    }
  }
  const columns = readColumns(fields, names);
  if (fields.oddLine) {
    beside.push(`Line ${count(fields.oddLine)} of the file is not written as those above it are: `
      + "quotation marks, blanks and ends of lines can carry marks.");
  }
  return { columns: new Map(columns.map((column) => [column.name, column])), names, rows: columns[0].codes.length,
    beside };
}

/** Take a cell into a column, and note its place among the distinct ones. */
function take(column, value) {
  const code = column.place.get(value);
  column.code = code === undefined ? column.texts.length : code;
  if (code === undefined) {
    column.place.set(value, column.code);
    column.texts.push(value === "" ? null : value);
  }
  column.codes.push(column.code);
}

/** Take a line with nothing on it, which is a row of missing cells, and odd. */
function takeBlank(fields, columns) {
  fields.odd();
  fields.readEnd(fields.text.charCodeAt(fields.place));
  for (const column of columns) {
    take(column, "");
    column.raw = null;
  }
}

function readColumns(fields, names) {
  const { text } = fields, width = names.length, alone = width === 1;
  const columns = names.map((name) => ({ name, texts: [], codes: [], place: new Map(), raw: null, code: 0 }));
  for (let row = 0; fields.place < text.length; row++) {
    const first = text.charCodeAt(fields.place);
    fields.line = row + 2;
    if (!alone && (first === 10 || first === 13)) {
      takeBlank(fields, columns);
      continue;
    }
    for (let at = 0; at < width; at++) {
      const column = columns[at], from = fields.place, { raw } = column;
      const next = raw === null ? NaN : text.charCodeAt(from + raw.length);
      if (at < width - 1 && next === 44 && text.startsWith(raw, from)) {  // as in the row above
        fields.place = from + raw.length + 1;
        column.codes.push(column.code);
        continue;
      }
      fields.read();
      fields.note(alone);
      if (fields.ends !== (at === width - 1)) {
        refuse(`line ${count(row + 2)} has another number of cells than the header`);
      }
      take(column, fields.value);
      column.raw = fields.ends ? null : text.slice(from, fields.place - 1);
    }
  }
  return columns.map(({ name, texts, codes }) => ({ name, texts, codes: new Int32Array(codes) }));
}
