// Keeps a page about running work up to date, and says how far an upload is.
"use strict";
(() => {
  const PAUSE = 1500;

  // -- running work: the same words and bar that the page was sent with, renewed
  async function look(area) {
    let told = null;
    try {
      const answer = await fetch(area.dataset.progress, { headers: { Accept: "application/json" } });
      if (answer.ok) told = await answer.json();
    } catch {
      // the service is being restarted; the work goes on meanwhile
    }
    if (told && told.state !== "running") {
      location.reload();
      return;
    }
    if (told) {
      area.querySelector("[data-words]").textContent = told.words;
      const bar = area.querySelector("progress");
      if (told.progress && told.progress.total > 0) bar.value = told.progress.share;
    }
    setTimeout(() => look(area), PAUSE);
  }

  // -- uploads: a large file takes its time, and the page says so
  function watchUpload(form) {
    form.addEventListener("submit", () => {
      const said = form.querySelector("[data-sending]");
      said.hidden = false;
      form.querySelector("button[type=submit]").disabled = true;
    });
  }

  // -- tokens: copied by a press, where the browser allows it
  function offerCopy(button) {
    if (!navigator.clipboard) return;
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).value);
      button.textContent = "Copied";
    });
  }

  // -- forms that ask before they do what cannot be undone
  function askFirst(form) {
    form.addEventListener("submit", (event) => {
      if (!confirm(form.dataset.ask)) event.preventDefault();
    });
  }

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll("[data-progress]").forEach((area) => setTimeout(() => look(area), PAUSE));
    document.querySelectorAll("[data-upload]").forEach(watchUpload);
    document.querySelectorAll("[data-copy]").forEach(offerCopy);
    document.querySelectorAll("[data-ask]").forEach(askFirst);
  });
})();
