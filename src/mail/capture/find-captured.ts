import type { Executor, Page } from '../../platform/db/index.ts';
import { refuse } from '../../platform/refusal/index.ts';
import type { World } from '../../platform/world/index.ts';
import { walkCaptured, type CapturedRow } from './captured-messages.store.ts';
import { waitForCapture } from './capture-waits.ts';

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

/** Rows that are read at a time while those that fit are looked for. */
const STEP = 500;

/**
 * Returns a page of the messages that fit, newest first. With `waitMs` it waits for one where there is none, without
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
      say: 'Give only one of wait and after: wait is for new messages, and after pages to older ones.',
    });
  }
  const fits = createFits(filter);
  // Begun before the first look, so that no message falls between the two.
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

/** Letter case is folded here and not in SQL: SQLite folds ASCII alone. */
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
