// A text in the fragment of an address: compressed, and never sent to a server. Longer texts stay in
// this tab.

export const LONGEST = 100_000;
const MARK = "z:";
const DRAFT = "draft convert";

/** @param {Uint8Array<ArrayBuffer>} bytes  @param {CompressionStream | DecompressionStream} through */
async function piped(bytes, through) {
  const stream = new Blob([bytes]).stream().pipeThrough(through);
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** The text as a fragment; an empty one where it is too long. @param {string} text */
export async function fragmentOf(text) {
  const bytes = new TextEncoder().encode(text);
  if (!text || bytes.length > LONGEST || !globalThis.CompressionStream) return "";
  const packed = await piped(bytes, new CompressionStream("deflate-raw"));
  let binary = "";
  for (let at = 0; at < packed.length; at += 32_768) binary += String.fromCharCode(...packed.subarray(at, at + 32_768));
  return MARK + btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** The text of a fragment; null where there is none in it. @param {string | null} fragment */
export async function textOf(fragment) {
  if (!fragment?.startsWith(MARK)) return null;
  try {
    const binary = atob(fragment.slice(MARK.length).replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (each) => each.charCodeAt(0));
    const text = await piped(bytes, new DecompressionStream("deflate-raw"));
    return text.length > LONGEST ? null : new TextDecoder().decode(text);
  } catch {
    return null;
  }
}

/** Put a text into the address, or into this tab where it is too long for that. @param {string} text */
export async function keep(text) {
  const fragment = await fragmentOf(text);
  try {
    if (fragment || !text) sessionStorage.removeItem(DRAFT);
    else sessionStorage.setItem(DRAFT, text);
  } catch {
    // more than there is room for: then it is not kept
  }
  history.replaceState(null, "", `${location.pathname}${location.search}${fragment ? `#${fragment}` : ""}`);
}

/** The text that was kept. @param {string | null} fragment */
export async function kept(fragment) {
  return (await textOf(fragment)) ?? sessionStorage.getItem(DRAFT) ?? "";
}
