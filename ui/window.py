"""What a page needs of the browser beside what the framework draws.

Another page starts at its top, with the keyboard's focus before its first word; the same page drawn again stays where
it is. A place for files, which has a name, is not marked as mere decoration, and what floats over the page has a name,
so that screen readers tell of both; what opens from a button can be scrolled by the keyboard.
"""

import streamlit as st

SCRIPT = """export default ({ data }) => {
  const main = document.querySelector('[data-testid="stMain"]');
  if (!main || main.dataset.page === data) return;
  const zones = '[data-testid="stFileUploaderDropzone"][role="presentation"]';
  const opened = '[data-testid="stPopoverBody"]:not([tabindex="0"])';
  const tell = () => {
    main.querySelectorAll(zones).forEach((zone) => zone.removeAttribute("role"));
    document.querySelectorAll(opened).forEach((body) => { body.tabIndex = 0; });
    const overlay = document.getElementById("stFloatingOverlayPortal");
    if (overlay && !overlay.role) Object.assign(overlay, { role: "region", ariaLabel: "Explanations and lists" });
  };
  if (!main.dataset.page) new MutationObserver(tell).observe(document.body, { childList: true, subtree: true });
  tell();
  if (main.dataset.page) {
    main.scrollTop = 0;
    main.tabIndex = -1;
    main.focus({ preventScroll: true });
  }
  main.dataset.page = data;
};"""

_mount = st.components.v2.component("copse_window", js=SCRIPT)


def start_at_top(page: str) -> None:
    """Scroll to the top, and begin there with the keyboard, when ``page`` is another one than was shown before."""
    _mount(key="window", data=page, width=1, height=1)
