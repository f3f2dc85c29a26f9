import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { tableShapes, type Db, type Row, type TableShape, type Value } from '../../src/platform/db/index.ts';

/** The table whose rows a column names, by the name of the column, whatever the program says about the table. */
const OWNERS: Readonly<Record<string, string>> = {
  api_key_id: 'api_keys',
  automation_id: 'automations',
  broadcast_id: 'broadcasts',
  connection_id: 'sso_connections',
  contact_id: 'contacts',
  current_team_id: 'teams',
  custom_event_id: 'custom_events',
  domain_id: 'domains',
  draft_id: 'inbox_drafts',
  email_id: 'emails',
  event_id: 'events',
  grant_id: 'oauth_grants',
  image_id: 'images',
  import_id: 'contact_imports',
  inbox_id: 'inboxes',
  label_id: 'inbox_labels',
  link_id: 'broadcast_links',
  listener_id: 'webhook_listeners',
  member_id: 'team_members',
  owner_id: 'emails',
  property_id: 'contact_properties',
  received_id: 'received_emails',
  report_id: 'domain_reports',
  run_id: 'automation_runs',
  segment_id: 'segments',
  session_id: 'sessions',
  sso_team_id: 'teams',
  subject_id: 'emails',
  team_id: 'teams',
  template_id: 'templates',
  thread_id: 'inbox_threads',
  topic_id: 'topics',
  user_id: 'users',
  webhook_id: 'webhooks',
};

/** Tables without such a column that have data of a team, and the columns by which they have it. */
const BY_VALUE: Readonly<Record<string, (team: Planting) => Row>> = {
  queue_holds: ({ teamId }) => ({ kind: 'team_id', value: teamId }),
  rate_limits: ({ teamId }) => ({ bucket: `team:${teamId}` }),
  sign_ups: ({ email }) => ({ email, email_key: email }),
  failed_sign_ins: ({ email }) => ({ email_key: email }),
  throttles: ({ domain }) => ({ sender_domain: domain.name }),
  users: ({ email }) => ({ email, email_key: email }),
};

/** Values without which the program would begin to work on a row. */
const QUIET: Readonly<Record<string, Row>> = {
  contact_imports: { lease_owner: null },
  deliveries: { lease_owner: null },
  events: { type: 'contact.created' },
};

/** Tables that have their rows by other means: a deletion that is requested is a row of team_deletions. */
const THERE: ReadonlySet<string> = new Set(['domains', 'oauth_clients', 'team_deletions', 'teams']);

const NOT_SET = /^(deleted_at|due_at|lease_owner|lease_until|retry_at|next_at|failing_since|lost_at|grams)$/;

export interface Planting {
  teamId: string;
  /** A word that stands in every text of the team. */
  word: string;
  email: string;
  domain: { id: string; name: string };
}

/** The shapes of all tables that have rows by a key, parents first. */
async function loadTables(db: Db): Promise<TableShape[]> {
  const shapes = (await tableShapes(db)).filter(({ key }) => key.length > 0);
  const ordered: TableShape[] = [];
  const place = (shape: TableShape): void => {
    if (ordered.includes(shape)) return;
    for (const parent of shapes.filter(({ name }) => shape.parents.includes(name))) place(parent);
    ordered.push(shape);
  };
  for (const shape of shapes) place(shape);
  return ordered;
}

export interface Planted {
  /** The tables that have a row now. */
  tables: string[];
  /** Texts that occur in these rows and nowhere else: ids, addresses and words. */
  traces: string[];
  /** The id of the row of each table. */
  ids: ReadonlyMap<string, string>;
}

/**
 * Puts a row into every table of the database that has a column by which a row belongs to a team, to something of a
 * team or to a person, found by the names of its columns.
 */
