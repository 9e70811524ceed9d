// The tree's own window: viewBox arithmetic for zoom and drag, a cursor for the keyboard, and what is picked.
// Python sends {svg, picked, path}; this sends back `picked` (a state) and `opened` (a trigger), both node numbers.

const READABLE = 0.62; // pixels a unit below which the text of a node can no longer be read
const views = new WeakMap();

function parse(text) {
  const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
  return parsed.querySelector("parsererror") ? null : document.importNode(parsed.documentElement, true);
}

function nodesOf(svg) {
  const nodes = new Map();
  for (const element of svg.querySelectorAll("g.node[id^=n]")) {
    const id = Number(element.id.slice(1));
    const label = element.querySelector("title")?.textContent ?? "";
    nodes.set(id, { id, element, label, parent: -1, children: [], level: 1 });
  }
  // The edge into node t has the id e<t> and the class p<parent of t>.
  for (const edge of svg.querySelectorAll("g.edge")) {
    const id = Number(edge.id.slice(1));
    const parent = Number([...edge.classList].find((name) => /^p\d+$/.test(name))?.slice(1) ?? -1);
    const node = nodes.get(id);
    if (node && nodes.has(parent)) {
      node.parent = parent;
      nodes.get(parent).children.push(id);
    }
  }
  for (const id of [...nodes.keys()].sort((a, b) => a - b)) {
    const node = nodes.get(id);
    node.children.sort((a, b) => a - b);
    node.level = node.parent < 0 ? 1 : nodes.get(node.parent).level + 1;
    node.element.setAttribute("role", "treeitem");
    node.element.setAttribute("aria-level", node.level);
    if (node.children.length) node.element.setAttribute("aria-expanded", "true");
    else if (node.element.classList.contains("fold")) node.element.setAttribute("aria-expanded", "false");
  }
  return nodes;
}

class View {
  constructor(root) {
    this.stage = root.querySelector(".stage");
    this.live = root.querySelector(".live");
    this.text = null;
    this.svg = null;
    this.nodes = new Map();
    this.cursor = null;
    this.picked = null;
    this.path = [];
    this.box = null;
    this.usesKeys = false;
    root.querySelectorAll("button[data-do]").forEach((button) => {
      button.onclick = () => this.act(button.dataset.do);
    });
    this.listen();
  }

  update(data, tell) {
    this.tell = tell;
    if (data.text !== this.text) this.load(data.text);
    this.picked = data.picked;
    this.path = data.path ?? [];
    if (this.cursor === null || !this.nodes.has(this.cursor)) this.cursor = this.picked ?? 0;
    this.mark();
    if (this.fresh) {
      this.fresh = false;
      requestAnimationFrame(() => this.settle());
    }
  }

  load(text) {
    const svg = parse(text);
    this.text = text;
    this.nodes = new Map();
    if (!svg) {
      this.stage.replaceChildren("The drawing could not be read.");
      return;
    }
    const [x, y, width, height] = svg.getAttribute("viewBox").split(/\s+/).map(Number);
    this.whole = { x, y, width, height };
    svg.removeAttribute("width");
    svg.removeAttribute("height");
    this.svg = svg;
    this.stage.replaceChildren(svg);
    this.nodes = nodesOf(svg);
    this.fresh = true;
  }

  // Where the window is: this.box is the viewBox, always with the stage's own proportions.

  size() {
    const { width, height } = this.stage.getBoundingClientRect();
    return { width: Math.max(width, 1), height: Math.max(height, 1) };
  }

  scaleToFit() {
    const { width, height } = this.size();
    return Math.min(width / this.whole.width, height / this.whole.height);
  }

  look(centreX, centreY, scale) {
    const { width, height } = this.size();
    const limited = Math.min(Math.max(scale, this.scaleToFit() * 0.5), 4);
    this.box = { width: width / limited, height: height / limited };
    this.box.x = centreX - this.box.width / 2;
    this.box.y = centreY - this.box.height / 2;
    this.apply();
  }

  apply() {
    const { x, y, width, height } = this.box;
    this.svg.setAttribute("viewBox", `${x} ${y} ${width} ${height}`);
    this.drawnScale = this.size().width / width;
    this.stage.dataset.scale = this.drawnScale.toFixed(3);
  }

  scale() {
    return this.size().width / this.box.width;
  }

  middle() {
    return [this.box.x + this.box.width / 2, this.box.y + this.box.height / 2];
  }

  fit() {
    const { x, y, width, height } = this.whole;
    this.look(x + width / 2, y + height / 2, Math.min(this.scaleToFit(), 1.3));
  }

  centreOf(id) {
    const shape = this.nodes.get(id).element.getBBox();
    const shift = this.svg.querySelector("g.graph").transform.baseVal.consolidate().matrix;
    return [shape.x + shape.width / 2 + shift.e, shape.y + shape.height / 2 + shift.f];
  }

  goTo(id, atTop = false) {
    if (!this.nodes.has(id)) return;
    const scale = Math.max(this.box ? this.scale() : 0, 1);
    const [x, y] = this.centreOf(id);
    this.look(x, atTop ? y + this.size().height / scale / 2 - 70 / scale : y, scale);
  }

  settle() {
    if (!this.svg) return;
    if (this.scaleToFit() >= READABLE) this.fit();
    else if (this.picked !== null && this.nodes.has(this.picked) && this.picked !== 0) this.goTo(this.picked);
    else this.goTo(0, true);
  }

