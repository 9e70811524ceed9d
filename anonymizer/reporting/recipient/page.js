// The page: files come in, and what they show is put on it. Text from files is text everywhere.

const byId = (id) => document.getElementById(id);

/** An element with its attributes and what stands in it: texts, or other elements. */
function element(tag, attributes, ...inside) {
  const one = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) one.setAttribute(name, value);
  one.append(...inside);
  return one;
}

const listOf = (lines, attributes = {}) => element("ul", attributes, ...lines);
const line = (sign, text, attributes = {}) => element("li", { class: sign, ...attributes }, text);
const checklist = (lines) => listOf(lines, { class: "checks" });
const heading = (text) => element("h2", {}, text);
const folded = (title, ...inside) => element("details", {}, element("summary", {}, title), ...inside);

// What one packet, or one file, shows.

const MOST_SENTENCES = 8;

function sentencesList(sentences) {
  if (!sentences.length) return [];
  const more = sentences.length - MOST_SENTENCES;
  const some = more > 0 ? [...sentences.slice(0, MOST_SENTENCES), `And ${count(more)} more.`] : sentences;
  return [listOf(some.map((sentence) => element("li", {}, sentence)))];
}

function banner(verdict, title, ...inside) {
  return element("div", { class: `banner ${verdict}` }, heading(title), ...inside);
}

function titleOf({ kind, verdict, result, claim, seal, name }) {
  const what = kind === "packet" ? "This packet" : name;
  if (verdict === "fails") return `${what} fails.`;
  const size = count(result.classes.sizes[smallest(result.classes.sizes)]), parts = [];
  parts.push(`${what} holds: ${rowsText(result.table.rows)}, and the smallest group has ${size}.`);
  if (claim.override) parts.push("It was released with an exception.");
  if (seal && seal.status === "unchecked") parts.push("Its signature is not checked yet.");
  if (verdict === "open") parts.push("Its signature cannot be verified here.");
  return parts.join(" ");
}

function problemsOf({ sentences, result }) {
  const failed = result ? result.checks.filter(({ passed }) => passed === false) : [];
  return [...new Set([...sentences, ...failed.map(({ sentence }) => sentence)])];
}

function signatureSection({ status, sentence }) {
  const sign = { verified: "yes", unsigned: "figure", unchecked: "figure", unsupported: "figure" }[status] || "no";
  return [heading("Signature"), checklist([line(sign, sentence)])];
}

function filesSection(files) {
  if (!files.length) return [];
  const wrong = files.filter((file) => !file.same), all = !wrong.length;
  const lines = checklist(files.map(({ path, same }) => {
    const text = same ? `${path} is as listed.` : `${path} is not as listed.`;
    return line(same ? "yes" : "no", text, { "data-file": path, "data-same": same });
  }));
  const sentence = files.length === 1 ? "The file has the digest of its report."
    : `All ${count(files.length)} files have the size and the digest of the manifest.`;
  const title = all ? sentence : `${count(wrong.length)} of ${count(files.length)} files are not as listed.`;
  return [heading("Files"), all ? folded(title, lines) : element("div", {}, element("p", {}, title), lines)];
}

function figure(label, number) {
  return element("div", {}, element("dt", {}, label), element("dd", {}, count(number)));
}

function checkLine({ name, required, achieved, passed, sentence }) {
  const sign = passed === null ? "figure" : passed ? "yes" : "no";
  return line(sign, sentence, { "data-check": name, "data-passed": passed ?? "", "data-achieved": achieved ?? "",
    "data-required": required ?? "" });
}

function orderCheck(sorted) {
  const sentence = sorted ? "Rows are sorted by their own cells. Their order tells nothing more."
    : "The rows are not sorted by their own cells, as was said.";
  return sorted === null ? [] : [check("order", null, null, sorted, sentence)];
}

