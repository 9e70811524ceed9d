let tellTheme, watched;

const watchTheme = (app) => {
  if (watched === app) return;
  watched = app;
  const now = () => getComputedStyle(app).colorScheme;
  let theme = now();
  new MutationObserver(() => {
    if (now() === theme) return;
    theme = now();
    tellTheme(theme);
  }).observe(app, { attributes: true, attributeFilter: ["class"] });
};

export default ({ data, setTriggerValue }) => {
  const main = document.querySelector('[data-testid="stMain"]');
  tellTheme = (theme) => setTriggerValue("theme", theme);
  if (!main || main.dataset.page === data) return;
  const zones = '[data-testid="stFileUploaderDropzone"][role="presentation"]';
  const opened = '[data-testid="stPopoverBody"]:not([tabindex="0"])';
  const tell = () => {
    main.querySelectorAll(zones).forEach((zone) => zone.removeAttribute("role"));
    document.querySelectorAll(opened).forEach((body) => { body.tabIndex = 0; });
    const overlay = document.getElementById("stFloatingOverlayPortal");
    if (overlay && !overlay.role) Object.assign(overlay, { role: "region", ariaLabel: "Explanations and lists" });
  };
  const buttonOf = (verb, job) => document.querySelector(`.st-key-${verb}-${CSS.escape(job)} button:enabled`);
  const inside = "a[href], button:enabled, summary, [tabindex='0']";
  let last, job;
  const answerOf = (job) => {
    const mark = document.querySelector(`.st-key-answer-${CSS.escape(job)}`);
    const follows = (element) => mark?.compareDocumentPosition(element) === Node.DOCUMENT_POSITION_FOLLOWING;
    const elements = main.querySelectorAll('[data-testid="stElementContainer"]');
    const answer = [...elements].find((element) => follows(element) && element.offsetHeight > 0);
    const within = answer?.querySelector(inside);
    if (answer && !within) Object.assign(answer, { tabIndex: -1 }).dataset.answer = job;
    return within ?? answer;
  };
  const goOn = () => {
    const isLost = job && document.activeElement === document.body && (!last.isConnected || last.disabled);
    if (!isLost) return;
    const running = document.querySelector('[data-test-script-state="running"]');
    const later = () => running ? null : answerOf(job) ?? buttonOf("begin", job);
    (buttonOf("cancel", job) ?? buttonOf("again", job) ?? later())?.focus();
  };
  if (!main.dataset.page) {
    watchTheme(document.querySelector('[data-testid="stApp"]'));
    document.addEventListener("focusin", ({ target }) => {
      const names = [...(target.closest?.('[class*="st-key-"]')?.classList ?? [])].join(" ");
      [last, job] = [target, names.match(/st-key-(?:begin|cancel|again)-(\S+)/)?.[1]];
    });
    new MutationObserver(() => { tell(); goOn(); }).observe(document.body, {
      childList: true, subtree: true, attributes: true, attributeFilter: ["data-test-script-state"],
    });
  }
  tell();
  if (main.dataset.page) {
    main.scrollTop = 0;
    main.tabIndex = -1;
    main.focus({ preventScroll: true });
  }
  main.dataset.page = data;
};
