// What the browser does for a session: it keeps decisions, asks before the page is left, and says when the server is
// gone. The module is loaded once for a page; the component in the frame reports, those in fragments only hand on.

const DATABASE = "copse";
const OFF = "copse keeps no decisions";
const TABLE_OPEN = "copse table open";
const PATIENCE = 2000; // milliseconds without the server before that is said
const KEY = { name: "AES-GCM", length: 256 };

const answered = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

// Decisions in the browser's own database, encrypted with a key that cannot be taken out of it. In clear stands only a
// random name for each visit of a table.
class Vault {
  async open() {
    if (!globalThis.crypto?.subtle) throw "insecure";
    try {
      const request = indexedDB.open(DATABASE, 1);
      request.onupgradeneeded = () => {
        request.result.createObjectStore("key");
        request.result.createObjectStore("visits");
      };
      this.base = await answered(request);
      this.base.onversionchange = () => this.base.close();
      await this.key();
    } catch {
      throw "refused";
    }
  }

  store(name, mode = "readonly") {
    return this.base.transaction(name, mode).objectStore(name);
  }

  async key() {
    const present = await answered(this.store("key").get("key"));
    if (present) return present;
    const fresh = await crypto.subtle.generateKey(KEY, false, ["encrypt", "decrypt"]);
    const store = this.store("key", "readwrite"); // one transaction: two pages that begin together get one key
    const other = await answered(store.get("key"));
    if (!other) await answered(store.put(fresh, "key"));
    return other ?? fresh;
  }

  async put(visit, content, most, days) {
    const iv = crypto.getRandomValues(new Uint8Array(12));
    const bytes = new TextEncoder();
    const how = { name: "AES-GCM", iv, additionalData: bytes.encode(visit) };
    const box = await crypto.subtle.encrypt(how, await this.key(), bytes.encode(JSON.stringify(content)));
    await answered(this.store("visits", "readwrite").put({ iv, box }, visit));
    if ((await answered(this.store("visits").count())) > most) await this.list(most, days);
  }

  async get(visit) {
    const { iv, box } = await answered(this.store("visits").get(visit));
    const how = { name: "AES-GCM", iv, additionalData: new TextEncoder().encode(visit) };
    return JSON.parse(new TextDecoder().decode(await crypto.subtle.decrypt(how, await this.key(), box)));
  }

  async drop(visit) {
    await answered(this.store("visits", "readwrite").delete(visit));
  }

  // What is kept, in a few words, the newest first; what is too old, beyond the most, or cannot be read is dropped.
  async list(most, days) {
    const summaries = [];
    for (const visit of await answered(this.store("visits").getAllKeys())) {
      const content = await this.get(visit).catch(() => null);
      const age = Date.now() - Date.parse(content?.summary.saved);
      if (age < days * 86400000) summaries.push({ ...content.summary, visit });
      else await this.drop(visit);
    }
    summaries.sort((one, other) => Date.parse(other.saved) - Date.parse(one.saved));
    for (const { visit } of summaries.slice(most)) await this.drop(visit);
    return summaries.slice(0, most);
  }

  async clear() {
    await answered(this.store("visits", "readwrite").clear());
    await answered(this.store("key", "readwrite").clear());
  }
}

class Page {
  constructor() {
    this.vault = new Vault();
    this.obstacle = "";
    this.work = this.vault.open().catch((obstacle) => (this.obstacle = obstacle)); // one thing after another
    this.session = "";
    this.table = ""; // its digest
    this.number = 0; // of the newest decisions that were kept
    this.order = 0; // that was carried out last
    this.reports = 0;
    this.reported = "[]"; // the backups
    this.saved = null;
    this.isOpen = false;
    this.isLost = false;
    this.wasOpen = sessionStorage.getItem(TABLE_OPEN) !== null;
    addEventListener("beforeunload", (event) => {
      if (!this.isOpen || this.isLost) return;
      event.preventDefault();
      event.returnValue = true;
    });
  }

  mount(root, tell) {
    this.root = root;
    this.tell = tell;
    if (this.watcher) return;
    const app = document.querySelector('[data-testid="stApp"]');
    this.watcher = new MutationObserver(() => this.watch(app.dataset.testConnectionState));
    this.watcher.observe(app, { attributes: true, attributeFilter: ["data-test-connection-state"] });
  }

  update(data) {
    const isAnother = data.session !== this.session;
    if (isAnother) {
      const ended = this.session ? this.isOpen && "restarted" : this.wasOpen && "loaded";
      this.number = this.order = this.reports = 0;
      this.enqueue(() => this.report(data, ended || ""));
    } else if (data.table && data.table !== this.table) this.enqueue(() => this.reportAgain(data));
    this.session = data.session;
    this.table = data.table;
    this.isOpen = data.open;
    if (data.open) sessionStorage.setItem(TABLE_OPEN, "");
    else sessionStorage.removeItem(TABLE_OPEN);
    if (data.order.number > this.order) {
      this.order = data.order.number;
      this.enqueue(() => this.obey(data.order));
    }
    if (data.number > this.number && data.text) {
      this.number = data.number;
      this.enqueue(() => this.keep(data));
    }
    if (!data.text) this.enqueue(() => this.say(""));
    this.goOn();
  }

