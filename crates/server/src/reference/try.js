"use strict";
// Sends the form's request with the key that was typed, and shows the answer. Nothing is stored.
const section = document.getElementById("try");
const form = section.querySelector("form");
const answer = section.querySelector(".answer");
const part = (name) => answer.querySelector(`.${name}`);

// The form's request: where it goes, and its headers.
function request() {
  let path = form.dataset.path;
  const query = new URLSearchParams();
  const headers = {};
  for (const { name, value, dataset } of form.querySelectorAll("input[data-in]")) {
    if (dataset.in === "path") path = path.replace(`{${name}}`, encodeURIComponent(value));
    else if (value === "") continue;
    else if (dataset.in === "query") query.append(name, value);
    else headers[name] = value;
  }
  const url = new URL(path, location.href);
  url.search = query;
  return { url, headers };
}

function curl({ url, headers }) {
  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const given = Object.entries(headers).map(([name, value]) => ` \\\n  -H ${quoted(`${name}: ${value}`)}`);
  const { header, start } = form.dataset;
  return `curl -H "${header}: ${start}$SIGNALDEX_KEY"${given.join("")} \\\n  ${quoted(url.href)}`;
}

function indented(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function show(status, headers, body) {
  part("status").textContent = status;
  part("headers").textContent = headers;
  part("body").textContent = body;
  part("headers").hidden = headers === "";
  part("body").hidden = body === "";
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const asked = request();
  const key = form.querySelector("#try-key").value.trim();
  part("curl").textContent = curl(asked);
  answer.hidden = false;
  show("Sending …", "", "");
  try {
    // Without a key, the browser signs in with the cookies of this site.
    const { header, start } = form.dataset;
    const headers = key === "" ? asked.headers : { ...asked.headers, [header]: `${start}${key}` };
    // Without the browser's cache, so that a 304 is shown as one.
    const response = await fetch(asked.url, { headers, cache: "no-store" });
    const lines = [...response.headers].map(([name, value]) => `${name}: ${value}`);
    const body = await response.text();
    show(`${response.status} ${response.statusText}`, lines.join("\n"), indented(body));
  } catch (error) {
    show(`The request failed: ${error.message}`, "", "");
  }
});
section.hidden = false;
