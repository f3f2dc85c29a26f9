import { widthOf } from './width.ts';

const PAINT = /\u001B\[\d+m/g;
/** A command goes to the end of its sentence. It is copied, and a terminal that breaks it hands it out whole. */
const PIECES =
  /(?<=^|\s)rasket [a-z](?:'[^']*'|[^';])*?(?=;|, or |\.? \(|\. [A-Z]|$)[;,.]*|\(with the key of [^)]*\)|\S+/g;

/** What is said to a person, in lines of this width that end between two words; each goes on below its own beginning. */
export const fitProse = (text: string, width: number): string =>
  text
    .split('\n')
    .flatMap((line) => (seenWidth(line) > width ? breakLine(line, width) : [line]))
    .join('\n');

const seenWidth = (text: string): number => widthOf(text.replaceAll(PAINT, ''));

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
