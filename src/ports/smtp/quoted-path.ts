/** A path with a quoted local part; the library would end the path, or the local part, within the quotes. */
const QUOTED = /^([^<"]{0,40}<)("(?:[^"\\]|\\.)*")(@[^\s<>@"]+>.*)$/s;
const STAND_IN = 'quoted';
const CONTROL = /\p{Cc}/u;

/** Replaces a quoted local part by a word (RFC 5321 §4.1.2), and says how to undo that; undefined if not needed. */
export function withoutQuotes(command: string): { command: string; restore(address: string): string } | undefined {
  const [, before = '', local = '', behind = ''] = QUOTED.exec(command) ?? [];
  if (!/[ @<>]/.test(local) || CONTROL.test(local)) return undefined;
  return {
    command: `${before}${STAND_IN}${behind}`,
    restore: (address) => local + address.slice(STAND_IN.length),
  };
}
