// The map of people: the tree as a scaffold of boxes below boxes, as wide as their part of the people, and below it the
// released groups, each branch a column in which they are stacked, the surest at the bottom. Python sends the grown
// tree's boxes, and apart from them, as it changes with every limit, the step at which each was merged; which of them
// are groups after so many steps is worked out here, so that a move of the slider can be seen happening. The boxes are
// drawn once. This sends back `picked` (a state) and `opened` (a trigger), both node numbers.

const NS = "http://www.w3.org/2000/svg";
const LETTER = 6.3; // pixels of a letter, about
const views = new WeakMap();
const still = window.matchMedia("(prefers-reduced-motion: reduce)");

function element(name, attributes, parent) {
  const made = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  parent?.append(made);
  return made;
}

function cut(text, width, least) {
  const letters = Math.floor(width / LETTER);
  const all = [...text];
  return all.length <= letters ? text : letters < least ? "" : `${all.slice(0, letters - 1).join("")}…`;
}

// Where rows begin, as shares of the height, and where the last one ends: the first four carry words, and the boxes
// deep in a tree are many and small.
function rows(levels) {
  const starts = [0];
  for (let level = 0; level < levels; level++) starts.push(starts[level] + (level < 4 ? 1 : 0.45));
  return starts.map((start) => start / starts[levels]);
}

// The groups as columns, one for each branch: where it stands, and the parts of its height that its groups take.
function columns(stripes) {
  const columns = new Map();
  stripes.forEach(([left, share, node], at) => {
    if (!columns.has(node)) columns.set(node, { left, share: 0, groups: [] });
    const column = columns.get(node);
    column.groups.push({ at, from: column.share, share });
    column.share += share;
  });
  return [...columns.values()];
}

class People {
  constructor(root) {
    this.root = root;
    this.stage = root.querySelector(".stage");
    this.live = root.querySelector(".live");
    this.step = root.querySelector(".step");
    this.legend = root.querySelector(".legend");
    this.text = this.moves = null; // what was drawn last, as it came
    this.usesKeys = false;
    this.cursor = null;
    this.frame = 0;
    root.querySelector("[data-do=play]").onclick = () => this.play();
    root.querySelector("[data-do=open]").onclick = () => this.picked !== null && this.tell.open(this.picked);
    this.listen();
    new ResizeObserver(() => this.boxes && this.layOut()).observe(this.stage);
  }

  update(data, tell) {
    this.tell = tell;
    const text = data.boxes + data.look;
    const isNew = text !== this.text;
    const moves = isNew || data.moves !== this.moves;
    const before = this.after;
    this.picked = data.picked;
    this.pin = data.pin;
    this.path = new Set(data.path);
    this.target = data.after;
    if (isNew) this.load(JSON.parse(data.boxes), JSON.parse(data.look));
    if (moves) this.change(JSON.parse(data.moves));
    if (isNew) this.layOut();
    this.text = text;
    this.moves = data.moves;
    if (this.cursor === null || !this.places.has(this.cursor)) this.cursor = this.picked ?? this.boxes[0].node;
    this.run(moves ? data.after : before, data.after, 700);
    this.show(data);
    this.mark();
    if (isNew) this.stage.replaceChildren(this.svg); // whole, so that the page is laid out once
  }

  show(data) {
    const text = JSON.stringify([data.title, data.legend, Boolean(this.steps)]);
    if (text === this.shown) return;
    this.shown = text;
    this.root.querySelector("[data-do=play]").hidden = !this.steps;
    this.legend.replaceChildren();
    const say = (text, tag = "span") => {
      const part = document.createElement(tag);
      part.textContent = text;
      this.legend.append(part);
      return part;
    };
    say(data.title, "b");
    for (const { colour, text } of data.legend) {
      const swatch = document.createElement("i");
      swatch.style.background = colour;
      say(text).prepend(swatch);
    }
    for (const [look, text] of this.steps ? [["outlined", "branch"], ["ticked", "merged"]] : [["outlined", "group"]]) {
      const swatch = document.createElement("i");
      swatch.className = look;
      say(text).prepend(swatch);
    }
  }

