import { defineHook } from '../../platform/hook.ts';
import { recordEvents, type SuppressionData } from '../events/index.ts';
import { isoTime } from '../../platform/clock.ts';
import { mustBeAlone, type Executor, type Page } from '../../platform/db/index.ts';
import type { Store } from '../../platform/store.ts';
import { normalizeAddress, parseMailbox } from '../../protocol/address/index.ts';
import {
  findByKeys,
  insertSuppressions,
  deleteRows,
  findByIds,
  listSuppressionRows,
  suppressionRowsEnding,
  type Origin,
  type SuppressionRow,
} from './suppressions.store.ts';
import { invalidFields, notFound, refuse, type FieldFault } from '../../platform/refusal.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import type { QueryOf } from '../../contract/index.ts';

export interface NewSuppression {
  email: string;
  origin: Origin;
  sourceId: string | null;
}

/**
 * Suppresses addresses of one team inside the caller's transaction and records the new ones. Returns a row for each
 * address asked for, in order, including those that were suppressed before. `isBulk`: marketing mail was the cause.
 */
export async function suppress(
  store: Store,
  tx: Executor,
  teamId: string,
  additions: readonly NewSuppression[],
  { isBulk }: { isBulk?: boolean | undefined } = {},
): Promise<SuppressionRow[]> {
  const now = store.clock.now();
  const fresh = additions.map((addition): SuppressionRow => {
    return {
      id: store.ids.prefixed('sup_'),
      team_id: teamId,
      email: addition.email,
      email_key: normalizeAddress(addition.email),
      origin: addition.origin,
      source_id: addition.sourceId,
      created_at: now,
    };
  });
  await insertSuppressions(tx, fresh);
  const keys = [...new Set(fresh.map((row) => row.email_key))];
  const rows = new Map((await findByKeys(tx, teamId, keys)).map((row) => [row.email_key, row]));
  const written = fresh.filter((row) => rows.get(row.email_key)?.id === row.id);
  await recordEvents(
    tx,
    store.ids,
    written.map((row) => {
      const data = eventData(row);
      return { teamId, type: 'suppression.added' as const, subjectId: row.id, data, at: now, isBulk };
    }),
  );
  return fresh.map((row) => rows.get(row.email_key) ?? row);
}

function eventData(row: SuppressionRow): SuppressionData {
  return {
    id: row.id,
    email: row.email,
    origin: row.origin,
    source_id: row.source_id,
    created_at: isoTime(row.created_at),
  };
}

interface Added {
  object: 'suppression';
  id: string;
}

export async function createSuppression(ctx: Ctx, input: { email: string }): Promise<Added> {
  const [added] = await addManually(ctx, [readAddress(input.email, 'email')]);
  if (!added) throw new Error('no row was returned for a suppressed address');
  return added;
}

export async function addSuppressions(ctx: Ctx, input: { emails: string[] }): Promise<{ data: Added[] }> {
  const read = input.emails.map((email, i) => readAddress(email, `emails.${i}`));
  return { data: await addManually(ctx, read) };
}

async function addManually(ctx: Ctx, read: (string | FieldFault)[]): Promise<Added[]> {
  const faults = read.filter((entry) => typeof entry !== 'string');
  if (faults.length > 0) throw invalidFields(faults);
  const emails = read.filter((entry) => typeof entry === 'string');
  const rows = await ctx.store.db.tx((tx) =>
    suppress(
      ctx.store,
      tx,
      ctx.teamId,
      emails.map((email) => ({ email, origin: 'manual' as const, sourceId: null })),
    ),
  );
  return rows.map((row) => ({ object: 'suppression', id: row.id }));
}

/** Reads a bare address; a list of addresses has no place for a display name. */
function readAddress(text: string, path: string): string | FieldFault {
  const parsed = parseMailbox(text);
  if (!parsed.ok) return { path, message: `${path}: ${parsed.fault}` };
  if (parsed.mailbox.name !== '') return { path, message: `${path} must be an address without a name.` };
  return parsed.mailbox.address;
}

interface Removed {
  object: 'suppression';
  id: string;
  deleted: true;
}

export async function deleteSuppression(ctx: Ctx, idOrAddress: string): Promise<Removed> {
  return ctx.store.db.tx(async (tx) => {
    const row = await suppressionNamed(tx, ctx.teamId, idOrAddress);
    const [gone] = await remove(ctx.store, tx, [row]);
    if (!gone) throw notFound('Suppression');
    return removed(gone);
  });
}

/**
 * Removes the suppressions of the given addresses or ids, exactly one of which is given; skips those that are not
 * suppressed.
 */
