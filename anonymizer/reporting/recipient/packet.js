// A packet: its files against the manifest, its signature against a key, its table against its report.

const MANIFEST = "manifest.json", SIGNATURE = "manifest.dsse.json", REPORT = "report.json", TABLE = "data/release.csv";
const PAYLOAD_TYPE = "application/vnd.in-toto+json", STATEMENT_TYPE = "in-toto.io/Statement/v1";
const PREDICATE_TYPE = "urn:copse:release:1";
const PEM_HEAD = "302a300506032b6570032100";

function bytesOf(base64) {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")) === base64
    ? bytes : refuse("base64 was expected");
}

const hexOf = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** The 32 bytes of a public key, from its line of base64 or its PEM file. */
function keyOf(text) {
  const line = text.trim().split(/\r?\n/).map((one) => one.trim()).filter((one) => !one.startsWith("-----")).join("");
  let bytes = new Uint8Array();
  try {
    bytes = bytesOf(line);
  } catch {
    // it is refused below
  }
  if (bytes.length === 44 && hexOf(bytes.subarray(0, 12)) === PEM_HEAD) bytes = bytes.subarray(12);
  return bytes.length === 32 ? bytes : refuse("this is no public key: paste the line of 44 letters from the sender");
}

const groupsOf = (digest) => digest.slice(0, 32).match(/.{4}/g).join(" ");

/** The statement that a signature file holds, with the id of its key and the signature. */
function envelopeOf(bytes) {
  const text = textOf(bytes), document = parseJson(bytes, SIGNATURE), one = (document.signatures || [])[0] || {};
  const again = { payloadType: PAYLOAD_TYPE, payload: document.payload,
    signatures: [{ keyid: one.keyid, sig: one.sig }] };
  if (`${JSON.stringify(again, null, 2)}\n` !== text || !/^[\x20-\x7e]{1,16}$/.test(one.keyid)) {
    refuse(`${SIGNATURE} is not written as Copse writes it`);
  }
  return { statement: bytesOf(document.payload), id: one.keyid, signature: bytesOf(one.sig) };
}

/** Whether a key made a signature; null where this browser cannot tell. */
async function isSignedBy(key, { statement, signature }) {
  const head = new TextEncoder().encode(`DSSEv1 ${PAYLOAD_TYPE.length} ${PAYLOAD_TYPE} ${statement.length} `);
  const message = new Uint8Array(head.length + statement.length);
  message.set(head);
  message.set(statement, head.length);
  try {
    const imported = await crypto.subtle.importKey("raw", key, { name: "Ed25519" }, false, ["verify"]);
    return await crypto.subtle.verify({ name: "Ed25519" }, imported, signature, message);
  } catch (error) {
    return error.name === "NotSupportedError" ? null : false;
  }
}

/** What is to be said of the signature of a packet. */
async function sealOf(content, keyText) {
  const key = keyText.trim() ? keyOf(keyText) : null, groups = key ? groupsOf(await sha256(key)) : "";
  const says = (status, sentence, envelope) => ({ status, sentence, envelope: envelope || null });
  if (!content) {
    return key ? says("missing", `This packet is not signed: ${SIGNATURE} is missing.`)
      : says("unsigned", "Nobody signed this packet. It shows damage, but not who made it.");
  }
  let envelope;
  try {
    envelope = envelopeOf(content);
  } catch (error) {
    return says("broken", `The signature cannot be read: ${error.message}.`);
  }
  if (!key) {
    return says("unchecked", `It says that key ${envelope.id} signed it. Paste that key to check this.`, envelope);
  }
  const signed = await isSignedBy(key, envelope);
  if (signed === null) {
    return says("unsupported", "This browser cannot verify Ed25519 signatures. Use a newer one, or copse verify.",
      envelope);
  }
  if (!signed) return says("wrong", `It is not signed with key ${groups}, which you pasted.`, envelope);
  return says("verified", `The holder of key ${groups} signed it.`, envelope);
}

/** How a statement is not the one that follows from the packet, a sentence each. */
function statementProblems({ statement }, digests, claim, result) {
  const document = parseJson(statement, "the signed statement"), predicate = document.predicate || {};
  if (!String(document._type).endsWith(STATEMENT_TYPE) || document.predicateType !== PREDICATE_TYPE) {
    return ["The signed statement is of another kind."];
  }
  const subjects = (document.subject || []).map((one) => `${one.name} ${one.digest && one.digest.sha256}`);
  const inOrder = [...digests].sort((one, other) => compareTexts(one[0], other[0]));
  if (!sameLists(subjects, inOrder.map((pair) => pair.join(" ")))) {
    return ["The signed statement speaks of other files."];
  }
  const figures = [["time", claim.time], ["rows", claim.rows]];
  const limits = predicate.limits || {}, required = { ...claim.limits, suppression: claim.settings.suppression || 0 };
  if (figures.some(([name, value]) => predicate[name] !== value)
    || LIMITS.concat("suppression").some((name) => (limits[name] ?? null) !== (required[name] ?? null))) {
    return ["The signed statement says another time, or other limits, than the report."];
  }
  const columns = releasedOf(claim).map(({ name, role, kind }) => `${role} ${kind} ${name}`);
  if (!sameLists((predicate.columns || []).map(({ name, role, kind }) => `${role} ${kind} ${name}`), columns)) {
    return ["The signed statement speaks of other columns."];
  }
  const signed = new Map((predicate.checks || []).map((one) => [one.name, one]));
  const same = result.checks.every(({ name, achieved, passed }) => {
    const one = signed.get(name);
    const isNear = () => Math.abs(one.achieved - achieved) <= 1e-6 * Math.max(1, Math.abs(achieved));
    return one && one.passed === passed && (one.achieved === achieved || isNear());
  });
  return same ? [] : ["The figures of the signed statement are not those of the table."];
}

