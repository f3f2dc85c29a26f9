import { Readable } from 'node:stream';
import type { ContactImportPreview } from '../../../contract/index.ts';
import { nextTurn } from '../../../platform/clock.ts';
import {
  addDecimalSign,
  cellFault,
  findColumns,
  findObviousProperty,
  isOfFailures,
  undefused,
  type CellType,
  type ColumnMap,
  type Columns,
  type ColumnSign,
  type ImportedColumn,
} from '../../../protocol/csv/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { checkDeclarations, isOwnKey } from '../contact-properties/contact-properties.ts';
import { declaredProperties, type PropertyRow } from '../contact-properties/contact-properties.store.ts';
import { checkImport, listWanted } from '../contact-imports/contact-imports.ts';
import { countContactsByKeys } from '../contacts/contacts.store.ts';
import { readSegmentIds } from '../segments/segments.ts';
import { liveTopics } from '../topics/topics.store.ts';
import { readChoices } from '../topics/topics.ts';
import { readParts, unfit, watchFile, type ImportPart } from './receive-import.ts';
import { readRows, UnreadableRow, type FileRow } from './read-rows.ts';
import { addSigns, listDateKeys, listTypes, sort } from './run-import.ts';

const ROWS_MAX = 1000;
const BYTES_MAX = 4 * 1024 * 1024;
const FAILURES_SHOWN = 20;
const MISFITS_SHOWN = 5;
/** Share of the values of a column that fit the type that is proposed for it. */
const FITTING_MIN = 0.9;
const KEY_CHARS_MAX = 50;

type PreviewColumn = ContactImportPreview['columns'][number];

/**
 * Returns what an import of a file would make of its first rows. Reads the whole file, because its encoding is known only
 * then, keeps only the beginning, in memory, and writes nothing.
 */
export async function previewImport(
  { store, teamId }: Ctx,
  parts: AsyncIterable<ImportPart> | Iterable<ImportPart>,
): Promise<ContactImportPreview> {
  const { form, file } = await readParts(parts, readBeginning);
  const { map, onBadValue, segments, topics } = checkImport(form);
  const { db } = store;
  await readSegmentIds(db, teamId, segments);
  readChoices(topics, await liveTopics(db, teamId));
  const declared = await declaredProperties(db, teamId);
  const wanted = listWanted(map);
  const rows = await readFirstRows(file);
  const found = findPreviewColumns(file.shape.header, { map, declared, rows: rows.list });
  checkDeclarations(declared, wanted);
  const { columns } = found;
  const types = listTypes(declared, { wanted });
  const decimalSigns = findSigns(rows.list, columns, types);
  const reading = { columns, isDamaged: file.shape.isDamaged, on_bad_value: onBadValue, decimalSigns };
  const { good, failures } = sort(rows.list, reading, {
    types,
    dates: await listDateKeys(db, teamId, declared),
  });
  const keys = good.map(({ read }) => read.emailKey);
  const different = [...new Set(keys)];
  const usable = countUsable(rows.list, columns);
  return {
    object: 'contact_import_preview',
    rows: rows.list.length,
    is_whole_file: rows.isWhole,
    file: { encoding: file.shape.encoding, delimiter: file.shape.delimiter },
    columns: await describeColumns(rows.list, { header: file.shape.header, found, types, declared, decimalSigns }),
    addresses: {
      usable,
      unusable: rows.list.length - usable,
      repeated: keys.length - different.length,
      existing: await countContactsByKeys(db, teamId, different),
    },
    failed: failures.length,
    failures: failures.slice(0, FAILURES_SHOWN),
    skipped_values: good.reduce((sum, { read }) => sum + (read.skipped?.length ?? 0), 0),
  };
}

interface Beginning {
  shape: ReturnType<ReturnType<typeof watchFile>['findShape']>;
  chunks: Uint8Array[];
  isCut: boolean;
}

