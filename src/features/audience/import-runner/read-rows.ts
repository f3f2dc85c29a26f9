import type { Readable } from 'node:stream';
import Papa from 'papaparse';
import { allEnds, endsOutside, rowFault, type RowFault } from '../../../protocol/csv/index.ts';
import type { ImportOptions } from '../contact-imports/contact-imports.ts';

export interface FileRow {
  /** Row number as in a spreadsheet: the first row of the file is row 1, empty or not. */
  row: number;
  cells: string[];
  /** Reason why the cells of the row cannot be separated. */
  fault?: RowFault;
}

/** Thrown if a file cannot be read any further. */
export class UnreadableRow extends Error {
  readonly row: number;

  constructor(row: number, reason: string) {
    super(reason);
    this.row = row;
  }
}

/** Longer rows lack a closing quote, or the file is not a table. */
const ROW_CHARS_MAX = 1024 * 1024;

interface Parsed {
  data: string[][];
  errors: { code: string; row: number }[];
  meta: { cursor: number };
}
interface Parser {
  parse(text: string, base: number, ignoreLastRow: boolean): Parsed;
}
/**
 * The parser inside `Papa.parse`, the only one that takes a text piece by piece: with `ignoreLastRow` it leaves a row
 * that may be incomplete, and `meta.cursor` is the position of that row. The package's types lack the options of its
 * constructor and its result.
 */
const ParserOf = (Papa as unknown as { Parser: new (config: object) => Parser }).Parser;

/** What is needed to separate the cells of a file. */
export type FileFormat = Pick<ImportOptions, 'encoding' | 'delimiter' | 'quote'> & {
  columns: Pick<ImportOptions['columns'], 'isExport'>;
};

/**
 * Yields the rows after the header and after row `rowsRead`, some at a time. Empty rows are counted and omitted; the
 * first row that is not empty is the header.
 */
export const readRows = (content: Readable, format: FileFormat, rowsRead: number): AsyncGenerator<FileRow[]> =>
  readFrom(content, format, ({ row, isHeader }) => !isHeader && row > rowsRead);

/** Yields all rows, some at a time, beginning with the header. */
export const readRowsAndHeader = (content: Readable, format: FileFormat): AsyncGenerator<FileRow[]> =>
  readFrom(content, format, () => true);

async function* readFrom(
  content: Readable,
  { encoding, delimiter, quote, columns }: FileFormat,
  isWanted: (place: { row: number; isHeader: boolean }) => boolean,
): AsyncGenerator<FileRow[]> {
  const decoder = new TextDecoder(encoding);
  const config = { delimiter, quoteChar: quote, newline: '\n' };
  let rest = '';
  let row = 0;
  let hasHeader = false;
  const toLineFeeds = columns.isExport ? endsOutside(quote) : allEnds();
  const take = (text: string, isLast: boolean): FileRow[] => {
    const { data, errors, meta } = new ParserOf(config).parse(text, 0, !isLast);
    rest = text.slice(meta.cursor);
    if (isLast && errors.some(({ code }) => code === 'MissingQuotes')) {
      throw new UnreadableRow(row + data.length, 'a quote is never closed');
    }
    if (rest.length > ROW_CHARS_MAX) {
      throw new UnreadableRow(row + data.length + 1, 'the row is longer than 1 MB; is a quote left open?');
    }
    const faulty = new Set(errors.filter(({ code }) => code === 'InvalidQuotes').map((error) => error.row));
    const rows: FileRow[] = [];
    for (const [i, cells] of data.entries()) {
      row++;
      if (isEmpty(cells)) continue;
      const isHeader = !hasHeader;
      hasHeader = true;
      if (!isWanted({ row, isHeader })) continue;
      rows.push(faulty.has(i) ? { row, cells, fault: strayQuote(cells, quote) } : { row, cells });
    }
    return rows;
  };
  for await (const chunk of content as AsyncIterable<Buffer>) {
    yield take(rest + toLineFeeds(decoder.decode(chunk, { stream: true })), false);
  }
  // A CR that `toLineFeeds` still holds is dropped: it could only end the last row, which ends with the file as well.
  const last = rest + toLineFeeds(decoder.decode());
  if (last !== '') yield take(last, true);
}

/** Describes a stray quote. Whole rows, up to where the next quote closes it, may have become part of the value. */
function strayQuote(cells: readonly string[], quote: string): RowFault {
  const reason = `a quoted value contains a single quote character; write it twice (${quote}${quote})`;
  return rowFault(reason, cells.find((cell) => cell.includes(quote)) ?? '');
}

export const isEmpty = (cells: readonly string[]): boolean => cells.every((cell) => cell.trim() === '');
