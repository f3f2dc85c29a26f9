import Papa from 'papaparse';
import { refuse } from '../../../platform/refusal/index.ts';
import { createSniffer, type Encoding } from '../../../protocol/csv/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { fileRow, type FileRow } from '../../../mail/contents/index.ts';
import { importBlob } from './import-blob.ts';
import { isEmpty } from './read-rows.ts';

export interface ReceivedFile {
  encoding: Encoding;
  isDamaged: boolean;
  delimiter: string;
  quote: string;
  header: string[];
  content: FileRow;
}

const BYTES_MAX = 50 * 1024 * 1024;
const DELIMITERS = [',', ';', '\t', '|'];

const unfit = (says: string) => refuse('validation_error', { status: 422, say: `file: ${says}.` });

/** Stores a file under an import's id while it comes in, and says how it is to be read; what is no CSV file is named. */
export async function receiveFile(
  { store }: Pick<Ctx, 'store'>,
  id: string,
  content: AsyncIterable<Uint8Array>,
): Promise<ReceivedFile> {
  const sniffer = createSniffer();
  let bytes = 0;
  async function* watched(): AsyncGenerator<Uint8Array> {
    for await (const chunk of content) {
      bytes += chunk.length;
      if (bytes > BYTES_MAX) throw unfit('it is larger than 50 MB; split it');
      sniffer.push(chunk);
      yield chunk;
    }
  }
  const digest = await store.blobs.putStream(importBlob(id), watched());
  const sniffed = sniffer.end();
  if (!sniffed.ok) throw unfit(sniffed.fault);
  const { encoding, isDamaged, sample, isCut } = sniffed;
  return { encoding, isDamaged, ...readHeader(sample, isCut), content: fileRow(importBlob(id), digest) };
}

/** Reads the first row in the sample. One that does not end within it is refused: its last columns would be missing. */
function readHeader(sample: string, isCut: boolean): { delimiter: string; quote: string; header: string[] } {
  const text = sample.replaceAll(/\r\n?/g, '\n').replace(/^\s*\n/, '');
  const quote = quoteOf(text);
  const delimiter = delimiterOf({ text, isCut, quote });
  const [header] = firstRows({ text, isCut, quote }, delimiter);
  if (!header && isCut) {
    throw unfit('its first row, which names the columns, is longer than 64 KB, or a quote in it is never closed');
  }
  return { delimiter, quote, header: header ?? [] };
}

/** Single quotes, where whole cells stand in them and nothing in double ones. */
function quoteOf(text: string): string {
  const [first = ''] = text.split('\n', 1);
  const [, behind] = /^\s*'[^']*'(.*)$/s.exec(first) ?? [];
  return behind !== undefined && !first.includes('"') && NEXT_CELL.test(behind) ? "'" : '"';
}

/** A tab is white space too: in one pattern for both, a row of tabs takes time by the square of its length. */
const NEXT_CELL = /^\s*[,;|]\s*'|^[^\S\t]*\t\s*'|^\s*$/;

interface Beginning {
  text: string;
  isCut: boolean;
  quote: string;
}

/** The delimiter that makes most rows as wide as the first one, and the first one wider than any other delimiter does. */
function delimiterOf(beginning: Beginning): string {
  let best = { delimiter: ',', width: 1 };
  for (const delimiter of DELIMITERS) {
    const rows = firstRows(beginning, delimiter);
    const width = rows[0]?.length ?? 0;
    const alike = rows.filter((row) => row.length === width).length;
    if (width > best.width && alike * 2 >= rows.length) best = { delimiter, width };
  }
  return best.delimiter;
}

const ROWS_MAX = 20;

/** The header and some of the rows behind it, without empty rows; where the text is cut, without its last row. */
function firstRows({ text, isCut, quote }: Beginning, delimiter: string): string[][] {
  const parser = new Papa.Parser({ delimiter, quoteChar: quote, newline: '\n', preview: ROWS_MAX });
  const { data } = parser.parse(text, 0, isCut) as { data: string[][] };
  return data.filter((row) => !isEmpty(row));
}