function figuresSection({ result, claim }) {
  const { classes, checks, sorted, table } = result, all = [...checks, ...orderCheck(sorted)];
  const figures = all.filter(({ passed }) => passed === null);
  const lines = [false, true].flatMap((passes) => all.filter(({ passed }) => passed === passes));
  const least = classes.sizes[smallest(classes.sizes)];
  return [
    heading("Computed again from the cells"),
    element("dl", { class: "figures", "data-rows": table.rows, "data-groups": classes.sizes.length },
      figure("Rows", table.rows), figure("Groups", classes.sizes.length), figure("Smallest group", least),
      figure("Promised at least", claim.limits.k)),
    checklist(lines.map(checkLine)),
    ...(figures.length ? [folded("Figures that nothing was promised of", checklist(figures.map(checkLine)))] : []),
  ];
}

function claimedSection({ kind, claim, members }) {
  const sentences = [claim.contained
    ? "Every cell covers its person's original value. The sender checked this beside the table."
    : "Whether each cell covers its person's original value. That takes the original."];
  sentences.push(claim.leftOut ? `${rowsText(claim.leftOut)} of the original were left out.`
    : "No row of the original was left out.");
  sentences.push("How well somebody who knows the original links people to rows.");
  if (claim.settings.share_max != null) sentences.push("How many rows of a group belong to one person.");
  if (claim.ledger) sentences.push(`It is entry ${claim.ledger.number} of the sender's ledger.`);
  if (claim.override) sentences.push(`The sender's reason for the exception: ${claim.override}`);
  const others = (members || []).filter((path) => ![MANIFEST, SIGNATURE, REPORT, TABLE].includes(path));
  const more = kind === "packet" ? [folded(`What ${count(others.length)} other files say. Only their digests were `
    + "compared; copse verify makes most of them again.", listOf(others.map((path) => element("li", {}, path))))] : [];
  return element("div", { class: "claimed" }, heading("Only claimed"),
    listOf(sentences.map((sentence) => element("li", {}, sentence))), ...more);
}

function sectionsOf(answer) {
  return [
    ...(answer.seal ? signatureSection(answer.seal) : []),
    ...filesSection(answer.files),
    ...(answer.result ? figuresSection(answer) : []),
    ...(answer.claim && answer.claim.outputs ? [claimedSection(answer)] : []),
  ];
}

function showOne(answer) {
  const { verdict, kind, seal, result } = answer, problems = problemsOf(answer);
  show(banner(verdict, titleOf(answer), ...sentencesList(problems)), sectionsOf(answer),
    { verdict, kind, signature: seal ? seal.status : "", sorted: result ? String(result.sorted) : "" });
}

// What several files show together.

const BESIDE_K = { share_max: "the share of one person", l: "l", entropy_l: "entropy l", t: "t", rsd_min: "RSD",
  spread_min: "spread" };

/** What the files promise besides k, which is asked of each by itself and not of the groups that they share. */
function notAsked(files) {
  const names = Object.keys(BESIDE_K).filter((name) => files.some(({ claim }) => claim && claim.limits[name] != null));
  const words = names.map((name) => BESIDE_K[name]).join(", ");
  return names.length ? [element("p", { "data-not-asked": names.join(" ") },
    `For groups that all files share, this page checks k alone. It does not check ${words}; copse verify does.`)] : [];
}

function showTogether({ verdict, k, below, persons }, files) {
  const of = persons === null ? "" : ` of ${count(persons)}`;
  const title = {
    fails: `These files alone prove it: at least ${count(below)}${of} people are in groups of fewer than ${count(k)}.`,
    holds: `These files alone prove it: everybody is in a group of at least ${count(k)} people.`,
    open: "These files alone cannot tell. Use the table, or the ledger.",
  }[verdict];
  const why = persons === null
    ? "The files need not hold the same people: they have unchanged values unequally often."
    : "Taken as files of the same people: they have all unchanged values equally often.";
  const lines = files.map((file) => line(file.verdict === "holds" ? "yes" : "no",
    file.kind === "packet" ? `${file.name}: ${titleOf(file)}` : titleOf(file), { "data-alone": file.verdict }));
  const problems = files.flatMap((file) => problemsOf(file).map((sentence) => `${file.name}: ${sentence}`));
  show(banner(verdict, title, element("p", {}, why), ...notAsked(files)), [
    heading("Each file by itself"), checklist(lines), ...sentencesList(problems),
    ...files.map((file) => folded(`All on ${file.name}`, ...sectionsOf(file))),
  ], { verdict, kind: "together", below, k });
}

