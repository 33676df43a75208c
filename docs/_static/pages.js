/* What can be scrolled sideways can be reached by keyboard; what fits is not in the way. */
function markScrollable() {
  for (const box of document.querySelectorAll("article pre, article .table-wrapper, article figure")) {
    if (box.scrollWidth > box.clientWidth) {
      box.tabIndex = 0;
    } else {
      box.removeAttribute("tabindex");
    }
  }
}

window.addEventListener("load", markScrollable);
window.addEventListener("resize", markScrollable);
