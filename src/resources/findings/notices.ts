import type { Executor } from '../../platform/db/index.ts';
import { isoTime } from '../../platform/clock/index.ts';
import type { Store } from '../../platform/store/index.ts';
import { forgetExaminations } from './examinations.store.ts';
import { severityOf, type Finding, type FindingCode } from './finding.ts';
import { presentFinding } from './look.ts';
import * as store from './notices.store.ts';

/** One thing of a finding, as it was told. */
interface Told {
  code: FindingCode;
  node: string | null;
  subject: string | null;
  summary: string;
}

export interface Changes {
  /** Findings that are about something new. */
  appeared: readonly Finding[];
  /** What was told before and is not so any more. */
  mended: readonly Told[];
}

export type Notice = store.NoticeRow;

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
/** What fails is tried again after these minutes, and then no more: the next change tells all that is wrong anyway. */
const RETRY_MINUTES = [1, 5, 30, 120];
/** Longer than any try may take. */
const BEGUN_MS = 10 * MINUTE_MS;
const KEPT_MS = 30 * DAY_MS;

const keyOf = ({ code, node, subject }: Told): string => `${code} ${node ?? ''} ${subject ?? ''}`;

const toldOf = ({ code, node, subjects, summary }: Finding): Told[] =>
  (subjects.length === 0 ? [null] : subjects).map((subject) => ({ code, node, subject, summary }));

/** Compares with what was told last, and has the difference told, once, in the same transaction. */
export async function noteChanges(ctx: Store, findings: readonly Finding[]): Promise<Changes> {
  const { clock, db } = ctx;
  const at = clock.now();
  const now = findings.flatMap(toldOf);
  const nothing: Changes = { appeared: [], mended: [] };
  return db.tx(async (tx) => {
    const { version, findings: text } = await store.lastTold(tx);
    const before = JSON.parse(text) as Told[];
    const known = new Set(before.map(keyOf));
    const present = new Set(now.map(keyOf));
    const appeared = findings.filter((finding) => toldOf(finding).some((one) => !known.has(keyOf(one))));
    const mended = before.filter((one) => !present.has(keyOf(one)));
    if (appeared.length + mended.length === 0) return nothing;
    const isOurs = await store.putTold(tx, { version: version + 1, findings: JSON.stringify(now) }, at);
    if (!isOurs) return nothing;
    await store.insertNotices(tx, noticesOf(ctx, at, bodyOf(ctx, at, { appeared, mended, findings })));
    return { appeared, mended };
  });
}

function bodyOf({ config }: Store, at: number, said: Changes & { findings: readonly Finding[] }): string {
  return JSON.stringify({
    type: 'findings.changed',
    created_at: isoTime(at),
    data: {
      host: config.instance.host,
      appeared: said.appeared.map(presentFinding),
      mended: said.mended.map((one) => ({ ...one, severity: severityOf(one.code) })),
      findings: said.findings.map(presentFinding),
    },
  });
}

function noticesOf({ config, ids }: Store, at: number, body: string): Omit<Notice, 'attempts'>[] {
  const { notify_command: command, notify_url: url } = config.doctor;
  const channels = [...(command.length > 0 ? ['command' as const] : []), ...(url === '' ? [] : ['url' as const])];
  return channels.map((channel) => ({ id: ids.uuid(), channel, body, created_at: at }));
}

/** The next notice that is due, as begun: a process that ends from here on may have told it or not, and it is not told again. */
export async function beginNotice({ clock, db }: Store): Promise<Notice | undefined> {
  for (;;) {
    const due = await store.dueNotice(db, clock.now());
    if (!due) return undefined;
    const begun = { ...due, attempts: due.attempts + 1 };
    const isOurs = await db.tx((tx) => store.moveNotice(tx, begun, { from: 'waiting', to: 'begun', at: clock.now() }));
    if (isOurs) return begun;
  }
}

/** Answers when it is tried again; null where it is not. */
export async function endNotice({ clock, db }: Store, notice: Notice, isTold: boolean): Promise<number | null> {
  const minutes = isTold ? undefined : RETRY_MINUTES[notice.attempts - 1];
  const at = clock.now() + (minutes ?? 0) * MINUTE_MS;
  const to = isTold ? 'told' : minutes === undefined ? 'failed' : 'waiting';
  await db.tx((tx) => store.moveNotice(tx, notice, { from: 'begun', to, at }));
  return minutes === undefined ? null : at;
}

/** Gives up what was begun and never ended, which is answered, and forgets what is old. */
export async function forgetOldNotices({ clock, db }: Store): Promise<Notice[]> {
  const now = clock.now();
  const abandoned = await store.abandonedNotices(db, now - BEGUN_MS);
  for (const notice of abandoned)
    await db.tx((tx) => store.moveNotice(tx, notice, { from: 'begun', to: 'failed', at: now }));
  await store.removeNoticesBefore(db, now - KEPT_MS);
  return abandoned;
}

/** A copy of an installation tells nothing that the original has told, and stands on another machine. */
export async function forgetWaitingNotices(tx: Executor): Promise<void> {
  await store.removeWaitingNotices(tx);
  await store.forgetTold(tx);
  await forgetExaminations(tx);
}