function show(top, sections, attributes) {
  const result = byId("result");
  byId("headline").replaceChildren(top);
  result.replaceChildren(...sections);
  for (const [name, value] of Object.entries(attributes)) result.setAttribute(`data-${name}`, value);
}

function clear() {
  const result = byId("result");
  for (const { name } of [...result.attributes]) if (name.startsWith("data-")) result.removeAttribute(name);
  result.replaceChildren();
  byId("headline").replaceChildren();
  byId("roles").hidden = true;
}

function showUnreadable(title, message, verdict = "fails") {
  const sentence = `${message[0].toUpperCase()}${message.slice(1)}.`;
  show(banner(verdict, title, element("p", {}, sentence)), [], { verdict, kind: "unreadable" });
}

// Files that come in.

const stem = (name) => name.replace(/\.[^.]*$/, "").replace(/\.report$/, "");

/** The report of a released file: by its digest, by its name, or the only one. */
function reportFor(name, digest, reports, isAlone) {
  return reports.find(({ claim }) => Object.values(claim.outputs).includes(digest))
    || reports.find((report) => stem(report.name) === stem(name))
    || (isAlone && reports.length === 1 ? reports[0] : null);
}

/** Files by what they are: packets, reports, and tables. */
async function readFiles(items) {
  const kinds = { packets: [], reports: [], tables: [] };
  for (const item of items) {
    const file = { name: item.name, bytes: new Uint8Array(await item.arrayBuffer()) }, [first, second] = file.bytes;
    if (first === 0x50 && second === 0x4b) kinds.packets.push(file);
    else if (first === 0x7b) kinds.reports.push({ ...file, claim: await claimOf(parseJson(file.bytes, file.name)) });
    else kinds.tables.push(file);
  }
  return kinds;
}

/** What each file shows by itself; null where roles are missing. */
async function checkAll({ packets, reports, tables }, key, roles) {
  const answers = [];
  for (const { name, bytes } of packets) answers.push(await checkPacket(name, bytes, key));
  for (const { name, bytes } of tables) {
    const digest = await sha256(bytes), report = reportFor(name, digest, reports, tables.length === 1);
    if (!report && !roles) return null;
    answers.push(checkFile(name, bytes, digest, report ? report.claim : roles));
  }
  return answers;
}

/** Show what files show, once all are read. */
async function showFiles(items, key, roles, isLast) {
  const files = await readFiles(items), answers = await checkAll(files, key, roles);
  if (!isLast()) return;
  if (answers === null) askRoles(files.tables);
  else if (!answers.length) showUnreadable("There is no released file.", "A report alone says nothing", "open");
  else if (answers.length === 1) showOne(answers[0]);
  else {
    const other = answers.find(({ result }) => !result);
    showTogether(checkTogether(other ? refuse(`${other.name} cannot be checked`) : answers), answers);
  }
}

let items = [], runs = 0;

/** Check all files that were brought; a later run takes the place of an earlier one. */
async function run(roles = null) {
  const number = ++runs, isLast = () => number === runs, key = byId("key").value;
  clear();
  if (!items.length) return;
  if (key.trim() && !isKey(key)) {
    showUnreadable("The key cannot be read.", "Paste the line of 44 letters from the sender", "open");
    return;
  }
  byId("headline").replaceChildren(element("p", {}, "Checking …"));
  try {
    await showFiles(items, key, roles, isLast);
  } catch (error) {
    const old = "they are not what they seem to be, or this browser is too old";
    if (isLast()) showUnreadable("These files cannot be checked.", error instanceof Unreadable ? error.message : old);
  }
}

