// Questions, and words about what has happened.

const part = (name) => document.getElementById(`ask${name ? `-${name}` : ""}`);

/** Ask for a text, or (without a label) for a yes; resolves to the text, true, or null if the user would rather not. */
export function ask({ title, text, label = null, value = "", yes, secret = false }) {
  part("title").textContent = title;
  part("text").textContent = text;
  part("field").hidden = label === null;
  part("label").textContent = label ?? "";
  part("error").textContent = "";
  const input = part("input");
  input.value = value;
  input.type = secret ? "password" : "text";
  part("yes").textContent = yes;
  const dialog = part("");
  return new Promise((resolve) => {
    const done = (answer) => {
      dialog.oncancel = part("yes").onclick = part("no").onclick = input.onkeydown = null;
      dialog.close();
      resolve(answer);
    };
    const accept = () => done(label === null ? true : input.value.trim());
    part("yes").onclick = accept;
    part("no").onclick = () => done(null);
    input.onkeydown = (event) => {
      if (event.key === "Enter") accept();
    };
    dialog.oncancel = () => done(null); // the Escape key; "close" comes late, when the next question may be open
    dialog.showModal();
  });
}

let fading = null;

/** Say something, to the eye and to the ear. */
export function say(text, seconds = 8) {
  const status = document.getElementById("status");
  status.textContent = text;
  clearTimeout(fading);
  fading = setTimeout(() => (status.textContent = ""), seconds * 1000);
}
