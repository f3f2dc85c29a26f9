import { runProgram } from './run-program.ts';

export interface DumpReader {
  /** Asked once for each table: which of its columns are wanted of every row; none where only its rows are counted. */
  columnsOf(table: string): readonly string[];
  /** A row, by the columns that were asked for and are there; a null is left out. */
  onRow(table: string, row: Readonly<Record<string, string>>): void;
}

export interface DumpToRead {
  file: string;
  programs: string;
  /** The schema that our tables stand in. */
  namespace: string;
  signal?: AbortSignal | undefined;
}

interface Block {
  table: string;
  /** Other schemas are of other programs, or of extensions. */
  isOurs: boolean;
  rows: number;
  /** Where the wanted columns stand in a line. */
  wanted: { name: string; at: number }[];
}

const NEWLINE = 10;
const END = Buffer.from('\\.');

/** Has pg_restore read all of a dump, and answers how many rows of each table of the schema it holds, and of no other. No server is asked. */
export async function readDump(
  { file, programs, namespace, signal }: DumpToRead,
  reader: DumpReader,
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  let block: Block | undefined;
  const onLine = (line: Buffer): void => {
    if (block === undefined) {
      block = blockBegunBy(line, namespace, reader);
      return;
    }
    if (line.equals(END)) {
      if (block.isOurs) counts[block.table] = (counts[block.table] ?? 0) + block.rows;
      block = undefined;
      return;
    }
    block.rows++;
    if (block.wanted.length > 0) reader.onRow(block.table, fieldsOf(line, block));
  };
  const lines = createLines(onLine);
  await runProgram('pg_restore', ['--data-only', '--file=-', file], { programs, signal, onOutput: lines });
  return counts;
}

/** `COPY public.emails (id, "to") FROM stdin;` */
function blockBegunBy(line: Buffer, namespace: string, reader: DumpReader): Block | undefined {
  if (!line.subarray(0, 5).equals(COPY)) return undefined;
  const [, schema = '', table = '', list = ''] =
    /^COPY (\S+?)\.(\S+) \((.*)\) FROM stdin;$/.exec(line.toString()) ?? [];
  if (table === '') return undefined;
  const isOurs = bare(schema) === namespace;
  const columns = list.split(', ').map(bare);
  const names = isOurs ? reader.columnsOf(bare(table)) : [];
  const wanted = names.flatMap((name) => {
    const at = columns.indexOf(name);
    return at === -1 ? [] : [{ name, at }];
  });
  return { table: bare(table), isOurs, rows: 0, wanted };
}

const COPY = Buffer.from('COPY ');

const bare = (name: string): string => name.replaceAll('"', '');

function fieldsOf(line: Buffer, { wanted }: Block): Record<string, string> {
  const fields = line.toString().split('\t');
  return Object.fromEntries(
    wanted.flatMap(({ name, at }) => {
      const text = fields[at];
      return text === undefined || text === '\\N' ? [] : [[name, unescaped(text)]];
    }),
  );
}

const ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };

const unescaped = (text: string): string =>
  text.replaceAll(/\\(.)/gs, (_, letter: string) => ESCAPES[letter] ?? letter);

/** Lines as PostgreSQL means them: nothing but a newline ends one. */
function createLines(onLine: (line: Buffer) => void): (chunk: Buffer) => void {
  let rest: Buffer[] = [];
  return (chunk) => {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
      const end = chunk.subarray(from, at);
      onLine(rest.length === 0 ? end : Buffer.concat([...rest, end]));
      rest = [];
      from = at + 1;
    }
    if (from < chunk.length) rest.push(chunk.subarray(from));
  };
}
