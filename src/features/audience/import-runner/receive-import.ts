import { invalidFields, Refusal, refuse } from '../../../platform/refusal.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import {
  checkImport,
  queueImport,
  mustBeWithinImportLimit,
  type ImportForm,
} from '../contact-imports/contact-imports.ts';
import Papa from 'papaparse';
import { createSniffer, type Encoding } from '../../../protocol/csv/index.ts';
import { fileRow, type FileRow } from '../../../mail/contents/index.ts';
import { isEmpty } from './read-rows.ts';
import { importBlob } from '../contact-imports/import-files.ts';

/** How a file is read, as its beginning shows. */
interface FileShape {
  encoding: Encoding;
  isDamaged: boolean;
  delimiter: string;
  quote: string;
  header: string[];
}

interface ReceivedFile extends FileShape {
  content: FileRow;
}

const BYTES_MAX = 50 * 1024 * 1024;
const DELIMITERS = [',', ';', '\t', '|'];

export const unfit = (says: string) => refuse('validation_error', { status: 422, say: `file: ${says}.` });

/**
 * Stores a file under an import's id while it is received, and returns how to read it. Refuses a file that is not CSV,
 * with the reason.
 */
async function receiveFile(
  { store }: Pick<Ctx, 'store'>,
  id: string,
  content: AsyncIterable<Uint8Array>,
): Promise<ReceivedFile> {
  const watched = watchFile(content);
  const digest = await store.blobs.putStream(importBlob(id), watched.chunks);
  return { ...watched.findShape(), content: fileRow(importBlob(id), digest) };
}

/**
 * Passes a file on while it is received. `findShape` returns how to read it once all of it has passed; it refuses a file
 * that is not CSV, with the reason.
 */
export function watchFile(content: AsyncIterable<Uint8Array>): {
  chunks: AsyncGenerator<Uint8Array>;
  findShape(): FileShape;
} {
  const sniffer = createSniffer();
  async function* pass(): AsyncGenerator<Uint8Array> {
    let bytes = 0;
    for await (const chunk of content) {
      bytes += chunk.length;
      if (bytes > BYTES_MAX) throw unfit('the file is larger than 50 MB; split it');
      sniffer.push(chunk);
      yield chunk;
    }
  }
  return {
    chunks: pass(),
    findShape() {
      const sniffed = sniffer.end();
      if (!sniffed.ok) throw unfit(sniffed.fault);
      const { encoding, isDamaged, sample, isCut } = sniffed;
      return { encoding, isDamaged, ...readHeader(sample, isCut) };
    },
  };
}

/**
 * Reads the first row of the sample. A row that does not end within the sample is refused, because its last columns
 * would be missing.
 */
function readHeader(sample: string, isCut: boolean): { delimiter: string; quote: string; header: string[] } {
  const text = sample.replaceAll(/\r\n?/g, '\n').replace(/^\s*\n/, '');
  const quote = detectQuote(text);
  const delimiter = detectDelimiter({ text, isCut, quote });
  const [header] = firstRows({ text, isCut, quote }, delimiter);
  if (!header && isCut) {
    throw unfit(
      'its first row, which names the columns, is longer than 64 KB, or contains a quote that is never closed',
    );
  }
  return { delimiter, quote, header: header ?? [] };
}

/** Returns the single quote if whole cells are enclosed in single quotes and none in double quotes. */
function detectQuote(text: string): string {
  const [first = ''] = text.split('\n', 1);
  const [, behind] = /^\s*'[^']*'(.*)$/s.exec(first) ?? [];
  return behind !== undefined && !first.includes('"') && NEXT_CELL.test(behind) ? "'" : '"';
}

/** A tab is white space too: with one pattern for both, a row of tabs would take quadratic time. */
const NEXT_CELL = /^\s*[,;|]\s*'|^[^\S\t]*\t\s*'|^\s*$/;

interface Beginning {
  text: string;
  isCut: boolean;
  quote: string;
}

/**
 * Returns the delimiter that makes most rows as wide as the first one, and the first one wider than any other delimiter
 * does.
 */
