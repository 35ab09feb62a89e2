// Documents: dropped or chosen files are sent to the server, which returns the address of the translation.

import { apiKey, describeFailure } from "./server.js";

const chosen = document.getElementById("chosen");
const documents = document.getElementById("documents");

/** Accept files.
 *  @param formats the suffixes that the server supports
 *  @param languages returns `source` and `target` */
export function startFiles(formats, languages) {
  document.getElementById("formats").textContent = formats.map((suffix) => suffix.slice(1)).join(", ");
  document.getElementById("choose").addEventListener("click", () => chosen.click());
  chosen.accept = formats.join(",");
  chosen.addEventListener("change", () => {
    for (const file of chosen.files) translateFile(file, languages());
    chosen.value = "";
  });
  for (const kind of ["dragenter", "dragover", "dragleave", "drop"]) {
    document.addEventListener(kind, (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      const leaves = kind === "drop" || (kind === "dragleave" && event.relatedTarget === null);
      document.body.classList.toggle("dragging", !leaves);
      if (kind === "drop") for (const file of event.dataTransfer.files) translateFile(file, languages());
    });
  }
}

/** Send a file with XMLHttpRequest, because `fetch` does not report the progress of uploads. */
function translateFile(file, languages) {
  const row = makeRow(file.name);
  const form = new FormData();
  for (const [name, value] of Object.entries({ ...languages, api_key: apiKey(), file })) form.append(name, value);
  const request = new XMLHttpRequest();
  request.responseType = "json";
  request.upload.addEventListener("progress", ({ loaded, total }) => row.show("Uploading …", loaded / total));
  request.upload.addEventListener("load", () => row.show("Translating …"));
  request.addEventListener("loadend", () => {
    const address = request.response?.translatedFileUrl;
    if (address) row.finish(new URL(address).pathname.split("/").slice(-2).join("/"));
    else row.fail(describeFailure(request.status, request.response));
  });
  request.open("POST", "translate_file");
  request.send(form);
}

function makeRow(name) {
  const row = document.createElement("li");
  const [title, state, progress] = ["b", "span", "progress"].map((kind) => document.createElement(kind));
  title.textContent = name;
  state.className = "state";
  state.role = "status";
  progress.ariaLabel = `Progress of ${name}`;
  row.append(title, state, progress);
  documents.prepend(row);
  return {
    show(text, share) {
      state.textContent = text;
      if (share === undefined) progress.removeAttribute("value");
      else progress.value = share;
    },
    finish(address) {
      const link = document.createElement("a");
      link.href = address;
      link.download = "";
      link.textContent = "Download";
      state.replaceChildren(link);
      progress.remove();
    },
    fail(message) {
      const text = document.createElement("p");
      text.className = "message error";
      text.role = "alert";
      text.textContent = message;
      state.textContent = "";
      progress.replaceWith(text);
    },
  };
}
