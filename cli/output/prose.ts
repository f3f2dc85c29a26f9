let segmenter: Intl.Segmenter | undefined;

/** Made when a text needs it: that takes a tenth of the time of a short command, and most have none. */
const splitGraphemes = (text: string): Iterable<{ segment: string }> =>
  (segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' })).segment(text);

/**
 * Counts columns as most terminals do: two for East Asian wide characters and emoji, none for what joins the letter
 * before it.
 */
export function measureWidth(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const { segment } of splitGraphemes(text)) width += EMOJI.test(segment) ? 2 : measureLetters(segment);
  return width;
}

/** Scripts whose letters join count each of them. */
function measureLetters(segment: string): number {
  let width = 0;
  for (const letter of segment) width += JOINED.test(letter) ? 0 : WIDE.test(letter) ? 2 : 1;
  return width;
}

const EMOJI = /\p{Emoji_Presentation}|\u{FE0F}/u;

/** Marks, invisible characters, and the vowels and finals of a Korean syllable. */
const JOINED = /[\p{Mn}\p{Me}\p{Cf}\u1160-\u11FF\uD7B0-\uD7FB]/u;

const WIDE =
  /[\u1100-\u115F\u2329\u232A\u2E80-\u303E\u3041-\u3247\u3250-\u4DBF\u4E00-\uA4CF\uA960-\uA97C\uAC00-\uD7A3\uF900-\uFAFF\uFE10-\uFE19\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{16FE0}-\u{18DF2}\u{1AFF0}-\u{1B2FB}\u{1F200}-\u{1F265}\u{20000}-\u{3FFFD}]/u;

export function shorten(text: string, width: number): string {
  if (measureWidth(text) <= width) return text;
  let shown = '';
  let used = 0;
  for (const { segment } of splitGraphemes(text)) {
    used += measureWidth(segment);
    if (used > width - 1) break;
    shown += segment;
  }
  return `${shown}…`;
}

const PAINT = /\u001B\[\d+m/g;
/**
 * A command extends to the end of its sentence and is not broken: if the terminal wraps it, copying still returns it
 * whole.
 */
const PIECES =
  /(?<=^|\s)rasket [a-z](?:'[^']*'|[^';])*?(?=;|, or |\.? \(|\. [A-Z]|$)[;,.]*|\(with the key of [^)]*\)|\S+/g;

/** Wraps text between words at this width; each line is indented like its own beginning. */
export const fitProse = (text: string, width: number): string =>
  text
    .split('\n')
    .flatMap((line) => (seenWidth(line) > width ? breakLine(line, width) : [line]))
    .join('\n');

const seenWidth = (text: string): number => measureWidth(text.replaceAll(PAINT, ''));

function breakLine(line: string, width: number): string[] {
  const [indent = ''] = /^ */.exec(line) ?? [];
  const lines: string[] = [];
  let last = indent;
  let isCommand = false;
  for (const piece of line.match(PIECES) ?? []) {
    if (last !== indent && (isCommand || seenWidth(`${last} ${piece}`) > width)) {
      lines.push(last);
      last = indent;
    }
    isCommand = last === indent && piece.startsWith('rasket ');
    last += last === indent ? piece : ` ${piece}`;
  }
  return [...lines, last];
}
