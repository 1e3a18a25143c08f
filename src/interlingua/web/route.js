// Addresses: which view an address is for, going there without a reload, and filters in the query.

export const VIEWS = ["tasks", "sessions", "requests", "convert", "playground", "admin"];

/**
 * The view, what it shows, and the part of it: `/sessions/ID#MESSAGE`.
 * @param {string} path
 * @param {string} hash
 * @returns {{ name: string, id: string | null, part: string | null }}
 */
export function placeOf(path, hash) {
  const [name, id, more] = path.replace(/^\//, "").split("/").map(decoded);
  const part = decoded(hash.replace(/^#/, "")) || null;
  if (!name) return { name: "overview", id: null, part };
  const known = VIEWS.includes(name) && more === undefined;
  return { name: known ? name : "missing", id: id || null, part };
}

/**
 * Where an address of before leads (`#/sessions/ID/MESSAGE`); null of any other.
 * @param {string} hash
 */
export function moved(hash) {
  if (!hash.startsWith("#/")) return null;
  const [name, id, part] = hash.slice(2).split("/");
  return `/${[name, id].filter(Boolean).join("/")}${part ? `#${part}` : ""}`;
}

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

/**
 * The address of a view, or of one thing in it.
 * @param {string} name
 * @param {string} [id]
 * @param {string} [part]
 */
export function address(name, id, part) {
  const path = `/${[name, id].filter(Boolean).map((each) => encodeURIComponent(String(each))).join("/")}`;
  return part ? `${path}#${encodeURIComponent(part)}` : path;
}

/** Name the browser's tab. @param {string} words */
export function titled(words) {
  document.title = words ? `${words} · interlingua` : "interlingua";
}

/**
 * Go to an address of the page.
 * @param {string} path
 */
export function go(path) {
  history.pushState(null, "", path);
  dispatchEvent(new Event("moved"));
}

/**
 * The filters of a view, as its address has them.
 * @param {Record<string, string>} values
 */
export function remember(values) {
  const query = new URLSearchParams(Object.entries(values).filter(([, value]) => value));
  const text = query.size ? `?${query}` : "";
  if (text !== location.search) history.replaceState(null, "", `${location.pathname}${text}${location.hash}`);
}

/** The filters in the address. */
export function remembered() {
  return Object.fromEntries(new URLSearchParams(location.search));
}

/**
 * What is typed into a control stays there over a reload, in this tab alone.
 * @param {string} name
 * @param {HTMLInputElement | HTMLTextAreaElement} control
 * @returns {() => void} forgets it
 */
export function keepTyped(name, control) {
  const key = `draft ${name}`;
  try {
    control.value = sessionStorage.getItem(key) ?? control.value;
    control.addEventListener("input", () => {
      try {
        if (control.value) sessionStorage.setItem(key, control.value);
        else sessionStorage.removeItem(key);
      } catch {
        // more than there is room for: then it is not kept
      }
    });
  } catch {
    // no storage
  }
  return () => sessionStorage.removeItem(key);
}