function detectDelimiter(beginning: Beginning): string {
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

/**
 * Returns the header and some of the rows after it, without empty rows, and without the last row if the text is cut.
 */
function firstRows({ text, isCut, quote }: Beginning, delimiter: string): string[][] {
  const parser = new Papa.Parser({ delimiter, quoteChar: quote, newline: '\n', preview: ROWS_MAX });
  const { data } = parser.parse(text, 0, isCut) as { data: string[][] };
  return data.filter((row) => !isEmpty(row));
}

/** Part of the form of an import, either a text or a file, in the order in which the parts arrive. */
export type ImportPart = TextPart | { name: string; content: AsyncIterable<Uint8Array> };

interface TextPart {
  name: string;
  text: string;
  /** Set by callers that cut texts at FIELD_BYTES_MAX: true if this one was cut. */
  isCut?: boolean;
}

export const FIELDS = ['column_map', 'on_conflict', 'on_bad_value', 'segments', 'topics', 'start_automations'] as const;
export const FIELD_BYTES_MAX = 256 * 1024;

/**
 * Stores the file while it is received and queues the import. A refused import leaves no file, and no part is read
 * while the team has its maximum number of open imports.
 */
export async function importContacts(ctx: Ctx, parts: AsyncIterable<ImportPart> | Iterable<ImportPart>) {
  await mustBeWithinImportLimit(ctx.store.db, ctx.teamId);
  const id = ctx.store.ids.uuid();
  let mayBeQueued = false;
  try {
    const { form, file } = await readParts(parts, (content) => receiveFile(ctx, id, content));
    mayBeQueued = true;
    return await queueImport(ctx, id, file, form);
  } catch (error) {
    // If the commit may have succeeded although its response was lost, the import needs its file; the orphan sweep
    // removes it otherwise. Removes all blobs of this owner.
    if (!mayBeQueued || error instanceof Refusal) await ctx.store.blobs.remove(id);
    throw error;
  }
}

/** Reads the parts of a form in the order in which they arrive. */
export async function readParts<File>(
  parts: AsyncIterable<ImportPart> | Iterable<ImportPart>,
  receive: (content: AsyncIterable<Uint8Array>) => Promise<File>,
): Promise<{ form: ImportForm; file: File }> {
  const form: ImportForm = {};
  let received: { file: File } | undefined;
  for await (const part of parts) {
    if ('text' in part) readField(form, part);
    else if (part.name !== 'file') throw isField(part.name) ? asFile(part.name) : unknown(part.name);
    else if (received) throw invalidFields([{ path: 'file', message: 'file is sent more than once; send one file.' }]);
    else received = { file: await receive(part.content) };
  }
  if (!received) throw refuse('missing_required_field', { say: 'Missing required field: file.' });
  return { form, file: received.file };
}

function readField(form: ImportForm, { name: given, text, isCut }: TextPart): void {
  if (given === 'file') throw invalidFields([{ path: 'file', message: NO_FILE }]);
  const name = FIELDS.find((field) => field === given);
  if (name === undefined) throw unknown(given);
  const bad = (says: string) => invalidFields([{ path: name, message: `${name} ${says}.` }]);
  if (form[name] !== undefined) throw bad('is sent more than once in the form');
  if (isCut ?? Buffer.byteLength(text) > FIELD_BYTES_MAX) throw bad(`is larger than ${FIELD_BYTES_MAX / 1024} KB`);
  form[name] = text;
  // Report errors of the form before a file of 50 MB is received, for fields that come before it.
  checkImport(form);
}

const isField = (name: string): boolean => FIELDS.some((field) => field === name);
const asFile = (name: string) =>
  invalidFields([{ path: name, message: `${name} must be a text field; omit the filename of its part.` }]);
const NO_FILE = 'file must be a file; give its part a filename, such as contacts.csv.';

const unknown = (name: string) =>
  invalidFields([
    {
      path: name.slice(0, 100),
      message: `${name.slice(0, 100)} is not a field of this form; known are file, ${FIELDS.join(', ')}`,
    },
  ]);
