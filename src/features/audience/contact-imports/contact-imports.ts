import { refuse, notFound, invalidFields } from '../../../platform/refusal.ts';
import type { Executor, Page } from '../../../platform/db/index.ts';
import {
  findColumns,
  ID_LISTS,
  type ColumnMap,
  type Columns,
  type Encoding,
  type IgnoredColumn,
  type ImportedColumn,
  type ColumnSign,
} from '../../../protocol/csv/index.ts';
import { lockTeam, type Ctx } from '../../../tenancy/access/index.ts';
import { declaredProperties } from '../contact-properties/contact-properties.store.ts';
import { checkDeclarations, type WantedProperty } from '../contact-properties/contact-properties.ts';
import { insertContents, type FileRow } from '../../../mail/contents/index.ts';
import { readSegmentIds } from '../segments/segments.ts';
import { liveTopics } from '../topics/topics.store.ts';
import { readChoices, type Choice } from '../topics/topics.ts';
import {
  hasOpenImports,
  insertImport,
  listFailures,
  listSkippedValues,
  findImport,
  listImportRows,
  type ImportRow,
  type ImportStatus,
} from './contact-imports.store.ts';
import { isoTime } from '../../../platform/clock.ts';
import type { PropertyType } from '../../../protocol/contact-filter/index.ts';

const OWN = ['email', 'first_name', 'last_name', 'unsubscribed', ...ID_LISTS] as const;
const KEY = /^[A-Za-z0-9_]{1,50}$/;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const TYPES: readonly unknown[] = ['string', 'number', 'boolean'];
const LIST_MAX = 200;

const bad = (path: string, says: string) => invalidFields([{ path, message: `${path} ${says}.` }]);

function readConflict(text: string | undefined): 'upsert' | 'skip' {
  if (text === undefined || text === '' || text === 'skip') return 'skip';
  if (text === 'upsert') return text;
  throw bad('on_conflict', 'must be upsert or skip');
}

function readBadValues(text: string | undefined): 'fail_row' | 'skip_value' {
  if (text === undefined || text === '' || text === 'fail_row') return 'fail_row';
  if (text === 'skip_value') return text;
  throw bad('on_bad_value', 'must be fail_row or skip_value');
}

function readStartAutomations(text: string | undefined): boolean {
  if (text === undefined || text === '' || text === 'false') return false;
  if (text === 'true') return true;
  throw bad('start_automations', 'must be true or false');
}

function readColumnMap(text: string | undefined): ColumnMap | undefined {
  const map = parse('column_map', text);
  if (map === undefined || map === null) return undefined;
  if (!isObject(map)) throw bad('column_map', 'must be a JSON object');
  const read: ColumnMap = {};
  for (const [name, value] of Object.entries(map)) {
    const own = OWN.find((field) => field === name);
    if (own === 'email') read.email = readColumn('column_map.email', value);
    else if (own) read[own] = value === null ? null : readColumn(`column_map.${name}`, value);
    else if (name !== 'properties')
      throw bad(`column_map.${name}`, `is not a known field; known are ${OWN.join(', ')} and properties`);
  }
  if (map['properties'] === undefined || map['properties'] === null) return read;
  return { ...read, properties: readProperties(map['properties']) };
}

function readProperties(value: unknown): NonNullable<ColumnMap['properties']> {
  if (!isObject(value)) throw bad('column_map.properties', 'must be an object of property keys');
  const read: Record<string, { column: string; type?: PropertyType | undefined } | null> = {};
  for (const [key, given] of Object.entries(value)) {
    const path = `column_map.properties.${key}`;
    if (!KEY.test(key) || key === '__proto__')
      throw bad(path, 'is not a property key; write 1 to 50 letters, digits and underscores');
    if (!isObject(given)) {
      read[key] = given === null ? null : { column: readColumn(path, given) };
      continue;
    }
    const stray = Object.keys(given).find((name) => name !== 'column' && name !== 'type');
    if (stray !== undefined) throw bad(`${path}.${stray}`, 'is not a known field; known are column and type');
    const { column, type } = given;
    if (type !== undefined && !TYPES.includes(type)) throw bad(`${path}.type`, 'must be string, number or boolean');
    read[key] = { column: readColumn(`${path}.column`, column), type: type as PropertyType | undefined };
  }
  return read;
}

