import { isoTime, nextTurn, pauseFor } from '../../../platform/clock.ts';
import { underlyingDatabase, type Executor } from '../../../platform/db/index.ts';
import { invalidField, refuse } from '../../../platform/refusal.ts';
import type { Filter } from '../../../protocol/contact-filter/index.ts';
import { defused, unclaimedIdLists, OWN_COLUMNS, quoted, type IdList } from '../../../protocol/csv/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { declaredProperties, type PropertyRow } from '../contact-properties/contact-properties.store.ts';
import { loadSegmentFilter } from '../segments/segments.ts';
import { findSegment, liveSegments, membersAmong } from '../segments/segments.store.ts';
import { listChoices, liveTopics } from '../topics/topics.store.ts';
import { audienceRows } from './audience.store.ts';
import { mustBeBelowReaderLimit } from './audience-reads.ts';
import type { ContactRow } from './contacts.store.ts';
import { presentValues, readPropertyValues } from './find-contact.ts';
import { createSemaphore, type Semaphore } from '../../../platform/limits/index.ts';

/** Limit of exports by team, because each export may format the whole audience. */
const EXPORTS_OF_TEAM_MAX = 2;
const RETRY_AFTER_SECONDS = 5;

const RESTS_PER_WORK = 2;
/** Shorter work would end before a pause does. */
const WORTH_A_REST_MS = 2;

interface Exports {
  /** Number of running exports by team. */
  running: Map<string, number>;
  pages: Semaphore;
}

const exportsByDb = new WeakMap<Executor, Exports>();

function findExports(db: Executor): Exports {
  const database = underlyingDatabase(db);
  let exports = exportsByDb.get(database);
  if (!exports) {
    const pages = createSemaphore(1, ({ tookMs }) =>
      tookMs < WORTH_A_REST_MS ? nextTurn() : pauseFor(tookMs * RESTS_PER_WORK),
    );
    exportsByDb.set(database, (exports = { running: new Map(), pages }));
  }
  return exports;
}

/**
 * Takes one of the team's slots for exports, or refuses. The returned function releases it, however often it is called.
 */
export function beginExport(db: Executor, teamId: string): () => void {
  const { running } = findExports(db);
  const before = running.get(teamId) ?? 0;
  if (before >= EXPORTS_OF_TEAM_MAX) {
    throw refuse('rate_limit_exceeded', {
      say: `At most ${EXPORTS_OF_TEAM_MAX} exports of a team run at a time; wait until one has ended, or try again in ${RETRY_AFTER_SECONDS} seconds.`,
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    });
  }
  running.set(teamId, before + 1);
  let isOver = false;
  return () => {
    if (isOver) return;
    isOver = true;
    const left = (running.get(teamId) ?? 1) - 1;
    if (left > 0) running.set(teamId, left);
    else running.delete(teamId);
  };
}

/**
 * Makes a page of an export: one at a time in this process, round robin by team, and for at most a third of the time.
 */
export const makeExportPage = <Page>(db: Executor, teamId: string, make: () => Promise<Page>): Promise<Page> =>
  findExports(db).pages.run(make, { tenant: teamId });

export type ExportFormat = 'csv' | 'ndjson';

/** Number of contacts for about five milliseconds of work. */
const PAGE = 200;
const EVERYBODY: Filter = { kind: 'all', of: [] };

/** An export that is being read. */
export interface ContactExport {
  /** The text, made page by page as it is read. */
  lines: AsyncIterable<string>;
  /** Releases the team's slot for another export; call it when the reader has read everything or has disconnected. */
  end(): void;
}

/**
 * Returns the text of a file with all contacts, or those of a segment. Refuses if too many exports of the team are
 * running.
 */
export async function exportContacts(
  { store, teamId }: Ctx,
  { format, segmentId }: { format: ExportFormat; segmentId: string | undefined },
): Promise<ContactExport> {
  const { db } = store;
  const end = beginExport(db, teamId);
  try {
    mustBeBelowReaderLimit(db, teamId);
    const segment = segmentId === undefined ? undefined : await findSegment(db, teamId, segmentId);
    if (segmentId !== undefined && !segment) {
      throw invalidField('segment_id', 'segment_id does not match a segment of this team.');
    }
    const filter = segment ? await loadSegmentFilter(db, segment, store.clock.now()) : EVERYBODY;
    return { lines: makeLines(db, teamId, { format, filter }), end };
  } catch (error) {
    end();
    throw error;
  }
}

