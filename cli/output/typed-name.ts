import { clean } from './clean.ts';

const MARK = '\uFFFD';

/** A name as it is shown, and has to be typed. */
export const nameToType = (name: string): string => clean(name).trim();

/** Behind that name: what is typed for what no keyboard has. */
export const howToType = (name: string): string => (name.includes(MARK) ? ` (? for ${MARK})` : '');

/** Whether this is that name. */
export function isNameTyped(typed: string, name: string): boolean {
  const chars = [...typed.trim()];
  const wanted = [...name];
  return (
    chars.length === wanted.length &&
    wanted.every((char, at) => char === chars[at] || (char === MARK && chars[at] === '?'))
  );
}