async function readBeginning(content: AsyncIterable<Uint8Array>): Promise<Beginning> {
  const watched = watchFile(content);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  let isCut = false;
  for await (const chunk of watched.chunks) {
    const room = BYTES_MAX - bytes;
    if (room > 0) chunks.push(Buffer.from(chunk.subarray(0, room)));
    bytes += chunk.length;
    isCut ||= chunk.length > room;
  }
  return { shape: watched.findShape(), chunks, isCut };
}

/** Reads the first rows of the kept beginning, without a last row that the end of the beginning cuts. */
async function readFirstRows({ shape, chunks, isCut }: Beginning): Promise<{ list: FileRow[]; isWhole: boolean }> {
  const list: FileRow[] = [];
  try {
    for await (const rows of readRows(Readable.from(chunks), { ...shape, columns: {} }, 0)) {
      list.push(...rows);
      if (list.length > ROWS_MAX) return { list: list.slice(0, ROWS_MAX), isWhole: false };
      await nextTurn();
    }
  } catch (error) {
    if (!(error instanceof UnreadableRow)) throw error;
    // The file of an import would be read up to this row.
    return { list, isWhole: false };
  }
  return isCut ? { list: list.slice(0, -1), isWhole: false } : { list, isWhole: true };
}

interface FoundColumns {
  columns: Columns;
  imported: ImportedColumn[];
  /** Position of the column whose values are addresses, if its name is not recognized. */
  proposedEmail?: number;
}

/** Finds the columns as an import does. Without a column of addresses by its name, finds one by its values. */
function findPreviewColumns(
  header: readonly string[],
  { map, declared, rows }: { map: ColumnMap | undefined; declared: readonly PropertyRow[]; rows: readonly FileRow[] },
): FoundColumns {
  const keys = declared.map(({ key }) => key);
  const found = findColumns(header, map, keys);
  if (found.ok) return found;
  const at = map?.email === undefined ? findAddresses(header, rows) : -1;
  const name = header[at];
  const again = name === undefined ? undefined : findColumns(header, { ...map, email: name }, keys);
  if (!again?.ok) throw unfit(found.fault);
  return { ...again, imported: again.imported.filter(({ field }) => field !== 'email'), proposedEmail: at };
}

function findAddresses(header: readonly string[], rows: readonly FileRow[]): number {
  return header.findIndex((name, at) => {
    const texts = rows.slice(0, 100).flatMap(({ cells }) => cells[at]?.trim() || []);
    const fitting = texts.filter((text) => cellFault(text, 'address') === undefined).length;
    return name.trim() !== '' && fitting > 0 && fitting >= texts.length / 2;
  });
}

function findSigns(
  rows: readonly FileRow[],
  { properties, isExport }: Columns,
  types: ReturnType<typeof listTypes>,
): Record<string, ColumnSign> {
  const signs: Record<string, ColumnSign> = {};
  const numbers = Object.entries(properties).filter(([key]) => types.get(key) === 'number');
  if (!isExport) for (const { cells } of rows) addSigns(signs, cells, numbers);
  return signs;
}

const countUsable = (rows: readonly FileRow[], { email }: Columns): number =>
  rows.filter(({ cells, fault }) => !fault && cellFault(cells[email] ?? '', 'address') === undefined).length;

interface Described {
  header: readonly string[];
  found: FoundColumns;
  types: ReturnType<typeof listTypes>;
  declared: readonly PropertyRow[];
  decimalSigns: Readonly<Record<string, ColumnSign>>;
}

/** Describes each column in a turn of the event loop of its own: a file may have a thousand. */
async function describeColumns(rows: readonly FileRow[], given: Described): Promise<PreviewColumn[]> {
  const described: PreviewColumn[] = [];
  const taken = new Set(
    [...given.types.keys(), ...given.declared.map(({ key }) => key)].map((key) => key.toLowerCase()),
  );
  for (const at of given.header.keys()) {
    described.push(describeColumn(rows, at, { ...given, taken }));
    await nextTurn();
  }
  return described;
}

