/** A record of a zone file; the strings of a TXT record are joined. */
export interface ZoneRecord {
  name: string;
  type: string;
  data: string;
}

/**
 * Returns the records of a zone file (RFC 1035 §5.1) whose names are complete. A quoted string that does not end on its
 * line, and anything that is not a record, is refused as a name server would.
 */
export function readZoneFile(text: string): ZoneRecord[] {
  const entries: string[][] = [[]];
  let depth = 0;
  const token = /;[^\n]*|"((?:[^"\\\n]|\\\d{3}|\\[^\d\n])*)"|([^\s;()"]+)|([()\n])|[ \t]+/gy;
  while (token.lastIndex < text.length) {
    const { lastIndex: at } = token;
    const found = token.exec(text);
    if (!found) throw new Error(`invalid zone file at ${JSON.stringify(text.slice(at, at + 40))}`);
    const [, string, word, mark] = found;
    if (mark === '(') depth++;
    else if (mark === ')') depth--;
    else if (mark === '\n' && depth === 0) entries.push([]);
    else if (string !== undefined) entries.at(-1)?.push(unescaped(string));
    else if (word !== undefined) entries.at(-1)?.push(word);
  }
  if (depth !== 0) throw new Error('invalid zone file: a parenthesis is not closed');
  return entries.filter((entry) => entry.length > 0).map(parseRecord);
}

function parseRecord([name = '', ...rest]: string[]): ZoneRecord {
  const [type = '', ...data] = rest.slice(rest.indexOf('IN') + 1);
  if (!name.endsWith('.') || !rest.includes('IN') || !/^[A-Z]+$/.test(type)) {
    throw new Error(`invalid record: ${JSON.stringify([name, ...rest]).slice(0, 80)}`);
  }
  if (type === 'TXT' && data.some((string) => Buffer.byteLength(string, 'latin1') > 255))
    throw new Error('a string of a TXT record has more than 255 bytes');
  const value = type === 'TXT' ? Buffer.from(data.join(''), 'latin1').toString('utf8') : data.join(' ');
  return { name: name.slice(0, -1), type, data: value.replace(/\.$/, '') };
}

const unescaped = (string: string): string =>
  string.replaceAll(/\\(?:(\d{3})|(.))/g, (_, number: string | undefined, char: string) =>
    number === undefined ? char : String.fromCharCode(Number(number)),
  );