  load({ boxes, words, conditions, unit }, { views, palette }) {
    this.palette = palette;
    this.unit = unit;
    this.boxes = boxes.map(([node, parent, left, width, level, size, leaf, folded], at) => ({
      node, parent, left: left / 100000, width: width / 100000, level, size, leaf, folded, at,
      words: words[at], condition: conditions[at], children: [],
    }));
    this.places = new Map(this.boxes.map((box) => [box.node, box]));
    for (const box of this.boxes) if (box.parent >= 0) this.boxes[box.parent].children.push(box);
    this.levels = 1 + Math.max(...this.boxes.map((box) => box.level));
    const svg = element("svg", { role: "presentation" });
    this.svg = svg;
    this.drawings = views.map((view) => {
      const group = element("g", {}, svg);
      const caption = view.caption ? element("text", { class: "caption", x: 2 }, group) : null;
      const shapes = this.boxes.map((box) => {
        const shape = element("g", { class: "node", "data-node": box.node }, group);
        element("title", {}, shape).textContent = `${this.sizeText(box)}: ${box.words.join(" ")}`;
        const rect = element("rect", {}, shape);
        return { shape, rect, text: null, state: "" };
      });
      return { view, group, caption, shapes };
    });
    this.foot = element("g", { class: "foot" }, svg);
    const main = this.drawings.at(-1);
    for (const [at, { shape }] of main.shapes.entries()) {
      shape.id = `n${this.boxes[at].node}`;
      shape.setAttribute("role", "treeitem");
      shape.setAttribute("aria-level", this.boxes[at].level + 1);
    }
    this.after = undefined;
    this.room = null;
  }

  change({ states, steps, stripes, leaving, groups }) {
    this.steps = steps;
    this.stripes = stripes;
    this.bare = stripes.every(([, , , shade]) => shade < 0); // nothing is known that their colours could say
    states.forEach(([shade, merged, gone], at) => Object.assign(this.boxes[at], { shade, merged, gone }));
    for (const { view, caption } of this.drawings) {
      if (caption) caption.textContent = view.hides ? `${view.caption}: ${groups}` : view.caption;
    }
    const foot = element("g", { class: "foot" });
    this.footCaption = element("text", { class: "caption", x: 2 }, foot);
    this.footCaption.textContent = leaving;
    this.feet = stripes.map(([, , node, shade, text]) => {
      const shape = element("g", { class: "node stripe", "data-node": node }, foot);
      element("title", {}, shape).textContent = text;
      const fill = this.palette.ranges[shade] ?? this.palette.shades[shade] ?? this.palette.page;
      return element("rect", { fill }, shape);
    });
    this.foot.replaceWith(foot);
    this.foot = foot;
    if (this.room) this.layFeet();
  }

  sizeText({ size }) {
    return `${size.toLocaleString("en")} ${this.unit}${size === 1 ? "" : "s"}`;
  }

  // Where boxes stand depends on the window, and on whether groups stand below them; what they look like, on the step.

  layOut() {
    const { width, height } = this.stage.getBoundingClientRect();
    if (width < 10 || height < 10) return;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.room = { width, height };
    const foot = (this.room.foot = this.footRoom(this.after ?? this.target ?? 0));
    const tall = (height - foot) / this.drawings.length;
    this.layFeet();
    this.drawings.forEach((drawing, number) => {
      const top = number * tall + (drawing.caption ? 20 : 0);
      const room = tall - (drawing.caption ? 24 : 0);
      drawing.caption?.setAttribute("y", number * tall + 14);
      const starts = rows(this.levels).map((part) => top + part * room);
      this.boxes.forEach((box, at) => {
        const place = { x: box.left * width, y: starts[box.level], w: Math.max(box.width * width - 0.7, 0.4) };
        place.row = starts[box.level + 1] - place.y - 0.7;
        place.bottom = top + room - 0.7 - place.y;
        drawing.shapes[at].place = place;
        drawing.shapes[at].state = "";
        this.write(drawing.shapes[at], box);
      });
    });
    this.paint(this.after ?? this.target ?? 0);
  }

