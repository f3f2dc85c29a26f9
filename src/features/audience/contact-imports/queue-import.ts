import { refuse } from '../../../platform/refusal/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import {
  columnsOf,
  type ColumnMap,
  type Columns,
  type Encoding,
  type IgnoredColumn,
} from '../../../protocol/csv/index.ts';
import { lockTeam, type Ctx } from '../../../tenancy/access/index.ts';
import { declaredProperties, declareFromImport } from '../contact-properties/index.ts';
import { insertContents, type FileRow } from '../../../mail/contents/index.ts';
import { readSegmentIds } from '../segments/index.ts';
import { liveTopics, readChoices, type Choice } from '../topics/index.ts';
import { hasOpenImports, insertImport } from './contact-imports.store.ts';
import { readColumnMap, readConflict, readSegments, readStartAutomations, readTopics } from './read-form.ts';

/** The fields of the form as they came. */
export interface ImportForm {
  column_map?: string | undefined;
  on_conflict?: string | undefined;
  segments?: string | undefined;
  topics?: string | undefined;
  start_automations?: string | undefined;
}

/** What is known of the file once its beginning was read. */
export interface ImportFile {
  encoding: Encoding;
  isDamaged: boolean;
  delimiter: string;
  quote: string;
  header: readonly string[];
  /** Size and digest of the stored file. */
  content: FileRow;
}

/** Everything that reading the file takes, as it was when it was handed in. */
export interface ImportOptions {
  encoding: Encoding;
  /** Absent in imports of before it was looked for. */
  isDamaged?: boolean;
  delimiter: string;
  quote: string;
  columns: Columns;
  /** Absent in imports of before it was kept. */
  ignored?: readonly IgnoredColumn[];
  on_conflict: 'upsert' | 'skip';
  segmentIds: readonly string[];
  topics: readonly Choice[];
  /** Whether its rows begin runs of automations; absent in imports of before it could be asked for. */
  startAutomations?: boolean;
}

/** The form alone, before the file is read. */
export function checkImport(form: ImportForm) {
  return {
    map: readColumnMap(form.column_map),
    onConflict: readConflict(form.on_conflict),
    segments: readSegments(form.segments),
    topics: readTopics(form.topics),
    startAutomations: readStartAutomations(form.start_automations),
  };
}

/** Imports wait in line with files of up to 50 MB each: more of them could fill the disk. */
const OPEN_MAX = 20;

/** Asked before the file is stored, and again in the transaction that puts it in line. */
export async function mustBeWithinImportLimit(db: Executor, teamId: string): Promise<void> {
  if (!(await hasOpenImports(db, teamId, OPEN_MAX))) return;
  const say = `A team may have ${OPEN_MAX} imports that wait or are under way; hand the next one in when one of them has ended.`;
  throw refuse('validation_error', { status: 422, say });
}

/** Puts a file that is stored under `id` in line; the commit of its row wakes the loop that reads it (`onCommit`). */
export async function queueImport({ store, teamId }: Ctx, id: string, file: ImportFile, form: ImportForm) {
  const { map, onConflict, segments, topics, startAutomations } = checkImport(form);
  await store.db.tx(async (tx) => {
    await lockTeam(tx, teamId);
    await mustBeWithinImportLimit(tx, teamId);
    const wanted = Object.entries(map?.properties ?? {}).map(([key, { type }]) => ({ key, type }));
    const keys = (await declaredProperties(tx, teamId)).map(({ key }) => key);
    const { columns, ignored } = mustFind(file.header, map, keys);
    await declareFromImport(store, tx, teamId, wanted);
    const options: ImportOptions = {
      encoding: file.encoding,
      isDamaged: file.isDamaged,
      delimiter: file.delimiter,
      quote: file.quote,
      columns,
      ignored,
      on_conflict: onConflict,
      segmentIds: await readSegmentIds(tx, teamId, segments),
      topics: readChoices(topics, await liveTopics(tx, teamId)),
      startAutomations,
    };
    await insertImport(tx, { id, team_id: teamId, options: JSON.stringify(options), created_at: store.clock.now() });
    await insertContents(tx, [file.content]);
  });
  return { object: 'contact_import' as const, id };
}

function mustFind(header: readonly string[], map: ColumnMap | undefined, keys: readonly string[]) {
  const found = columnsOf(header, map, keys);
  if (found.ok) return found;
  throw refuse('validation_error', { status: 422, say: `file: ${found.fault}.` });
}
