/** Help in lines of this width, where Commander does not wrap it itself; examples stay commands that can be copied. */
export const fitHelp = (text: string, width: number): string =>
  text
    .split('\n')
    .flatMap((line) => (line.length > width ? wrap(line, width) : [line]))
    .join('\n');

const WORDS = /\S+/g;
/** An option with its value, and whatever stands in quotes, are one. */
const SHELL_WORDS = /--\S+ (?!-)(?:'[^']*'|[^\s'])+|(?:'[^']*'|[^\s'])+/g;

interface Word {
  text: string;
  /** What ends a line that ends with it. */
  end: string;
}

function wrap(line: string, width: number): string[] {
  const [start = ''] = /^ */.exec(line) ?? [];
  // What is explained behind a gap of two columns goes on below its explanation.
  const gap = /^ *\S.*? {2,}(?=\S)/.exec(line)?.[0].length;
  const isCommand = gap === undefined && /^ *rasket /.test(line);
  const hang = gap ?? start.length + (isCommand ? 2 : 0);
  const words = isCommand ? shellWords(line, width - hang) : (line.slice(hang).match(WORDS) ?? []).map(plain);
  const lines: string[] = [];
  let last = isCommand ? start : line.slice(0, hang);
  let end = '';
  let isBegun = false;
  for (const word of words) {
    const longer = last + (isBegun ? ' ' : '') + word.text;
    if (longer.length + word.end.length > width && isBegun) {
      lines.push(last + end);
      last = ' '.repeat(hang) + word.text;
    } else last = longer;
    end = word.end;
    isBegun = true;
  }
  return [...lines, last];
}

const plain = (text: string): Word => ({ text, end: '' });

/** What is too long for a line is broken within its quotes, where a shell takes the line end as it stands: JSON may have it. */
function shellWords(line: string, width: number): Word[] {
  let isQuoted = false;
  const end = ' \\';
  return (line.match(SHELL_WORDS) ?? []).flatMap((word) =>
    (word.length + end.length <= width ? [word] : word.split(' ')).map((text) => {
      if (text.split("'").length % 2 === 0) isQuoted = !isQuoted;
      return { text, end: isQuoted ? '' : end };
    }),
  );
}
