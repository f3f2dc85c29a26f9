const ZERO = '0';
const same = (found: string): string => found.replaceAll(/[0-9a-f]/gi, ZERO);

/** A frame without what differs from run to run; everything keeps its width, except on the first two lines. */
export function normalise(frame: string): string {
  const lines = frame
    .replaceAll(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, same)
    // Of an id that a table cuts.
    .replaceAll(/(?<![\w-])[0-9a-f]{8}-[0-9a-f-]*(?=…)/g, same)
    // The ends of ids that tables show.
    .replaceAll(/(?<![\w.-])[0-9a-f]{8}(?![\w.-])/g, '00000000')
    .replaceAll(/\b(?:sup|wh|msg|att|atmpt)_[0-9a-f]{32}\b/g, (id) => id.replace(/(?<=_).*/, same))
    .replaceAll(/\b\d{4}-\d\d-\d\d \d\d:\d\d/g, '2030-01-01 10:00')
    .replaceAll(/(?<=2030-01-01 10:00):\d\d/g, ':00')
    // In what an answer quotes.
    .replaceAll(/\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d \+0000/g, 'Tue, 01 Jan 2030 10:00:00 +0000')
    // In a list that has no room for the year.
    .replaceAll(/(?<![\d-])\d\d-\d\d \d\d:\d\d\b/g, '01-01 10:00')
    .replaceAll(/(?<=(?<![\d-])01-01 10:00):\d\d/g, ':00')
    .replaceAll(/\brk_[\w-]{7}/g, 'rk_*******')
    .replaceAll(/\brkoc_[\w-]+/g, (id) => 'rkoc_'.padEnd(id.length, '*'))
    .replaceAll(/\brk[0-9a-f]{8}(?=\._d)/g, 'rk00000000')
    .replaceAll(/(?!0+(?![A-Za-z0-9+/]))(?<![\w-])[A-Za-z0-9+/]{24,}=*/g, (bytes) => 'k'.repeat(bytes.length))
    .replaceAll(/(?<=<b-)[\w-]+/g, (path) => 'b'.repeat(path.length))
    // What of a return path, and of a key, stands on a line of its own where it is wrapped.
    .replaceAll(/(?<![\w-])(?!b-b)[\w-]+(?=@send\.mail\.example\.com)/g, (path) => 'b'.repeat(path.length))
    .replaceAll(/[A-Za-z0-9+/]+IDAQAB\b/g, (bytes) => 'k'.repeat(bytes.length))
    .replaceAll(/(?<=whsec_\*{4})\w{4}/g, '0000')
    .replaceAll(/\b\d+ ms\b/g, '5 ms')
    .replaceAll(/(?<=--url http:\/\/127\.0\.0\.1:)\d{5}\b/g, '30000')
    .replaceAll(/[▁-█][ ▁-█]*/g, '█')
    .split('\n')
    .map((line) => line.trimEnd());
  const [first = '', tabs = '', ...others] = lines;
  const server = first.replace(/127\.0\.0\.1:\d+/, '127.0.0.1:3000').replaceAll(/ {2,}/g, '  ');
  return `${[server, tabInHand(tabs), ...others].join('\n').trimEnd()}\n`;
}

/** Keeps only the selected tab of the line of tabs: a new tab changes the frame of the tabs and no other. */
function tabInHand(line: string): string {
  const name = /\[(?:\d )?([\w-]+)\]/.exec(line)?.[1];
  if (name === undefined) throw new Error(`no tab is in hand: ${line}`);
  return ` [${name}]`;
}