  enqueue(step) {
    this.work = this.work.then(step).catch((error) => this.say(`Decisions could not be kept (${error?.name}).`, true));
  }

  get isOff() {
    return localStorage.getItem(OFF) !== null;
  }

  async obey({ what, of }) {
    if (what === "sign out") {
      if (!this.obstacle) await this.vault.clear().catch(() => null);
      location.href = "auth/logout";
    }
    if (this.obstacle) return;
    if (what === "on") localStorage.removeItem(OFF);
    if (what === "off") {
      localStorage.setItem(OFF, "");
      await this.vault.clear();
    }
    if (what === "forget") {
      for (const { visit, sha256 } of await this.vault.list(Infinity, Infinity)) {
        if (sha256 === of) await this.vault.drop(visit);
      }
    }
    if (what === "send") {
      const content = await this.vault.get(of).catch(() => null);
      this.tell.project(JSON.stringify({ visit: of, text: content?.text ?? "" }));
    }
  }

  async report({ most, days }, reason) {
    const backups = this.obstacle || this.isOff ? [] : await this.vault.list(most, days);
    this.reported = JSON.stringify(backups);
    if (!this.obstacle && !this.isOff && !reason && !backups.length) return;
    this.send(backups, reason);
  }

  // Another table in the same session: what was kept meanwhile may be of it.
  async reportAgain({ table, visit, most, days }) {
    if (this.obstacle || this.isOff) return;
    const backups = await this.vault.list(most, days);
    const isNews = this.reported !== JSON.stringify(backups);
    this.reported = JSON.stringify(backups);
    if (isNews && backups.some((one) => one.sha256 === table && one.visit !== visit)) this.send(backups, "");
  }

  send(backups, reason) {
    this.reports += 1;
    const { session, reports: number, isOff, obstacle } = this;
    this.tell.report(JSON.stringify({ session, number, backups, on: !isOff, obstacle, reason }));
  }

  async keep({ summary, text, most, days }) {
    if (this.obstacle || this.isOff) return;
    await this.vault.put(summary.visit, { summary, text }, most, days);
    this.say(`Decisions kept in this browser, ${this.clock(summary.saved)}`);
    this.saved = summary.saved;
  }

  clock(saved) {
    return new Date(saved).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  }

  say(text, isFault = false) {
    this.saved = null;
    const line = this.root?.querySelector(".line");
    if (!line) return;
    if (line.textContent !== text) line.textContent = text;
    line.classList.toggle("fault", isFault);
  }

  // The connection: lost for some seconds, that is said over the page; once it is back, the page is drawn again, by the
  // same session or by a new one.

  watch(state) {
    clearTimeout(this.timer);
    if (state === "CONNECTED") {
      if (this.isLost) this.tell.greeting(Date.now());
      return;
    }
    this.isLost = true;
    this.timer = setTimeout(() => this.warn(), PATIENCE);
  }

  // The message stands in the body itself, marked as the framework marks what its own dialogs must not make inert.
  warn() {
    const dialog = document.importNode(this.root.querySelector("template").content.firstElementChild, true);
    const styles = [...this.root.querySelectorAll("style")].map((style) => style.cloneNode(true));
    const theme = getComputedStyle(this.root.host ?? this.root);
    this.message?.remove();
    this.message = document.createElement("div");
    this.message.dataset.reactAriaTopLayer = "true";
    for (const [name] of styles.map((style) => style.textContent).join().matchAll(/--st-[\w-]+/g)) {
      this.message.style.setProperty(name, theme.getPropertyValue(name));
    }
    this.message.attachShadow({ mode: "open" }).append(...styles, dialog);
    document.body.append(this.message);
    dialog.querySelector(".lost").hidden = !this.isOpen;
    if (this.isOpen) {
      dialog.querySelector(".decisions").textContent = this.saved
        ? `Your decisions of ${this.clock(this.saved)} are kept in this browser and come back with one click.`
        : "No decisions are kept in this browser.";
    }
    dialog.querySelector("button").onclick = () => this.reload(dialog.querySelector(".answer"));
    dialog.oncancel = (event) => event.preventDefault();
    document.documentElement.dataset.copseLost = "";
    dialog.showModal();
  }

  goOn() {
    this.isLost = false;
    this.message?.remove();
    this.message = null;
    delete document.documentElement.dataset.copseLost;
  }

  async reload(answer) {
    answer.textContent = "Asking …";
    const health = await fetch("_stcore/health").catch(() => null);
    if (health?.ok) location.reload();
    else answer.textContent = "It does not answer yet. Start it, then try again.";
  }
}

const page = new Page();

export default function ({ data, parentElement, setStateValue, setTriggerValue }) {
  if (!data) return;
  if (data.frame) {
    page.mount(parentElement, {
      report: (text) => setStateValue("report", text),
      project: (text) => setTriggerValue("project", text),
      greeting: (time) => setTriggerValue("greeting", time),
    });
  }
  page.update(data);
}