function isKey(text) {
  try {
    return keyOf(text).length > 0;
  } catch {
    return false;
  }
}

// Roles, where no report says them.

const ROLES = { "quasi-identifying": "Quasi-identifier", sensitive: "Sensitive", insensitive: "Released unchanged" };
const FIELDS = [["k", "Group size, k", 5, 1], ["l", "Different values, l", "", 1], ["t", "Distance, t", "", 0.01]];

/** The kind that cells speak of: numbers or dates where each holds one, or an interval of them. */
function guessKind(texts) {
  for (const kind of ["numeric", "date"]) {
    const cells = texts.filter((text) => text !== null && text !== "*").map((text) => cellOrNull(text, { kind }));
    const fits = (cell) => cell !== null && cell.ends !== null
      && cell.ends.filter(Boolean).every((end) => DATE.test(end) === (kind === "date"));
    if (cells.length && cells.every(fits)) return kind;
  }
  return "categorical";
}

function guessRole(texts) {
  return texts.some((text) => text !== null && /^[[{*~≥≤]/.test(text)) ? "quasi-identifying" : "insensitive";
}

function roleRow([name, texts]) {
  const guess = guessRole(texts), select = element("select", { "aria-label": `Role of ${name}` });
  for (const [role, words] of Object.entries(ROLES)) {
    select.append(element("option", { value: role, ...(role === guess ? { selected: "" } : {}) }, words));
  }
  const kind = guessKind(texts), cells = [element("th", { scope: "row" }, name), element("td", {}, kind)];
  return { name, kind, select, row: element("tr", {}, ...cells, element("td", {}, select)) };
}

function limitField([name, words, value, step]) {
  const input = element("input", { type: "number", id: `limit-${name}`, value, step, min: 0 });
  return { name, input, box: element("div", {}, element("label", { for: `limit-${name}` }, words), input) };
}

/** Ask for the roles of columns and the limits, and check under them. */
function askRoles(tables) {
  const texts = new Map();
  for (const [name, values] of tables.flatMap((file) => [...readTable(file.bytes).columns])) {
    texts.set(name, [...(texts.get(name) || []), ...values.texts]);
  }
  const rows = [...texts].map(roleRow), fields = FIELDS.map(limitField);
  const button = element("button", { type: "button" }, "Check");
  button.addEventListener("click", () => {
    const columns = rows.map(({ name, kind, select }) => columnOf({ name, kind, role: select.value }));
    const numbers = fields.map(({ name, input }) => [name, input.value === "" ? null : Number(input.value)]);
    const limits = Object.fromEntries(numbers), nothing = { settings: {}, sets: null, order: "", outputs: null };
    run({ ...nothing, columns, limits: { ...limits, k: Math.max(1, limits.k || 1) } });
  });
  byId("roles").replaceChildren(heading("What could somebody know?"),
    element("p", {}, "No report came with these files. Say what each column is."),
    element("table", {}, ...rows.map(({ row }) => row)),
    element("div", { class: "limits" }, ...fields.map(({ box }) => box), button));
  show(banner("open", "Roles are missing.", element("p", {}, "Add the report, or choose the roles here.")), [],
    { verdict: "open", kind: "roles" });
  byId("roles").hidden = false;
}

byId("files").addEventListener("change", (event) => {
  items = [...event.target.files];
  run();
});
byId("key").addEventListener("change", () => run());
for (const kind of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(kind, (event) => {
    event.preventDefault();
    byId("drop").classList.toggle("over", kind === "dragover");
    if (kind !== "drop" || !event.dataTransfer.files.length) return;
    items = [...event.dataTransfer.files];
    run();
  });
}
