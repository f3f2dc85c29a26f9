import { underlyingDatabase, type Executor, type Page } from '../../platform/db/index.ts';
import { createFairQueue } from '../../platform/limits/index.ts';
import { refuse } from '../../platform/refusal.ts';
import type { World } from '../../platform/world.ts';
import {
  walkCaptured,
  MESSAGE_BLOB,
  removeAllCaptured,
  insertCaptured,
  isCaptured,
  findSubject,
  type CapturedRow,
} from './captured-messages.store.ts';
import { isUtf8 } from 'node:buffer';
import { NoSuchBlob } from '../../platform/blobs/index.ts';
import { isoTime } from '../../platform/clock.ts';
import type { Store } from '../../platform/store.ts';
import { readMessage, listSigners, type MessagePart } from '../../protocol/read-message/index.ts';
import { expectedRecords, findDomainByName, listDkimKeys, type RecordRow } from '../domains/index.ts';
import { authenticate, type Checks } from '../receive/index.ts';
import type { DeliveryJob } from '../deliver/index.ts';

/** All files are written by the same few threads, which know no turns. */
const WRITES_AT_ONCE = 4;
/** Maximum number of waits, each of which is an open request. */
const WAITS_MAX = 1000;

interface Wait {
  fits(row: CapturedRow): boolean;
  end(): void;
}

/** Callers that wait for a message, by database. In memory of this process, which is the only one of its data folder. */
const waitsByDatabase = new WeakMap<Executor, Set<Wait>>();

function findWaits(db: Executor): Set<Wait> {
  const key = underlyingDatabase(db);
  const known = waitsByDatabase.get(key);
  if (known) return known;
  const waits = new Set<Wait>();
  waitsByDatabase.set(key, waits);
  return waits;
}

interface CaptureWait {
  /** Resolves once a matching message was caught, the time is over, the caller is gone or the server stops. */
  over: Promise<void>;
  /** Ends it; to be called in any case. */
  close(): void;
}

/** Starts a wait; the caller looks for messages that were caught before afterwards, so that none is missed. */
function waitForCapture(
  { db, clock }: Pick<World, 'db' | 'clock'>,
  fits: (row: CapturedRow) => boolean,
  { waitMs, gone }: { waitMs: number; gone: AbortSignal | undefined },
): CaptureWait {
  const waits = findWaits(db);
  if (waits.size >= WAITS_MAX) {
    throw refuse('service_unavailable', {
      say: `${WAITS_MAX} requests already wait for a message, which is the limit of this server; try again when some have ended.`,
    });
  }
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const close = (): void => {
    cancel();
    gone?.removeEventListener('abort', close);
    waits.delete(wait);
    resolve();
  };
  const wait: Wait = { fits, end: close };
  const cancel = clock.timer(waitMs, close);
  waits.add(wait);
  gone?.addEventListener('abort', close, { once: true });
  if (gone?.aborted) close();
  return { over, close };
}

/** Ends the waits that a message fits. Called once its row is committed. */
function announceCaptured(db: Executor, row: CapturedRow): void {
  for (const wait of [...findWaits(db)]) if (wait.fits(row)) wait.end();
}

/** Ends every wait, so that none delays a server that stops. */
export function endCaptureWaits(db: Executor): void {
  for (const wait of [...findWaits(db)]) wait.end();
}

export const countCaptureWaits = (db: Executor): number => findWaits(db).size;

export interface CapturedFilter {
  /** An address of the envelope. */
  to?: string | undefined;
  /** Part of the subject. */
  subject?: string | undefined;
  emailId?: string | undefined;
}

interface Found {
  rows: CapturedRow[];
  hasMore: boolean;
}

/** Rows that are read at a time while searching for matching ones. */
const STEP = 500;

/**
 * Returns a page of the matching messages, newest first. With `waitMs` it waits for one if there is none, without
 * reading the database meanwhile.
 */
