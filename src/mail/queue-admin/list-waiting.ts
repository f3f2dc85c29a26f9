import { isoTime } from '../../platform/clock/index.ts';
import { mustBeAlone, type Page } from '../../platform/db/index.ts';
import type { Store } from '../../platform/store/index.ts';
import { emailRowsByIds, emailSizes } from '../emails/index.ts';
import { slugsOf, suspendedTeams } from '../../tenancy/teams/index.ts';
import { holdsOnMail, waitingPage, type WaitingFilter, type WaitingRow } from '../queue/index.ts';
import { lastAttempts } from './last-attempts.ts';
import { asStored } from './selection.ts';
import { shownSubject } from './shown-subject.ts';

const HAS_NO_TIME: ReadonlySet<WaitingRow['state']> = new Set(['held', 'team_suspended', 'under_way']);

export async function listWaiting(store: Store, filter: WaitingFilter, page: Page) {
  const { db, clock } = store;
  const { destination, team_id: team, email_id: email, state, id_end: end } = filter;
  if (end !== undefined) mustBeAlone(filter);
  const narrowed = {
    ...{ destination: destination === undefined ? undefined : asStored(destination), state },
    ...{ team_id: team?.toLowerCase(), email_id: email?.toLowerCase(), id_end: end },
  };
  const moment = { now: clock.now(), suspendedTeams: await suspendedTeams(db) };
  const { rows, hasMore } = await waitingPage(db, narrowed, { ...moment, page });
  const last = await lastAttempts(db, rows);
  const broadcastIds = [...new Set(rows.flatMap((row) => row.broadcast_id ?? []))];
  const reasons = new Map((await holdsOnMail(db, broadcastIds)).map(({ id, reason }) => [id, reason]));
  const about = await aboutEmails(store, rows);
  const present = (row: WaitingRow) => ({
    id: row.id,
    email_id: row.email_id,
    team_id: row.team_id,
    ...about(row),
    destination: row.destination,
    recipients: JSON.parse(row.recipients) as string[],
    state: row.state,
    attempts: row.attempt,
    since: isoTime(row.accepted_at),
    until: HAS_NO_TIME.has(row.state) ? null : isoTime(row.due_at),
    hold_id: row.hold_id,
    hold_reason: reasons.get(row.hold_id ?? '') ?? null,
    last_attempt: last(row),
  });
  return { object: 'list' as const, has_more: hasMore, data: rows.map(present) };
}

/** What the queue's own rows do not say of their emails. */
async function aboutEmails(store: Store, rows: readonly WaitingRow[]) {
  const ids = [...new Set(rows.map((row) => row.email_id))];
  const emails = new Map((await emailRowsByIds(store.db, ids)).map((email) => [email.id, email]));
  const sizes = await emailSizes(store, ids);
  const slugs = await slugsOf(store.db, [...new Set(rows.map((row) => row.team_id))]);
  return ({ email_id: id, team_id: team }: WaitingRow) => {
    const email = emails.get(id);
    return {
      team: slugs.get(team) ?? '',
      from: email?.sender ?? '',
      ...shownSubject(store, email?.subject ?? ''),
      size: sizes.get(id) ?? 0,
    };
  };
}