  footRoom(after) {
    if (!this.stripes.length || after !== this.steps) return 0;
    return Math.max(64, this.room.height * (this.drawings.length > 1 || this.bare ? 0.2 : 0.6));
  }

  layFeet() {
    const { width, height, foot } = this.room;
    if (!foot) return;
    this.footCaption.setAttribute("y", height - foot + 18);
    const tall = foot - 26;
    for (const { left, share, groups } of columns(this.stripes)) {
      const w = share * width;
      for (const { at, from, share: own } of groups) {
        const h = (own / share) * tall;
        const y = height - 1 - (from / share) * tall - h;
        const place = { x: left * width, y, width: Math.max(w - (w > 4 ? 1 : 0), 0.3), height: h };
        for (const [name, value] of Object.entries(place)) this.feet[at].setAttribute(name, value);
        this.feet[at].parentNode.classList.toggle("narrow", w < 6 || h < 4);
      }
    }
  }

  write(drawn, box) {
    drawn.text?.remove();
    drawn.text = null;
    const { x, y, w, row } = drawn.place;
    const room = w - 8;
    const size = this.sizeText(box).length * LETTER * 1.06 + 9 <= w ? this.sizeText(box) : box.size.toLocaleString("en");
    const [chance, what] = box.words;
    const words = cut(`${chance} ${what}`.trim(), room, chance.length + 5) || cut(chance, room, 99);
    const condition = cut(box.condition, room, 9);
    const lines = [condition, size, words];
    const both = condition === box.condition && cut(`${condition}: ${size}`, room, 999);
    const few = row >= 50 ? lines : row >= 32 ? (condition ? [condition, size] : [size, words]) : row >= 15 ? [both || size] : [];
    const written = w < 9 + size.length * LETTER * 1.06 ? [] : few.filter(Boolean);
    if (!written.length) return;
    drawn.text = element("text", { x: x + w / 2, y: y + row / 2 - (written.length - 1) * 7.5 + 4 }, drawn.shape);
    written.forEach((line, at) => {
      const part = element("tspan", { x: x + w / 2, dy: at ? 15 : 0 }, drawn.text);
      part.textContent = line;
      if (line === size) part.setAttribute("class", "size");
    });
  }

  paint(after) {
    this.after = after;
    if (this.room && this.room.foot !== this.footRoom(after)) {
      this.layOut();
      return;
    }
    const quiet = Boolean(this.room?.foot) && this.drawings.length === 1 && !this.bare; // groups have the colours
    this.svg.classList.toggle("quiet", quiet);
    for (const drawing of this.drawings) {
      const now = drawing.view.after === null ? after : drawing.view.after;
      this.boxes.forEach((box, at) => {
        const drawn = drawing.shapes[at];
        const gone = box.gone > 0 && box.gone <= now;
        const group = !gone && (box.leaf || (box.merged > 0 && box.merged <= now));
        const hidden = gone && drawing.view.hides;
        const ends = box.leaf || !box.children.length || (group && drawing.view.hides);
        const state = hidden ? "hidden" : gone ? "gone" : group ? "group" : "inner";
        const look = `${state} ${ends} ${box.shade} ${quiet}`;
        if (look !== drawn.state) {
          drawn.state = look;
          const { x, y, w, row, bottom } = drawn.place;
          const tall = gone ? Math.min(row, 1.5) : ends && !quiet ? bottom : row;
          for (const [name, value] of Object.entries({ x, y, width: w, height: tall })) drawn.rect.setAttribute(name, value);
          drawn.rect.setAttribute("fill", gone ? this.palette.line : quiet ? this.palette.page : this.palette.shades[box.shade]);
          drawn.shape.classList.toggle("gone", gone);
          drawn.shape.classList.toggle("narrow", w < (gone ? 7 : 4));
          drawn.shape.classList.toggle("group", group);
          drawn.shape.classList.toggle("hidden", hidden);
          if (drawn.text) {
            drawn.text.style.display = gone ? "none" : "";
            drawn.text.style.fill = box.shade > 5 && !quiet ? this.palette.deep : "";
          }
        }
      });
    }
    this.foot.style.display = after === this.steps ? "" : "none";
    this.step.textContent = this.steps ? `step ${after.toLocaleString("en")} of ${this.steps.toLocaleString("en")}` : "";
  }

