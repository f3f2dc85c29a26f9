import type { Executor } from '../../../platform/db/index.ts';
import { isoTime } from '../../../platform/clock.ts';
import type { Store } from '../../../platform/store.ts';
import { forgetExaminations } from './examinations.store.ts';
import { findSeverity, type Finding, type FindingCode } from '../../../platform/finding.ts';
import { presentFinding } from './findings-report.ts';
import * as store from './notices.store.ts';

/** One subject of a finding, as it was reported. */
interface Reported {
  code: FindingCode;
  node: string | null;
  subject: string | null;
  summary: string;
  /** Times within the last hour at which it was reported as a problem or as resolved. */
  changes?: number[];
  /** It was reported as resolved, and is kept for `changes`. */
  isMended?: boolean;
}

export interface Changes {
  /** Findings with a new subject. */
  appeared: readonly Finding[];
  /** Findings that were reported before and are resolved. */
  mended: readonly Reported[];
  /** Last changes to be reported for now, because the same finding has come and gone too often. */
  flapping: readonly Reported[];
}

export type Notice = store.NoticeRow;

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/**
 * Minutes after which a failed notice is tried again, and then no more: the next change reports everything that is
 * wrong anyway.
 */
const RETRY_MINUTES = [1, 5, 30, 120];
/** Longer than any try may take. */
const BEGUN_MS = 10 * MINUTE_MS;
const KEPT_MS = 30 * DAY_MS;

const toKey = ({ code, node, subject }: Reported): string => `${code} ${node ?? ''} ${subject ?? ''}`;

const splitBySubject = ({ code, node, subjects, summary }: Finding): Reported[] =>
  (subjects.length === 0 ? [null] : subjects).map((subject) => ({ code, node, subject, summary }));

/**
 * Compares the findings with those reported last, and queues notices of the difference, once, in the same transaction.
 * A finding that has come and gone too often within the hour keeps its reported state, until a later comparison may
 * report it.
 */
export async function noteChanges(ctx: Store, findings: readonly Finding[]): Promise<Changes> {
  const { clock, config, db } = ctx;
  const at = clock.now();
  return db.tx(async (tx) => {
    const { version, findings: text } = await store.findLastReported(tx);
    const { changed, told } = compare(JSON.parse(text) as Reported[], findings.flatMap(splitBySubject), {
      at,
      changesMax: config.doctor.changes_per_hour,
    });
    const keys = new Set(changed.filter(({ isMended }) => !isMended).map(toKey));
    const changes: Changes = {
      appeared: findings.filter((finding) => splitBySubject(finding).some((one) => keys.has(toKey(one)))),
      mended: changed.filter(({ isMended }) => isMended).map(plain),
      flapping: changed.filter((one) => one.changes?.length === config.doctor.changes_per_hour).map(plain),
    };
    const nothing: Changes = { appeared: [], mended: [], flapping: [] };
    if (changed.length === 0) return nothing;
    const isOurs = await store.saveReported(tx, { version: version + 1, findings: JSON.stringify(told) }, at);
    if (!isOurs) return nothing;
    await store.insertNotices(tx, buildNotices(ctx, at, formatBody(ctx, at, { ...changes, findings })));
    return changes;
  });
}

const plain = ({ code, node, subject, summary }: Reported): Reported => ({ code, node, subject, summary });

/** Returns the changes to report, and the state that will then have been reported. */
function compare(
  before: readonly Reported[],
  now: readonly Reported[],
  { at, changesMax }: { at: number; changesMax: number },
): { changed: Reported[]; told: Reported[] } {
  const last = new Map(before.map((one) => [toKey(one), one]));
  const present = new Map(now.map((one) => [toKey(one), one]));
  const changed: Reported[] = [];
  const told: Reported[] = [];
  for (const [key, one] of new Map([...last, ...present])) {
    const known = last.get(key);
    const changes = (known?.changes ?? []).filter((time) => time > at - HOUR_MS);
    const wasMended = known === undefined || known.isMended === true;
    const isMended = !present.has(key);
    const isChange = wasMended !== isMended && changes.length < changesMax;
    const next = { ...plain(one), isMended: isChange ? isMended : wasMended };
    const entry = { ...next, changes: isChange ? [...changes, at] : changes };
    if (isChange) changed.push(entry);
    if (!entry.isMended || entry.changes.length > 0) told.push(entry);
  }
  return { changed, told };
}

function formatBody(
  { config }: Store,
  at: number,
  said: Pick<Changes, 'appeared' | 'mended'> & { findings: readonly Finding[] },
): string {
  return JSON.stringify({
    type: 'findings.changed',
    created_at: isoTime(at),
    data: {
      host: config.instance.host,
      appeared: said.appeared.map(presentFinding),
      mended: said.mended.map((one) => ({ ...one, severity: findSeverity(one) })),
      findings: said.findings.map(presentFinding),
    },
  });
}

function buildNotices({ config, ids }: Store, at: number, body: string): Omit<Notice, 'attempts'>[] {
  const { notify_command: command, notify_url: url } = config.doctor;
  const channels = [...(command.length > 0 ? ['command' as const] : []), ...(url === '' ? [] : ['url' as const])];
  return channels.map((channel) => ({ id: ids.uuid(), channel, body, created_at: at }));
}

/** Returns the notices of findings for the configured channels, if the database cannot store them. */
export function noticesAbout(ctx: Store, findings: readonly Finding[]): Notice[] {
  const at = ctx.clock.now();
  const body = formatBody(ctx, at, { appeared: findings, mended: [], findings });
  return buildNotices(ctx, at, body).map((notice) => ({ ...notice, attempts: 1 }));
}

/** Begins the next due notice. A process that ends from here on may have sent it or not, and it is not sent again. */
export async function beginNotice({ clock, db }: Store): Promise<Notice | undefined> {
  for (;;) {
    const due = await store.dueNotice(db, clock.now());
    if (!due) return undefined;
    const begun = { ...due, attempts: due.attempts + 1 };
    const isOurs = await db.tx((tx) => store.moveNotice(tx, begun, { from: 'waiting', to: 'begun', at: clock.now() }));
    if (isOurs) return begun;
  }
}

/** Records the result of a try; returns when the next one is, or null if there is none. */
export async function endNotice({ clock, db }: Store, notice: Notice, isTold: boolean): Promise<number | null> {
  const minutes = isTold ? undefined : RETRY_MINUTES[notice.attempts - 1];
  const at = clock.now() + (minutes ?? 0) * MINUTE_MS;
  const to = isTold ? 'told' : minutes === undefined ? 'failed' : 'waiting';
  await db.tx((tx) => store.moveNotice(tx, notice, { from: 'begun', to, at }));
  return minutes === undefined ? null : at;
}

/** Gives up and returns notices that were begun and never ended, and removes old ones. */
export async function forgetOldNotices({ clock, db }: Store): Promise<Notice[]> {
  const now = clock.now();
  const abandoned = await store.abandonedNotices(db, now - BEGUN_MS);
  for (const notice of abandoned)
    await db.tx((tx) => store.moveNotice(tx, notice, { from: 'begun', to: 'failed', at: now }));
  await store.removeNoticesBefore(db, now - KEPT_MS);
  return abandoned;
}

/**
 * Clears notices and examinations in a copy: it must not send the notices of the original, and runs on another machine.
 */
export async function forgetWaitingNotices(tx: Executor): Promise<void> {
  await store.removeWaitingNotices(tx);
  await store.forgetReported(tx);
  await forgetExaminations(tx);
}