export async function findCaptured(
  world: World,
  filter: CapturedFilter,
  page: Page,
  { waitMs, gone }: { waitMs: number; gone: AbortSignal | undefined },
): Promise<Found> {
  if (waitMs === 0) return readPage(world.db, filter, page);
  if (page.after !== undefined) {
    throw refuse('invalid_parameter', {
      say: 'wait and after cannot be used together, because wait is for new messages and after is for older ones; send only one of them.',
    });
  }
  const fits = createFits(filter);
  // Started before the first query, so that no message falls between the two.
  const wait = waitForCapture(world, (row) => fits(row) && (page.before === undefined || row.id > page.before), {
    waitMs,
    gone,
  });
  try {
    const found = await readPage(world.db, filter, page);
    if (found.rows.length > 0) return found;
    await wait.over;
  } finally {
    wait.close();
  }
  return gone?.aborted ? { rows: [], hasMore: false } : readPage(world.db, filter, page);
}

/** Reads a page. Letter case is folded here and not in SQL: SQLite folds ASCII alone. */
async function readPage(db: Executor, filter: CapturedFilter, { limit, after, before }: Page): Promise<Found> {
  const fits = createFits(filter);
  const found: CapturedRow[] = [];
  let from = before !== undefined ? { newerThan: before } : after !== undefined ? { olderThan: after } : undefined;
  while (found.length <= limit) {
    const rows = await walkCaptured(db, from, { emailId: filter.emailId, limit: STEP });
    found.push(...rows.filter(fits));
    const last = rows.at(-1);
    if (last === undefined || rows.length < STEP) break;
    from = before !== undefined ? { newerThan: last.id } : { olderThan: last.id };
  }
  const rows = found.slice(0, limit);
  return { rows: before === undefined ? rows : rows.reverse(), hasMore: found.length > limit };
}

function createFits({ to, subject, emailId }: CapturedFilter): (row: CapturedRow) => boolean {
  const wantedTo = to === undefined ? undefined : fold(to);
  const wantedSubject = subject === undefined ? undefined : fold(subject);
  return (row) => {
    if (emailId !== undefined && row.email_id !== emailId) return false;
    if (wantedSubject !== undefined && !fold(row.subject).includes(wantedSubject)) return false;
    return (
      wantedTo === undefined || (JSON.parse(row.recipients) as string[]).some((address) => fold(address) === wantedTo)
    );
  };
}

const fold = (text: string): string => text.normalize('NFC').toLowerCase();

/** An address of the ranges for documentation, as the address the mail would have come from. */
const OUR_ADDRESS = '192.0.2.1';

/**
 * Checks SPF, DKIM, DMARC and ARC of a captured message as a receiving server would, with the listed records of its
 * domains published and the mail sent from the instance's host. Queries no DNS server.
 */
export async function checkCaptured(store: Store, row: CapturedRow, message: Buffer): Promise<Checks> {
  const { host } = store.config.instance;
  // SPF does not accept the development profile's `localhost`; a host of one word is checked as a full one.
  const fullHost = host.includes('.') ? host : `${host}.example`;
  const published = ({ value }: RecordRow): string =>
    fullHost === host ? value : value.replaceAll(new RegExp(`:${host}(?= |$)`, 'g'), `:${fullHost}`);
  const records = await loadRecords(store, row.team_id, [...new Set(listSigners(message).map(({ domain }) => domain))]);
  const resolve = (name: string, type: string): Promise<unknown> => {
    const asked = name.toLowerCase();
    if (asked === fullHost.toLowerCase() && type === 'A') return Promise.resolve([OUR_ADDRESS]);
    const found = records.filter((record) => record.type === type && record.name.toLowerCase() === asked);
    if (found.length === 0) return Promise.reject(Object.assign(new Error('no such record'), { code: 'ENOTFOUND' }));
    if (type === 'MX')
      return Promise.resolve(found.map(({ value, priority }) => ({ exchange: value, priority: priority ?? 0 })));
    return Promise.resolve(found.map((record) => [published(record)]));
  };
  const client = { address: OUR_ADDRESS, name: fullHost };
  return authenticate({ raw: message, mailFrom: row.mail_from, client, host: 'mx.playground.test' }, resolve);
}

async function loadRecords(store: Store, teamId: string, names: readonly string[]): Promise<RecordRow[]> {
  const found = await Promise.all(names.slice(0, 10).map((name) => findDomainByName(store.db, teamId, name)));
  const domains = found.filter((domain) => domain !== undefined);
  const records = domains.map(async (domain) =>
    expectedRecords(store, store.db, domain, await listDkimKeys(store.db, domain.id)),
  );
  return (await Promise.all(records)).flat();
}