  zoom(factor, point) {
    const [x, y] = point ?? this.middle();
    const [middleX, middleY] = this.middle();
    const before = this.scale();
    const after = Math.min(Math.max(before * factor, this.scaleToFit() * 0.5), 4);
    this.look(x + (middleX - x) * (before / after), y + (middleY - y) * (before / after), after);
  }

  pointOf(event) {
    const { left, top } = this.stage.getBoundingClientRect();
    const scale = this.scale();
    return [this.box.x + (event.clientX - left) / scale, this.box.y + (event.clientY - top) / scale];
  }

  act(what) {
    if (!this.svg || !this.box) return;
    if (what === "in") this.zoom(1.3);
    if (what === "out") this.zoom(1 / 1.3);
    if (what === "fit") this.fit();
    if (what === "root") this.goTo(0, true);
    if (what === "picked") this.goTo(this.picked ?? 0);
  }

  // What is picked, and where the keyboard is.

  mark() {
    const onPath = new Set(this.path);
    for (const { id, element } of this.nodes.values()) {
      element.classList.toggle("picked", id === this.picked);
      element.classList.toggle("on-path", onPath.has(id));
      element.classList.toggle("cursor", this.usesKeys && id === this.cursor && id !== this.picked);
      element.setAttribute("aria-selected", String(id === this.picked));
    }
    this.svg?.querySelectorAll("g.edge").forEach((edge) => {
      edge.classList.toggle("on-path", onPath.has(Number(edge.id.slice(1))));
    });
    if (this.nodes.has(this.cursor)) this.stage.setAttribute("aria-activedescendant", `n${this.cursor}`);
  }

  pick(id) {
    this.cursor = id;
    this.picked = id;
    this.path = [];
    for (let at = id; at >= 0; at = this.nodes.get(at).parent) this.path.push(at);
    this.mark();
    this.tell.pick(id);
  }

  move(id) {
    if (id === undefined || !this.nodes.has(id)) return;
    this.cursor = id;
    this.usesKeys = true;
    this.mark();
    this.live.textContent = this.nodes.get(id).label;
    const [x, y] = this.centreOf(id);
    const { x: left, y: top, width, height } = this.box;
    if (x < left + 60 || x > left + width - 60 || y < top + 30 || y > top + height - 30) this.look(x, y, this.scale());
  }

  step(key) {
    const node = this.nodes.get(this.cursor);
    if (!node) return;
    if (key === "ArrowUp") this.move(node.parent);
    if (key === "ArrowDown") this.move(node.children[0]);
    const level = [...this.nodes.values()].filter((other) => other.level === node.level).sort((a, b) => a.id - b.id);
    const place = level.indexOf(node);
    if (key === "ArrowLeft") this.move(level[place - 1]?.id);
    if (key === "ArrowRight") this.move(level[place + 1]?.id);
  }

  listen() {
    const stage = this.stage;
    let drag = null;
    stage.onpointerdown = (event) => {
      if (event.button !== 0 || !this.box) return;
      drag = { x: event.clientX, y: event.clientY, box: { ...this.box }, scale: this.scale(), moved: false };
    };
    stage.onpointermove = (event) => {
      if (!drag) return;
      const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
      if (!drag.moved && Math.hypot(dx, dy) < 4) return;
      if (!drag.moved) stage.setPointerCapture(event.pointerId);
      drag.moved = true;
      stage.classList.add("moving");
      this.box = { ...drag.box, x: drag.box.x - dx / drag.scale, y: drag.box.y - dy / drag.scale };
      this.apply();
    };
    stage.onpointerup = stage.onpointercancel = () => {
      this.wasDragged = Boolean(drag?.moved);
      drag = null;
      stage.classList.remove("moving");
    };
    stage.onclick = (event) => {
      const element = event.target.closest("g.node");
      if (element && !this.wasDragged) this.pick(Number(element.id.slice(1)));
    };
    stage.ondblclick = (event) => {
      const element = event.target.closest("g.node");
      if (element) this.tell.open(Number(element.id.slice(1)));
    };
    stage.addEventListener(
      "wheel",
      (event) => {
        const root = stage.getRootNode();
        if (!this.box || !(event.ctrlKey || event.metaKey || root.activeElement === stage)) return;
        event.preventDefault();
        this.zoom(Math.exp(-event.deltaY * 0.0015), this.pointOf(event));
      },
      { passive: false },
    );
    stage.onkeydown = (event) => {
      const actions = { "+": "in", "=": "in", "-": "out", 0: "fit", Home: "root", p: "picked", P: "picked" };
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key.startsWith("Arrow")) this.step(event.key);
      else if (event.key === "Enter" || event.key === " ") this.pick(this.cursor);
      else if (event.key === "o" || event.key === "O") this.tell.open(this.cursor);
      else if (actions[event.key]) this.act(actions[event.key]);
      else return;
      event.preventDefault();
    };
    new ResizeObserver(() => {
      if (!this.box || !this.svg) return;
      const [x, y] = this.middle();
      this.look(x, y, this.drawnScale);
    }).observe(stage);
  }
}

export default function (component) {
  const { data, parentElement, setStateValue, setTriggerValue } = component;
  const stage = parentElement.querySelector(".stage");
  if (!stage || !data) return;
  let view = views.get(stage);
  if (!view) {
    view = new View(parentElement);
    views.set(stage, view);
  }
  parentElement.querySelector(".opens").hidden = !data.opens;
  view.update(
    { text: data.svg, picked: data.picked, path: data.path },
    { pick: (id) => setStateValue("picked", id), open: (id) => setTriggerValue("opened", id) },
  );
}