async function* makeLines(
  db: Executor,
  teamId: string,
  { format, filter }: { format: ExportFormat; filter: Filter },
): AsyncIterable<string> {
  const declared = await declaredProperties(db, teamId);
  const lists = unclaimedIdLists(declared.map(({ key }) => key));
  if (format === 'csv') yield csvRow([...OWN_COLUMNS, ...lists, ...declared.map(({ key }) => key)]);
  for (let after: string | undefined; ;) {
    const page = await makeExportPage(db, teamId, async () => {
      const rows: ContactRow[] = await audienceRows(db, teamId, { filter }, { limit: PAGE, after }, 'c.*');
      const said = rows.length > 0 ? await loadMembershipsAndChoices(db, teamId, rows) : undefined;
      const formatLine = (row: ContactRow): string => {
        const own = said?.get(row.id) ?? NOTHING_SAID;
        return format === 'csv' ? csvLine(row, own, { lists, declared }) : jsonLine(row, own, declared);
      };
      return { text: rows.map(formatLine).join(''), last: rows.length < PAGE ? undefined : rows.at(-1)?.id };
    });
    if (page.text !== '') yield page.text;
    after = page.last;
    if (after === undefined) return;
  }
}

/** Segments that a contact was added to by hand, and topics it chose or left. */
type ExplicitChoices = Record<IdList, string[]>;
const NOTHING_SAID: ExplicitChoices = { segment_ids: [], opted_in_topic_ids: [], opted_out_topic_ids: [] };

/**
 * Returns the explicit memberships and choices of a page of contacts, in a few statements; deleted segments and topics
 * are omitted.
 */
async function loadMembershipsAndChoices(
  db: Executor,
  teamId: string,
  rows: readonly ContactRow[],
): Promise<Map<string, ExplicitChoices>> {
  const ids = rows.map(({ id }) => id);
  const said = new Map(ids.map((id): [string, ExplicitChoices] => [id, structuredClone(NOTHING_SAID)]));
  const segments = new Set((await liveSegments(db, teamId)).map(({ id }) => id));
  const members = segments.size === 0 ? [] : await membersAmong(db, ids);
  for (const { contact_id, segment_id } of members) {
    if (segments.has(segment_id)) said.get(contact_id)?.segment_ids.push(segment_id);
  }
  const topics = new Set((await liveTopics(db, teamId)).map(({ id }) => id));
  const choices = topics.size === 0 ? [] : await listChoices(db, ids);
  for (const { contact_id, topic_id, subscription } of choices) {
    const list = subscription === 'opt_in' ? 'opted_in_topic_ids' : 'opted_out_topic_ids';
    if (topics.has(topic_id)) said.get(contact_id)?.[list].push(topic_id);
  }
  return said;
}

/** Formats a row as in RFC 4180, with its line ends. */
export const csvRow = (cells: readonly string[]): string => `${cells.map(quoted).join(',')}\r\n`;

interface CsvColumns {
  lists: readonly IdList[];
  declared: readonly PropertyRow[];
}

function csvLine(row: ContactRow, said: ExplicitChoices, { lists, declared }: CsvColumns): string {
  const values = readPropertyValues(row);
  const cells = declared.map(({ slot }) => {
    const value = values[slot];
    return typeof value === 'string' ? defused(value) : String(value ?? '');
  });
  const names = [row.first_name, row.last_name].map((name) => (name === null ? '' : defused(name)));
  const ids = lists.map((list) => said[list].join(' '));
  return csvRow([defused(row.email), ...names, String(row.unsubscribed === 1), ...ids, ...cells]);
}

function jsonLine(row: ContactRow, said: ExplicitChoices, declared: readonly PropertyRow[]): string {
  const { id, email, first_name, last_name } = row;
  const properties = presentValues(readPropertyValues(row), declared);
  const own = {
    id,
    email,
    first_name,
    last_name,
    created_at: isoTime(row.created_at),
    unsubscribed: row.unsubscribed === 1,
  };
  return `${JSON.stringify({ ...own, ...said, properties })}\n`;
}