/** How the members are not those of the manifest, and which are. */
async function againstManifest(members, manifest, text) {
  const sentences = [], files = [], digests = new Map(), listed = new Map();
  const allowed = manifest.audience === "internal" ? { ...PACKET.members, ...PACKET.internal } : PACKET.members;
  for (const one of manifest.members) listed.set(one.path, one);
  for (const [path, content] of members) {
    const digest = await sha256(content), one = listed.get(path);
    digests.set(path, digest);
    const same = Boolean(one) && one.bytes === content.length && one.sha256 === digest && Object.hasOwn(allowed, path);
    files.push({ path, same });
    if (!Object.hasOwn(allowed, path)) sentences.push(`${excerpt(path)} has no place in such a packet.`);
    else if (!one) sentences.push(`${path} is not in the manifest.`);
    else if (!same) sentences.push(`${path} is not what the manifest says: its SHA-256 is another.`);
  }
  for (const path of new Set([...listed.keys(), ...PACKET.required])) {
    if (members.has(path)) continue;
    files.push({ path, same: false });
    sentences.push(`${excerpt(path)} is missing.`);
  }
  const entries = [...members].map(([path, content]) =>
    ({ path, what: allowed[path], bytes: content.length, sha256: digests.get(path) }));
  const again = { copse_packet: PACKET.layout, software: { name: "Copse", version: PACKET.version },
    audience: manifest.audience, time: manifest.time, members: entries };
  if (!sentences.length && `${JSON.stringify(again, null, 2)}\n` !== text) {
    sentences.push(`${MANIFEST} is not written as Copse ${PACKET.version} writes it.`);
  }
  return { sentences, files, digests };
}

function inOrder(paths) {
  const rest = paths.filter((path) => path !== MANIFEST && path !== SIGNATURE);
  const head = [MANIFEST, SIGNATURE].filter((path) => paths.includes(path));
  return sameLists(paths, [...head, ...rest.sort(compareTexts)]);
}

/** Add what the table of a packet shows to an answer on it. */
async function checkPacketTable(answer, members, digests, sentences) {
  try {
    const claim = await claimOf(parseJson(members.get(REPORT) || new Uint8Array(), REPORT));
    answer.claim = claim;
    if (claim.time !== answer.time) sentences.push(`${MANIFEST} does not have the time of the report.`);
    for (const [format, path] of Object.entries(PACKET.tables)) {
      if (claim.outputs[format] !== digests.get(path)) {
        sentences.push(`${path} is not the table that the report speaks of.`);
      }
    }
    const result = checkTable(members.get(TABLE) || refuse(`${TABLE} is missing`), claim);
    answer.result = result;
    sentences.push(...(result.table.beside.length ? [`${TABLE}: ${result.table.beside[0]}`] : []), ...result.others);
    const names = claim.described || releasedOf(claim).map((column) => column.name);
    if (!sameLists(result.table.names, names)) {
      sentences.push(`${TABLE} does not have the columns that the report describes.`);
    }
    if (result.table.rows !== claim.rows) {
      sentences.push(`The report speaks of ${rowsText(claim.rows)}, and the table has ${rowsText(result.table.rows)}.`);
    }
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    sentences.push(`The table cannot be checked: ${error.message}.`);
  }
}

/** All that a packet shows by itself. */
async function checkPacket(name, bytes, keyText) {
  const members = await unzip(bytes);
  if (!members.has(MANIFEST)) refuse("this is no packet: it has no manifest");
  const paths = [...members.keys()], content = members.get(MANIFEST), manifest = parseJson(content, MANIFEST);
  const audiences = ["internal", "external"];
  if (manifest.copse_packet !== PACKET.layout || !audiences.includes(manifest.audience)
    || !Array.isArray(manifest.members)) {
    refuse("the manifest is none that this page can read");
  }
  const seal = await sealOf(members.get(SIGNATURE), keyText);
  members.delete(MANIFEST);
  members.delete(SIGNATURE);
  const { sentences, files, digests } = await againstManifest(members, manifest, textOf(content));
  if (!inOrder(paths)) sentences.push("The files do not stand in the order of their names.");
  const answer = { kind: "packet", name, files, seal, time: manifest.time, claim: null, result: null, members: paths };
  await checkPacketTable(answer, members, digests, sentences);
  if (["missing", "broken", "wrong"].includes(seal.status)) sentences.push(seal.sentence);
  if (seal.envelope && answer.result) {
    digests.set(MANIFEST, await sha256(content));
    sentences.push(...statementProblems(seal.envelope, digests, answer.claim, answer.result));
  }
  answer.sentences = [...new Set(sentences)];
  const fails = answer.sentences.length > 0 || !answer.result || !answer.result.passed;
  answer.verdict = fails ? "fails" : seal.status === "unsupported" ? "open" : "holds";
  return answer;
}

/** All that one released file shows, held against its report, or under roles that somebody chose. */
function checkFile(name, bytes, digest, claim) {
  const result = checkTable(bytes, claim), sentences = [...result.others], files = [];
  if (claim.outputs) {
    const same = Object.values(claim.outputs).includes(digest);
    files.push({ path: name, same });
    if (!same) sentences.unshift("This is not the file that the report speaks of: its SHA-256 is another.");
  }
  return { kind: "file", name, claim, result, sentences, files, verdict: sentences.length || !result.passed
    ? "fails" : "holds" };
}
