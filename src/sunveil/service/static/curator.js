// Keeps a page about running work up to date, takes files and folders, and says how far an upload is.
"use strict";
(() => {
  const PAUSE = 1000;

  // -- running work: the same words and bar that the page was sent with, renewed
  const sentence = (words) => words.charAt(0).toUpperCase() + words.slice(1) + ".";

  async function look(area) {
    let job = null;
    try {
      const answer = await fetch(area.dataset.progress, { headers: { Accept: "application/json" } });
      if (answer.ok) job = await answer.json();
    } catch {
      // the service is being restarted; the work goes on meanwhile
    }
    if (job && job.state !== "running") {
      location.reload();
      return;
    }
    if (job) {
      area.querySelector("[data-words]").textContent = sentence(job.words);
      const bar = area.querySelector("progress");
      if (job.progress && job.progress.total > 0) bar.value = job.progress.share;
    }
    setTimeout(() => look(area), PAUSE);
  }

  // -- uploads: files and folders that are chosen or dropped, and how much of them is sent
  const count = (number, word) => `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;

  function size(bytes) {
    if (bytes >= 1 << 30) return `${(bytes / (1 << 30)).toPrecision(3)} GB`;
    if (bytes >= 1 << 20) return `${(bytes / (1 << 20)).toPrecision(3)} MB`;
    return `${Math.max(1, Math.round(bytes / 1024))} kB`;
  }

  // all files below a dropped file or folder, each with its path
  async function filesOf(entry, path) {
    const name = path ? `${path}/${entry.name}` : entry.name;
    if (entry.isFile) {
      const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
      return [{ file, name }];
    }
    const reader = entry.createReader();
    const found = [];
    for (;;) {
      const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
      if (!some.length) return found;
      for (const each of some) found.push(...(await filesOf(each, name)));
    }
  }

  function watchUpload(form) {
    const area = form.querySelector("[data-drop]");
    const input = area.querySelector("input[type=file]");
    const chosen = area.querySelector("[data-chosen]");
    // what was dropped, or chosen as a folder; files of the field itself come with the form
    let dropped = [];

    function show() {
      const all = [...Array.from(input.files, (file) => ({ file, name: file.name })), ...dropped];
      chosen.hidden = !all.length;
      const bytes = all.reduce((sum, each) => sum + each.file.size, 0);
      const names = all.slice(0, 5).map((each) => each.name).join(", ");
      const more = all.length > 5 ? ` and ${count(all.length - 5, "more").replace(/s$/, "")}` : "";
      chosen.textContent = `${count(all.length, "file")} chosen (${size(bytes)}): ${names}${more}`;
      input.required = input.hasAttribute("data-required") && !all.length;
    }
    input.toggleAttribute("data-required", input.required);
    input.addEventListener("change", show);

    area.querySelector("[data-drop-words]").hidden = false;
    for (const kind of ["dragenter", "dragover"]) {
      area.addEventListener(kind, (event) => {
        event.preventDefault();
        area.classList.add("over");
      });
    }
    area.addEventListener("dragleave", () => area.classList.remove("over"));
    area.addEventListener("drop", async (event) => {
      event.preventDefault();
      area.classList.remove("over");
      const entries = Array.from(event.dataTransfer.items, (item) => item.webkitGetAsEntry());
      for (const entry of entries) if (entry) dropped.push(...(await filesOf(entry, "")));
      show();
    });

    const folder = area.querySelector("[data-drop-folder]");
    folder.hidden = false;
    folder.querySelector("button").addEventListener("click", () => {
      const chooser = Object.assign(document.createElement("input"), { type: "file" });
      chooser.webkitdirectory = true;
      chooser.addEventListener("change", () => {
        for (const file of chooser.files) dropped.push({ file, name: file.webkitRelativePath });
        show();
      });
      chooser.click();
    });

    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const content = new FormData(form);
      for (const { file, name } of dropped) content.append("meters", file, name);
      send(form, content);
    });
  }

  function send(form, content) {
    const button = form.querySelector("button[type=submit]");
    const sending = form.querySelector("[data-sending]");
    const words = sending.querySelector("[role=status]");
    const problem = form.querySelector("[data-problem]");
    const request = new XMLHttpRequest();
    button.disabled = true;
    problem.hidden = true;
    sending.hidden = false;

    function fail(text) {
      button.disabled = false;
      sending.hidden = true;
      problem.hidden = false;
      problem.textContent = text;
      problem.scrollIntoView({ block: "center" });
    }
    request.upload.addEventListener("progress", (event) => {
      if (!event.lengthComputable) return;
      sending.querySelector("progress").value = event.loaded / event.total;
      words.textContent =
        event.loaded < event.total
          ? `Uploading: ${size(event.loaded)} of ${size(event.total)}. Keep this page open.`
          : "Uploaded. Checking the files.";
    });
    request.addEventListener("load", () => {
      let answer = {};
      try {
        answer = JSON.parse(request.responseText);
      } catch {
        // a page of the service, not an answer to this script
      }
      if (answer.to) location.assign(answer.to);
      else if (answer.problem) fail(sentence(answer.problem.replace(/\.$/, "")));
      else if (request.status === 401) fail("Your session has ended. Sign in again in another tab, then upload again.");
      else fail(`The upload was refused (status ${request.status}). Try again.`);
    });
    request.addEventListener("error", () => fail("The connection was lost. Check it and upload again."));
    request.open("POST", form.action);
    request.setRequestHeader("Accept", "application/json");
    request.send(content);
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

  // -- tables that are wider than the page: a shadow on the side where there is more
  function showEdges(area) {
    const update = () => {
      const rest = area.scrollWidth - area.clientWidth - area.scrollLeft;
      area.classList.toggle("more-right", rest > 2);
      area.classList.toggle("more-left", area.scrollLeft > 2);
    };
    area.addEventListener("scroll", update, { passive: true });
    new ResizeObserver(update).observe(area);
    update();
  }

  document.addEventListener("DOMContentLoaded", () => {
    // filters are folded on a phone, and open where there is room
    if (matchMedia("(min-width: 52rem)").matches) document.querySelectorAll("[data-wide-open]").forEach((each) => { each.open = true; });
    document.querySelectorAll("[data-progress]").forEach((area) => setTimeout(() => look(area), 300));
    document.querySelectorAll("[data-upload]").forEach(watchUpload);
    document.querySelectorAll("[data-copy]").forEach(offerCopy);
    document.querySelectorAll("[data-ask]").forEach(askFirst);
    document.querySelectorAll(".scroll").forEach(showEdges);
  });
})();
