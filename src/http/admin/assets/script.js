// What pages can do beyond links and forms. Everything works without it but copying by a button.
"use strict";

// Buttons that copy: shown only where they work.
function offerCopying(root) {
  if (!navigator.clipboard) return;
  for (const button of root.querySelectorAll("[data-copy]")) {
    const label = button.innerHTML;
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
      button.textContent = "Copied";
      setTimeout(() => { button.innerHTML = label; }, 2000);
    });
  }
}

// On a phone the filters start closed, so that results are seen first.
function foldFilters() {
  const filters = document.getElementById("all-filters");
  if (filters && matchMedia("(max-width: 60rem)").matches) filters.open = false;
}

// The address that a form leads to, without what is left empty.
function addressOf(form) {
  const filled = [...new FormData(form)].filter(([, value]) => value !== "");
  return `${form.action}?${new URLSearchParams(filled)}`;
}

// Puts what a new page shows in place of what this one does; the form keeps its focus.
function show(page) {
  const focused = document.activeElement;
  for (const live of document.querySelectorAll("[data-live]")) {
    const fresh = page.getElementById(live.id);
    if (fresh) live.innerHTML = fresh.innerHTML;
  }
  const results = document.getElementById("results");
  results.innerHTML = page.getElementById("results").innerHTML;
  offerCopying(results);
  document.getElementById("said").textContent = results.querySelector("h2").textContent;
  if (focused.name && !focused.isConnected) {
    const same = `[name="${CSS.escape(focused.name)}"][value="${CSS.escape(focused.value)}"]`;
    document.querySelector(same)?.focus();
  }
}

// Choosing in a list or a box asks at once; text waits for Enter or the button.
function followChoices(form) {
  let latest = 0;
  form.querySelector(".live-hint").hidden = false;
  form.addEventListener("change", async (event) => {
    if (!event.target.matches("select, input[type=checkbox]")) return;
    const turn = ++latest;
    const results = document.getElementById("results");
    results.setAttribute("aria-busy", "true");
    const answer = await fetch(addressOf(form)).catch(() => null);
    if (!answer) return form.submit();
    // A session that has ended leads to the sign-in, which is shown as a page.
    if (!new URL(answer.url).pathname.startsWith("/search")) return location.reload();
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (turn !== latest) return;
    results.removeAttribute("aria-busy");
    history.pushState(null, "", answer.url);
    show(page);
  });
  addEventListener("popstate", () => location.reload());
}

offerCopying(document);
foldFilters();
const search = document.getElementById("search");
if (search) followChoices(search);