function readColumn(path: string, value: unknown): string {
  if (typeof value === 'string' && value.trim() !== '' && value.length <= 500) return value;
  throw bad(path, 'must be the name of a column');
}

function readSegments(text: string | undefined): { id: string }[] {
  return readList('segments', text).map((one, i) => {
    const id = isObject(one) ? one['id'] : one;
    if (typeof id !== 'string' || !UUID.test(id))
      throw bad(`segments.${i}`, 'must be an object {id} with the id of a segment');
    return { id };
  });
}

function readTopics(text: string | undefined): Choice[] {
  return readList('topics', text).map((one, i) => {
    const { id, subscription } = isObject(one) ? one : {};
    const isChoice = subscription === 'opt_in' || subscription === 'opt_out';
    if (typeof id !== 'string' || !UUID.test(id) || !isChoice) {
      throw bad(`topics.${i}`, 'must be an object {id, subscription} with the subscription opt_in or opt_out');
    }
    return { id, subscription };
  });
}

function readList(field: string, text: string | undefined): unknown[] {
  const list = parse(field, text) ?? [];
  if (!Array.isArray(list) || list.length > LIST_MAX)
    throw bad(field, `must be a JSON array of at most ${LIST_MAX} entries`);
  return list;
}

function parse(field: string, text: string | undefined): unknown {
  if (text === undefined || text === '') return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw bad(field, 'must be JSON');
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Fields of the form as received. */
export interface ImportForm {
  column_map?: string | undefined;
  on_conflict?: string | undefined;
  segments?: string | undefined;
  topics?: string | undefined;
  on_bad_value?: string | undefined;
  start_automations?: string | undefined;
}

/** Properties of the file, known once its beginning was read. */
interface ImportFile {
  encoding: Encoding;
  isDamaged: boolean;
  delimiter: string;
  quote: string;
  header: readonly string[];
  /** Size and digest of the stored file. */
  content: FileRow;
}

/** Everything that is needed to read the file, as it was when the import was submitted. */
export interface ImportOptions {
  encoding: Encoding;
  isDamaged: boolean;
  delimiter: string;
  quote: string;
  columns: Columns;
  imported: readonly ImportedColumn[];
  ignored: readonly IgnoredColumn[];
  /** Properties of the column map, which are declared together with the first contact that is created or updated. */
  wanted: readonly WantedProperty[];
  /** Decimal signs that the columns of number properties show, by key; absent until the file was read once for them. */
  decimalSigns?: Readonly<Record<string, ColumnSign>>;
  on_conflict: 'upsert' | 'skip';
  on_bad_value: 'fail_row' | 'skip_value';
  segmentIds: readonly string[];
  topics: readonly Choice[];
  /** True if rows start automation runs. */
  startAutomations: boolean;
}

/** Checks the form before the file is read. */
export function checkImport(form: ImportForm) {
  return {
    map: readColumnMap(form.column_map),
    onConflict: readConflict(form.on_conflict),
    segments: readSegments(form.segments),
    topics: readTopics(form.topics),
    onBadValue: readBadValues(form.on_bad_value),
    startAutomations: readStartAutomations(form.start_automations),
  };
}

/** Imports wait with files of up to 50 MB each: without this limit they could fill the disk. */
const OPEN_MAX = 20;

/**
 * Refuses if the team has too many open imports. Called before the file is stored, and again in the transaction that
 * queues the import.
 */
export async function mustBeWithinImportLimit(db: Executor, teamId: string): Promise<void> {
  if (!(await hasOpenImports(db, teamId, OPEN_MAX))) return;
  const say = `A team may have at most ${OPEN_MAX} imports that wait or run; start the next one when one of them has ended.`;
  throw refuse('validation_error', { status: 422, say });
}

/** Queues the import of the file stored under `id`. The commit of its row wakes the loop that reads it (`onCommit`). */
export async function queueImport({ store, teamId }: Ctx, id: string, file: ImportFile, form: ImportForm) {
  const { map, onConflict, onBadValue, segments, topics, startAutomations } = checkImport(form);
  await store.db.tx(async (tx) => {
    await lockTeam(tx, teamId);
    await mustBeWithinImportLimit(tx, teamId);
    const declared = await declaredProperties(tx, teamId);
    const wanted = listWanted(map);
    const { columns, imported, ignored } = mustFind(
      file.header,
      map,
      declared.map(({ key }) => key),
    );
    checkDeclarations(declared, wanted);
    const options: ImportOptions = {
      encoding: file.encoding,
      isDamaged: file.isDamaged,
      delimiter: file.delimiter,
      quote: file.quote,
      columns,
      imported,
      ignored,
      wanted,
      on_conflict: onConflict,
      on_bad_value: onBadValue,
      segmentIds: await readSegmentIds(tx, teamId, segments),
      topics: readChoices(topics, await liveTopics(tx, teamId)),
      startAutomations,
    };
    await insertImport(tx, { id, team_id: teamId, options: JSON.stringify(options), created_at: store.clock.now() });
    await insertContents(tx, [file.content]);
  });
  return { object: 'contact_import' as const, id };
}

/** Returns the properties that a column map names. */
export const listWanted = (map: ColumnMap | undefined): WantedProperty[] =>
  Object.entries(map?.properties ?? {}).flatMap(([key, given]) => (given === null ? [] : [{ key, type: given.type }]));

function mustFind(header: readonly string[], map: ColumnMap | undefined, keys: readonly string[]) {
  const found = findColumns(header, map, keys);
  if (found.ok) return found;
  throw refuse('validation_error', { status: 422, say: `file: ${found.fault}.` });
}

export async function getContactImport(ctx: Ctx, id: string) {
  return { object: 'contact_import' as const, ...present(await importNamed(ctx, id)) };
}

export async function listContactImports(
  { store, teamId }: Ctx,
  { status }: { status?: ImportStatus | undefined },
  page: Page,
) {
  const { rows, hasMore } = await listImportRows(store.db, teamId, status, page);
  return { object: 'list' as const, has_more: hasMore, data: rows.map(present) };
}

export async function getContactImportFailures(ctx: Ctx, id: string) {
  const row = await importNamed(ctx, id);
  const { encoding, delimiter } = JSON.parse(row.options) as ImportOptions;
  const data = await listFailures(ctx.store.db, row);
  const skipped_values = await listSkippedValues(ctx.store.db, id);
  return {
    object: 'contact_import_failures' as const,
    import_id: id,
    file: { encoding, delimiter },
    data,
    skipped_values,
  };
}

export async function importNamed({ store, teamId }: Ctx, id: string): Promise<ImportRow> {
  const row = await findImport(store.db, teamId, id);
  if (!row) throw notFound('Import');
  return row;
}

function present(row: ImportRow) {
  const { id, status, created_at, completed_at, total, created, updated, skipped, failed } = row;
  const options = JSON.parse(row.options) as ImportOptions;
  return {
    id,
    status,
    created_at: isoTime(created_at),
    completed_at: completed_at === null ? null : isoTime(completed_at),
    counts: { total, created, updated, skipped, failed },
    skipped_values: row.skipped_values,
    on_conflict: options.on_conflict,
    on_bad_value: options.on_bad_value,
    start_automations: options.startAutomations,
    columns: options.imported.map(({ column, name, field, isNamed }) => ({
      column,
      name,
      field,
      recognized: !isNamed,
    })),
    ignored_columns: [...options.ignored],
  };
}