export async function plantInEveryTable(db: Db, team: Planting): Promise<Planted> {
  const shapes = await loadTables(db);
  const ids = new Map<string, string>(shapes.map(({ name }) => [name, randomUUID()]));
  ids.set('teams', team.teamId);
  ids.set('domains', team.domain.id);
  const tables: string[] = [];
  const isOwned = ({ name, columns }: TableShape): boolean =>
    name in BY_VALUE || columns.some((column) => column.name in OWNERS);
  for (const shape of shapes) {
    const { name, columns } = shape;
    if (name === 'oauth_clients') await plantRow(db, shape, { ...team, word: 'an app' }, ids);
    if (THERE.has(name) || !isOwned(shape)) continue;
    await plantRow(db, shape, team, ids);
    tables.push(name);
    const serial = columns.find((column) => column.isFilled && column.name === 'id');
    if (serial) {
      const [row] = await db.all<{ id: number }>(`select max(id) as id from ${name}`);
      ids.set(name, String(row?.id));
    }
  }
  const traces = [...[...ids].filter(([name]) => tables.includes(name)).map(([, id]) => id), team.teamId, team.word];
  return { tables, traces: [...traces, team.email, team.domain.name].filter((text) => text.length > 8), ids };
}

async function plantRow(db: Db, shape: TableShape, team: Planting, ids: ReadonlyMap<string, string>): Promise<void> {
  const fixed = { ...BY_VALUE[shape.name]?.(team), ...QUIET[shape.name] };
  const columns = shape.columns.filter(({ isFilled }) => !isFilled);
  const row = columns.map(({ name, kind, type }): Value => {
    const given = fixed[name];
    if (given !== undefined) return given;
    if (name === 'id' || (name === 'client_id' && shape.name.startsWith('oauth')))
      return ids.get(name === 'id' ? shape.name : 'oauth_clients') ?? null;
    if (name in OWNERS) return ids.get(OWNERS[name] ?? '') ?? null;
    if (type === 'uuid' || name.endsWith('_id')) return ids.get(shape.name) ?? null;
    if (type === 'integer[]') return '{1,2}';
    if (NOT_SET.test(name) && name !== 'due_at') return null;
    if (kind === 'integer' || kind === 'real') return integerFor(shape, name);
    if (kind === 'bytes') return Buffer.from(team.word);
    if (kind === 'json') return JSON.stringify({ of: team.word });
    return `${team.word} ${name}`;
  });
  await db.insertMany(
    shape.name,
    columns.map(({ name }) => name),
    [row],
    // The program has a row of its own for the rate of a team.
    'on conflict do nothing',
  );
}

/** Returns a number that is in no key yet, and a time that nothing waits for. */
function integerFor({ key }: TableShape, name: string): number {
  if (/_at$|_until$/.test(name)) return 4_102_444_800_000;
  return key.includes(name) ? 7777 : 1;
}

/** Returns the rows of the whole database that contain any of the texts, as JSON by table. */
export async function findTraces(db: Db, traces: readonly string[]): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = {};
  const wanted = traces.map((trace) => trace.toLowerCase());
  for (const { name, key } of await tableShapes(db)) {
    if (key.length === 0) continue;
    const rows = await db.all(`select * from ${name}`);
    const texts = rows.map(toText).filter((text) => wanted.some((trace) => text.toLowerCase().includes(trace)));
    if (texts.length > 0) found[name] = texts.sort();
  }
  return found;
}

const toText = (row: Row): string =>
  JSON.stringify(row, (_, value: unknown) => {
    const bytes = value as { type?: string; data?: number[] } | null;
    return bytes?.type === 'Buffer' ? Buffer.from(bytes.data ?? []).toString('latin1') : value;
  });

/** Returns the files of a data folder whose name or content contains any of the texts. */
export function findTracesInFiles(folder: string, traces: readonly string[]): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .filter((file) => {
      const content = readFileSync(file).toString('latin1');
      return traces.some((trace) => file.includes(trace) || content.includes(trace));
    });
}
