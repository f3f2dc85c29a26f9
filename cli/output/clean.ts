import { UNSEEN } from '../../src/contract/index.ts';

/**
 * Replaces control characters, bidirectional overrides and the like by visible marks, because text of untrusted senders
 * must not control the terminal.
 */
export const clean = (text: string): string => text.toWellFormed().replaceAll(UNSEEN, '\uFFFD');

/** The same for a text of several lines, which keeps its line ends and tabs. */
export const cleanLines = (text: string): string =>
  text
    .replaceAll(/\r\n?/g, '\n')
    .split('\n')
    .map((line) => line.split('\t').map(clean).join('\t'))
    .join('\n');

/** Returns JSON of exactly this value, in which control characters are escaped. */
export const cleanJson = (value: unknown, indent = 0): string =>
  // JSON.stringify escapes the C0 range itself; line ends in its output are its own.
  JSON.stringify(value, undefined, indent).replaceAll(UNSEEN, (found) =>
    found === '\n' ? found : [...Array(found.length).keys()].map((at) => escape(found.charCodeAt(at))).join(''),
  );

const escape = (unit: number): string => `\\u${unit.toString(16).padStart(4, '0')}`;

const MARK = '\uFFFD';

/** A name as it is shown, and has to be typed. */
export const nameToType = (name: string): string => clean(name).trim();

/** Returns a hint to follow the name: what to type for characters that no keyboard has. */
export const howToType = (name: string): string => (name.includes(MARK) ? ` (? for ${MARK})` : '');

/** Reports whether the typed text is that name. */
export function isNameTyped(typed: string, name: string): boolean {
  const chars = [...typed.trim()];
  const wanted = [...name];
  return (
    chars.length === wanted.length &&
    wanted.every((char, at) => char === chars[at] || (char === MARK && chars[at] === '?'))
  );
}
