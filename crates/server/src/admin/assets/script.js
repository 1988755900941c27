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

// What is left empty is not sent, so that addresses stay short.
function leaveOutEmpty(form) {
  form.addEventListener("formdata", ({ formData }) => {
    const empty = [...formData].filter(([, value]) => value === "");
    for (const [name] of empty) if (formData.getAll(name).every((value) => value === "")) formData.delete(name);
  });
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
  loadFigures();
  document.getElementById("said").textContent = results.querySelector("h2").textContent;
  if (focused.name && !focused.isConnected) {
    const same = `[name="${CSS.escape(focused.name)}"][value="${CSS.escape(focused.value)}"]`;
    document.querySelector(same)?.focus();
  }
}

// Figures over all matches are loaded after the signals, which never wait for them. The link to them stays if that fails.
async function loadFigures() {
  const figures = document.querySelector("[data-figures]");
  if (!figures) return;
  figures.setAttribute("aria-busy", "true");
  const answer = await fetch(figures.dataset.figures).catch(() => null);
  const text = answer?.ok ? await answer.text().catch(() => "") : "";
  const fresh = new DOMParser().parseFromString(text, "text/html").getElementById("figures");
  if (fresh) figures.innerHTML = fresh.innerHTML;
  figures.removeAttribute("aria-busy");
}

// Says that nothing came back, and offers to ask again; the results before stay.
function showFailure(isFailed) {
  document.getElementById("failed").hidden = !isFailed;
  document.getElementById("results").removeAttribute("aria-busy");
}

// Choosing in a list or a box asks at once; text waits for Enter or the button.
function followChoices(form) {
  let latest = 0;
  form.querySelector(".live-hint").hidden = false;
  const ask = async () => {
    const turn = ++latest;
    document.getElementById("results").setAttribute("aria-busy", "true");
    const answer = await fetch(addressOf(form)).catch(() => null);
    const text = await answer?.text().catch(() => null);
    if (turn !== latest) return;
    if (text === null || text === undefined) return showFailure(true);
    // A session that has ended leads to the sign-in, which is shown as a page.
    if (!new URL(answer.url).pathname.startsWith("/search")) return location.reload();
    const page = new DOMParser().parseFromString(text, "text/html");
    if (!page.getElementById("results")) return showFailure(true);
    showFailure(false);
    history.pushState(null, "", answer.url);
    show(page);
  };
  form.addEventListener("change", (event) => {
    if (event.target.matches("select, input[type=checkbox]")) ask();
  });
  document.getElementById("again").addEventListener("click", ask);
  addEventListener("popstate", () => location.reload());
}

// The slash leads to the search, unless something is being typed.
function leadToSearch() {
  const field = document.getElementById("q");
  if (!field) return;
  for (const hint of document.querySelectorAll(".slash-hint")) hint.hidden = false;
  addEventListener("keydown", (event) => {
    const isTyping = event.target.matches("input:not([type=checkbox]), select, textarea");
    if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    field.focus();
    field.select();
  });
}

offerCopying(document);
foldFilters();
leadToSearch();
loadFigures();
for (const form of document.querySelectorAll("form.search")) leaveOutEmpty(form);
const search = document.getElementById("search");
if (search) followChoices(search);
