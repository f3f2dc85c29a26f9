/** A value such as `text/html; charset="utf-8"`. */
export interface Structured {
  /** In lower case. */
  value: string;
  /** Names in lower case; continuations and charsets (RFC 2231) are left as they are. */
  parameters: ReadonlyMap<string, string>;
}

const PARAMETER = /;\s*([^\s=;"]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))/gsu;

export function readStructured(text: string): Structured {
  const unfolded = text.replaceAll('\r\n', '').replace(/\([^()]*\)/g, ' ');
  const end = unfolded.indexOf(';');
  const value = (end < 0 ? unfolded : unfolded.slice(0, end)).trim().toLowerCase();
  const parameters = new Map<string, string>();
  for (const [, name = '', quoted, plain] of unfolded.matchAll(PARAMETER)) {
    const lower = name.toLowerCase();
    if (!parameters.has(lower)) parameters.set(lower, quoted?.replace(/\\(.)/gsu, '$1') ?? plain ?? '');
  }
  return { value, parameters };
}