  run(from, to, milliseconds) {
    cancelAnimationFrame(this.frame);
    if (from === to || still.matches) {
      this.paint(to);
      return;
    }
    const start = performance.now();
    const go = (now) => {
      const part = Math.min(Math.max(now - start, 0) / milliseconds, 1); // a frame may have begun before the click
      this.paint(Math.round(from + (to - from) * part));
      if (part < 1) this.frame = requestAnimationFrame(go);
    };
    go(start);
  }

  play() {
    this.run(0, this.target, 3500);
  }

  mark() {
    for (const { shapes } of this.drawings) {
      this.boxes.forEach(({ node }, at) => {
        const { shape } = shapes[at];
        shape.classList.toggle("picked", node === this.picked);
        shape.classList.toggle("on-path", this.path.has(node));
        shape.classList.toggle("cursor", this.usesKeys && node === this.cursor && node !== this.picked);
        const selected = String(node === this.picked);
        if (shape.id && shape.getAttribute("aria-selected") !== selected) shape.setAttribute("aria-selected", selected);
      });
      const front = [...this.path, this.picked].map((node) => this.places.get(node)).filter(Boolean);
      for (const box of front) shapes[box.at].shape.parentNode.append(shapes[box.at].shape);
    }
    for (const [at, { parentNode: shape }] of this.feet.entries()) {
      shape.classList.toggle("pinned", at === this.pin);
      if (at === this.pin) this.foot.append(shape);
    }
    this.stage.setAttribute("aria-activedescendant", `n${this.cursor}`);
    this.root.querySelector("[data-do=open]").hidden = this.picked === null || !this.places.get(this.picked)?.level;
  }

  pick(node) {
    this.cursor = this.picked = node;
    this.path = new Set();
    for (let box = this.places.get(node); box; box = this.boxes[box.parent]) this.path.add(box.node);
    this.mark();
    this.tell.pick(node);
  }

  move(box) {
    if (!box) return;
    this.cursor = box.node;
    this.usesKeys = true;
    this.mark();
    this.live.textContent = `${box.condition} ${this.sizeText(box)}: ${box.words.join(" ")}`;
  }

  arrow(key) {
    const box = this.places.get(this.cursor);
    const level = this.boxes.filter((other) => other.level === box.level).sort((a, b) => a.left - b.left);
    const at = level.indexOf(box);
    const widest = [...box.children].sort((a, b) => b.width - a.width)[0];
    this.move({ ArrowUp: this.boxes[box.parent], ArrowDown: widest, ArrowLeft: level[at - 1], ArrowRight: level[at + 1] }[key]);
  }

  listen() {
    const nodeOf = (event) => {
      const shape = event.target.closest("g.node");
      return shape ? Number(shape.dataset.node) : null;
    };
    this.stage.onclick = (event) => nodeOf(event) !== null && this.pick(nodeOf(event));
    this.stage.ondblclick = (event) => nodeOf(event) !== null && this.tell.open(nodeOf(event));
    this.stage.onkeydown = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !this.boxes) return;
      if (event.key.startsWith("Arrow")) this.arrow(event.key);
      else if (event.key === "Home") this.move(this.boxes[0]);
      else if (event.key === "Enter" || event.key === " ") this.pick(this.cursor);
      else if (event.key === "o" || event.key === "O") this.tell.open(this.cursor);
      else return;
      event.preventDefault();
    };
  }
}

export default function (component) {
  const { data, parentElement, setStateValue, setTriggerValue } = component;
  const stage = parentElement.querySelector(".stage");
  if (!stage || !data) return;
  if (!views.has(stage)) views.set(stage, new People(parentElement));
  views.get(stage).update(data, {
    pick: (node) => setStateValue("picked", node),
    open: (node) => setTriggerValue("opened", node),
  });
}