export const CAPTURED_LIMITS = { depthMax: 100, headerBytesMax: 2 * 1024 * 1024, partsMax: 1000 };

/** Returns a message as the API shows it; undefined if it was removed meanwhile. */
export async function readWholeCaptured(store: Store, row: CapturedRow) {
  const source = await readSource(store, row.id);
  if (!source) return undefined;
  const reading = await readMessage(source, CAPTURED_LIMITS);
  const encoding = isUtf8(source) ? ('utf-8' as const) : ('latin1' as const);
  return {
    object: 'playground_message' as const,
    id: row.id,
    email_id: row.email_id,
    created_at: isoTime(row.created_at),
    envelope: { from: row.mail_from, to: JSON.parse(row.recipients) as string[] },
    from: reading.from,
    to: reading.to,
    cc: reading.cc,
    reply_to: reading.replyTo,
    subject: reading.subject,
    message_id: reading.messageId,
    headers: reading.isRead ? reading.headers : {},
    text: reading.isRead ? reading.text : null,
    html: reading.isRead ? reading.html : null,
    attachments: reading.isRead ? reading.parts.map(presentAttachment) : [],
    authentication: await checkCaptured(store, row, source),
    size: source.length,
    raw: source.toString(encoding),
    raw_encoding: encoding,
    parse_error: reading.isRead ? null : reading.because,
  };
}

async function readSource({ blobs }: Store, id: string): Promise<Buffer | undefined> {
  try {
    return await blobs.get(MESSAGE_BLOB(id));
  } catch (error) {
    if (error instanceof NoSuchBlob) return undefined;
    throw error;
  }
}

const presentAttachment = ({ filename, contentType, disposition, contentId, content }: MessagePart) => ({
  filename,
  content_type: contentType,
  content_disposition: disposition,
  ...(contentId === undefined ? {} : { content_id: contentId }),
  size: content.byteLength,
  content: Buffer.from(content).toString('base64'),
});

const REMOVED_AT_ONCE = 500;

/** Removes everything that was caught, with the sources; returns how many messages that were. */
export async function clearCaptured({ db, blobs }: Store): Promise<number> {
  let count = 0;
  for (;;) {
    const ids = await removeAllCaptured(db, REMOVED_AT_ONCE);
    for (const id of ids) await blobs.remove(id);
    count += ids.length;
    if (ids.length < REMOVED_AT_ONCE) return count;
  }
}

/**
 * Returns a function that stores a message once, even if it is delivered again because a crash lost the record of the
 * first delivery. Messages that arrive together share a commit, so that one does not wait for all the others of a
 * broadcast.
 */
export function createCaptureMessage(world: World): (job: DeliveryJob, message: Buffer) => Promise<void> {
  const insert = world.commits.lane<CapturedRow, boolean>(async (tx, rows) => {
    const inserted = await insertCaptured(tx, rows);
    return rows.map(({ id }) => inserted.has(id));
  });
  const turns = createFairQueue<() => void>();
  let writing = 0;

  /** Writes the file of a message when it is its turn: teams take turns, and the bulk mail of a team comes last. */
  async function writeFile(id: string, { teamId, isBulk = false }: DeliveryJob, message: Buffer): Promise<void> {
    if (writing++ >= WRITES_AT_ONCE)
      await new Promise<void>((begin) => turns.push(begin, { tenant: teamId, isLater: isBulk }));
    try {
      await world.blobs.put(MESSAGE_BLOB(id), message);
    } finally {
      writing--;
      turns.shift()?.();
    }
  }

  return async (job, message) => {
    if (await isCaptured(world.db, job.id)) return;
    const id = world.ids.uuid();
    await writeFile(id, job, message);
    const row: CapturedRow = {
      id,
      email_id: job.emailId,
      delivery_id: job.id,
      team_id: job.teamId,
      mail_from: job.mailFrom,
      recipients: JSON.stringify(job.recipients),
      subject: await findSubject(world.db, job.emailId),
      size: message.length,
      created_at: world.clock.now(),
    };
    if (await insert(row)) announceCaptured(world.db, row);
    else await world.blobs.remove(id);
  };
}