export async function removeSuppressions(
  ctx: Ctx,
  input: { emails?: string[]; ids?: string[] },
): Promise<{ data: Removed[] }> {
  const { emails, ids } = input;
  if ((emails === undefined) === (ids === undefined)) {
    const given = emails === undefined ? 'neither' : 'both';
    throw refuse('invalid_parameter', { say: `Send exactly one of emails and ids; got ${given}.` });
  }
  return ctx.store.db.tx(async (tx) => {
    // A malformed address cannot be suppressed, and what is not suppressed is skipped.
    const names = [...new Set(emails ? emails.map(parseAddressKey).filter((key) => key !== undefined) : ids)];
    const found = emails ? await findByKeys(tx, ctx.teamId, names) : await findByIds(tx, ctx.teamId, names);
    const byName = new Map(found.map((row) => [emails ? row.email_key : row.id, row]));
    const asked = names.map((name) => byName.get(name)).filter((row) => row !== undefined);
    return { data: (await remove(ctx.store, tx, asked)).map(removed) };
  });
}

/** Records in the history of contacts that the suppressions of their addresses were lifted. */
export const noteLiftedSuppressions =
  defineHook<(store: Store, tx: Executor, teamId: string, rows: readonly SuppressionRow[]) => Promise<void>>(
    'noteLiftedSuppressions',
  );

/** Removes suppressions and records it; returns those that this call removed. */
async function remove(store: Store, tx: Executor, asked: SuppressionRow[]): Promise<SuppressionRow[]> {
  const teamId = asked[0]?.team_id;
  if (teamId === undefined) return [];
  const ids = asked.map((row) => row.id);
  const deleted = await deleteRows(tx, teamId, ids);
  const rows = asked.filter((row) => deleted.has(row.id));
  const at = store.clock.now();
  await recordEvents(
    tx,
    store.ids,
    rows.map((row) => ({ teamId, type: 'suppression.removed', subjectId: row.id, data: eventData(row), at })),
  );
  await noteLiftedSuppressions.call(store, tx, teamId, rows);
  return rows;
}

const removed = (row: SuppressionRow): Removed => ({ object: 'suppression', id: row.id, deleted: true });

export async function getSuppression(ctx: Ctx, idOrAddress: string) {
  return { object: 'suppression' as const, ...present(await suppressionNamed(ctx.store.db, ctx.teamId, idOrAddress)) };
}

export async function listSuppressions(ctx: Ctx, filter: QueryOf<'listSuppressions'>, page: Page) {
  const { db } = ctx.store;
  const { id_end: end } = filter;
  if (end !== undefined) mustBeAlone(filter);
  const { rows, hasMore } =
    end === undefined
      ? await listSuppressionRows(db, ctx.teamId, filter, page)
      : await suppressionRowsEnding(db, ctx.teamId, end, page);
  return { object: 'list' as const, has_more: hasMore, data: rows.map(present) };
}

/** Returns which of these addresses are suppressed now, in their order. */
export async function suppressedNow({ store, teamId }: Ctx, addresses: readonly string[]) {
  const keys = addresses.map(normalizeAddress);
  const rows = new Map((await findByKeys(store.db, teamId, keys)).map((row) => [row.email_key, row]));
  return addresses.flatMap((email) => {
    const row = rows.get(normalizeAddress(email));
    return row ? [{ email, origin: row.origin, created_at: isoTime(row.created_at) }] : [];
  });
}

/** Finds a suppression by its id or the suppressed address, either of which may be in the path. */
async function suppressionNamed(db: Executor, teamId: string, idOrAddress: string): Promise<SuppressionRow> {
  const isId = /^sup_[0-9a-f]{32}$/.test(idOrAddress);
  const key = parseAddressKey(idOrAddress);
  if (!isId && key === undefined) {
    throw refuse('invalid_parameter', {
      say: 'Identify a suppression by its id (sup_…) or by the suppressed address.',
    });
  }
  const [row] = isId ? await findByIds(db, teamId, [idOrAddress]) : await findByKeys(db, teamId, [key ?? '']);
  if (!row) throw notFound('Suppression');
  return row;
}

function present(row: SuppressionRow) {
  return {
    id: row.id,
    email: row.email,
    origin: row.origin,
    source_id: row.source_id,
    created_at: isoTime(row.created_at),
  };
}

/**
 * Returns the key by which an address is found, however it is written; undefined if it is malformed or has a display
 * name.
 */
function parseAddressKey(text: string): string | undefined {
  const parsed = parseMailbox(text);
  if (!parsed.ok || parsed.mailbox.name !== '') return undefined;
  return normalizeAddress(parsed.mailbox.address);
}
