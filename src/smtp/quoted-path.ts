/** A path whose local part holds what the library takes for the end of the path, or of the local part. */
const QUOTED = /^([^<"]{0,40}<)("(?:[^"\\]|\\.)*")(@[^\s<>@"]+>.*)$/s;
const STAND_IN = 'quoted';
const CONTROL = /\p{Cc}/u;

/** The command with a plain word for a quoted local part (RFC 5321 §4.1.2), and how to put that back; undefined where none needs it. */
export function withoutQuotes(command: string): { command: string; restore(address: string): string } | undefined {
  const [, before = '', local = '', behind = ''] = QUOTED.exec(command) ?? [];
  if (!/[ @<>]/.test(local) || CONTROL.test(local)) return undefined;
  return {
    command: `${before}${STAND_IN}${behind}`,
    restore: (address) => local + address.slice(STAND_IN.length),
  };
}
