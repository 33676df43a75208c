// Asking: a slider of ε on a logarithmic scale, the cost as it moves, and one press that spends.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const confirm = document.getElementById("confirm");
  if (confirm) {
    // the key in the form makes a second press harmless; this only says that the first was taken
    confirm.addEventListener("submit", () => {
      document.getElementById("waiting").hidden = false;
      setTimeout(() => { document.getElementById("spend").disabled = true; }, 0);
    });
    addEventListener("pageshow", () => { document.getElementById("spend").disabled = false; });
  }
  const form = document.getElementById("ask");
  if (!form) return;
  const slider = document.getElementById("epsilon-slider");
  const number = document.getElementById("f-epsilon");
  const plan = document.getElementById("plan");
  const look = document.getElementById("look");
  const low = Math.log(Number(slider.dataset.low));
  const high = Math.log(Number(slider.dataset.high));
  let waiting = 0;
  let asked = 0;

  const clamp = (value) => Math.min(1, Math.max(0, value));
  const follow = () => {
    slider.value = Math.round(1000 * clamp((Math.log(Number(number.value)) - low) / (high - low || 1)));
    slider.setAttribute("aria-valuetext", `ε = ${number.value}`);
  };

  async function update() {
    clearTimeout(waiting);
    const mine = ++asked;
    const fields = new URLSearchParams(new FormData(form));
    plan.classList.add("waiting");
    try {
      const answer = await fetch(`${form.action}?${fields}`, { headers: { "X-Partial": "plan" } });
      if (answer.ok && !answer.redirected && mine === asked) plan.innerHTML = await answer.text();
    } finally {
      if (mine === asked) plan.classList.remove("waiting");
    }
  }

  const soon = () => {
    clearTimeout(waiting);
    waiting = setTimeout(update, 250);
  };
  slider.addEventListener("input", () => {
    const value = Math.exp(low + (high - low) * (slider.value / 1000));
    number.value = Number(value.toPrecision(2));
    slider.setAttribute("aria-valuetext", `ε = ${number.value}`);
    soon();
  });
  form.addEventListener("input", (event) => {
    if (event.target === slider) return;
    if (event.target === number) follow();
    soon();
  });
  // Enter presses the first button, which only updates the cost
  form.addEventListener("submit", (event) => {
    if (event.submitter && event.submitter !== look) return;
    event.preventDefault();
    update();
  });
  look.hidden = true;
  follow();
  // what was typed before this ran, or kept by the browser, has its cost too
  const typed = (field) => field !== slider && field.matches("input:not([type=hidden])")
    && (field.value !== field.defaultValue || field.checked !== field.defaultChecked);
  if ([...form.elements].some(typed)) soon();
});
