/**
 * Characters that a reader does not see, or that change how the text around them is shown: controls, bidirectional
 * marks, zero-width and tag characters, and fillers. The joiners of emoji and of some scripts, and the selectors of emoji
 * are harmless.
 */
export const UNSEEN =
  /[\p{Cc}\u2028\u2029]|(?![\u200c\u200d\ufe0e\ufe0f])[\p{Cf}\p{Default_Ignorable_Code_Point}]|\p{Surrogate}/gu;

const escape = (found: string): string =>
  Array.from(found, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}}`).join('');

/** Escapes these characters in a text of one line, such as `\u{202e}`, so that a person sees what is there. */
export const escapeUnseen = (text: string): string => text.replaceAll(UNSEEN, escape);

/** The same for a text of several lines, which keeps its line ends and tabs. */
export const escapeUnseenInLines = (text: string): string =>
  text
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll(UNSEEN, (found) => (found === '\n' || found === '\t' ? found : escape(found)));
