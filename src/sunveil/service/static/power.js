// A run of power that is being made: looks every two seconds, and shows the page anew once it is over.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const said = document.getElementById("power-running");
  const look = async () => {
    try {
      const answer = await fetch(location.href);
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const now = page.getElementById("power-running");
      if (!answer.ok || !now) {
        location.reload();
        return;
      }
      if (said.textContent !== now.textContent) said.replaceChildren(...now.childNodes);
    } catch {
      // the service was not reached; the next look may be luckier
    }
    setTimeout(look, 2000);
  };
  setTimeout(look, 1000);
});