function describeColumn(
  rows: readonly FileRow[],
  at: number,
  { header, found, types, decimalSigns, taken }: Described & { taken: Set<string> },
): PreviewColumn {
  const texts = rows.flatMap(({ row, cells, fault }) => {
    const text = fault ? '' : (cells[at] ?? '');
    return text.trim() === '' ? [] : [{ row, text }];
  });
  const name = (header[at] ?? '').replace(/^\uFEFF/, '').trim();
  const field = found.imported.find(({ column }) => column === at + 1)?.field;
  const key = field?.startsWith('properties.') ? field.slice('properties.'.length) : undefined;
  const isEmail = field === 'email' || at === found.proposedEmail;
  const judged = field === undefined && !isEmail ? judgeType(texts.map(({ text }) => undefused(text))) : undefined;
  const type = isEmail ? 'address' : (judged?.type ?? findFieldType(field, key, types));
  const sign = key === undefined ? judged?.sign : decimalSigns[key];
  const faults = texts.flatMap(({ row, text }) => {
    const fault = cellFault(text, type, sign);
    return fault ? [{ row, ...fault }] : [];
  });
  const canBeProposed = field === undefined && name !== '' && !isOfFailures(undefused(name)) && texts.length > 0;
  return {
    column: at + 1,
    name: name === '' ? null : name.slice(0, 200),
    field: field ?? null,
    proposal: canBeProposed ? (isEmail ? 'email' : `properties.${proposeKey(name, at, taken)}`) : null,
    type,
    values: texts.length,
    fitting: texts.length - faults.length,
    misfits: faults.slice(0, MISFITS_SHOWN),
  };
}

function findFieldType(
  field: string | undefined,
  key: string | undefined,
  types: ReturnType<typeof listTypes>,
): CellType {
  if (key !== undefined) return types.get(key) ?? 'string';
  if (field === 'unsubscribed') return 'boolean';
  return field === 'first_name' || field === 'last_name' ? 'name' : 'ids';
}

/** Numbers that are names of something: a zero in front would be lost, and so would digits beyond fifteen. */
const IDENTIFIER = /^(?:[+]|0\d)|\d{16}/;

/** Judges by its values which type a property for a column should have. */
function judgeType(texts: readonly string[]): { type: CellType; sign?: ColumnSign } {
  const fits = (type: CellType, sign?: ColumnSign): boolean =>
    texts.filter((text) => cellFault(text, type, sign) === undefined).length >= texts.length * FITTING_MIN;
  if (texts.length === 0) return { type: 'string' };
  // Only zeros and ones may as well be numbers.
  if (texts.some((text) => /[^\d\s]/.test(text)) && fits('boolean')) return { type: 'boolean' };
  if (texts.some((text) => IDENTIFIER.test(text.trim()))) return { type: 'string' };
  const sign = texts.reduce<ColumnSign | undefined>(addDecimalSign, undefined);
  return fits('number', sign) ? { type: 'number', ...(sign ? { sign } : {}) } : { type: 'string' };
}

/** Returns a property key for the name of a column that no other column and no property has. */
function proposeKey(name: string, at: number, taken: Set<string>): string {
  const obvious = findObviousProperty(name);
  const plain = name
    .replaceAll('ß', 'ss')
    .replaceAll(/[ÄÖÜäöü]/g, (letter) => `${letter}e`)
    .normalize('NFKD')
    .replaceAll(/\p{M}+/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '')
    .slice(0, KEY_CHARS_MAX);
  const wanted = obvious ?? plain;
  const isFree = (key: string): boolean => key !== '' && isOwnKey(key) && !taken.has(key);
  let key = isFree(wanted) ? wanted : `column_${at + 1}`;
  while (!isFree(key)) key += '_';
  taken.add(key);
  return key;
}
