import { isSimulatorDomain } from '../../platform/config/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import { refuse, type Refusal } from '../../platform/refusal/index.ts';
import { isoTime } from '../../platform/clock/index.ts';
import { beyond, type Actor, type Ctx } from '../../tenancy/access/index.ts';
import type { DomainRow } from '../domains/index.ts';
import type { EmailDraft } from '../emails/index.ts';
import { countSends } from '../../features/identity/oauth/index.ts';

const DAY_MS = 24 * 3_600_000;

/** An app that may only send so much a day. */
export interface CountedGrant {
  id: string;
  max: number;
}

export const countedGrantOf = (actor: Actor): CountedGrant | undefined =>
  actor.kind === 'oauth_grant' && actor.limits.emailsPerDay !== null
    ? { id: actor.grantId, max: actor.limits.emailsPerDay }
    : undefined;

/** An app whose person lets it write to the team's own domains alone. */
export async function mustBeWithinRecipients(
  { actor, store }: Ctx,
  draft: EmailDraft,
  find: (name: string) => Promise<DomainRow | undefined>,
): Promise<void> {
  if (actor.kind !== 'oauth_grant' || actor.limits.recipients === 'any') return;
  for (const { address, domain: name } of draft.recipients) {
    if (isSimulatorDomain(store.config, name) || ((await find(name))?.verified_at ?? null) !== null) continue;
    const why = `it sends to the verified domains of the team and the simulator alone, and not to ${address}`;
    throw beyond('recipients', why);
  }
}

interface Item {
  grant?: CountedGrant | undefined;
  emails: readonly { recipients: number }[];
}

const recipientsIn = ({ emails }: Item): number => emails.reduce((sum, { recipients }) => sum + recipients, 0);

/**
 * Counts what apps send, and refuses what is more than a day has. Counted first and given back after, as quotas are: counting
 * locks the grant, so nodes that accept at the same time cannot exceed it together.
 */
export async function refuseBeyondGrants<One extends Item>(
  tx: Executor,
  items: readonly One[],
  now: number,
): Promise<Map<One, Refusal>> {
  const refusals = new Map<One, Refusal>();
  const day = Math.floor(now / DAY_MS);
  // In one order everywhere, as teams are.
  const groups = [...Map.groupBy(items, ({ grant }) => grant?.id)].sort(([a = ''], [b = '']) => (a < b ? -1 : 1));
  for (const [id, group] of groups) {
    if (id === undefined) continue;
    const count = group.reduce((sum, item) => sum + recipientsIn(item), 0);
    const before = (await countSends(tx, id, { day, count })) - count;
    let taken = 0;
    for (const item of group) {
      const wanted = recipientsIn(item);
      const max = item.grant?.max ?? 0;
      if (before + taken + wanted <= max) taken += wanted;
      else refusals.set(item, tooMany({ max, used: before + taken, wanted, until: (day + 1) * DAY_MS }));
    }
    if (taken < count) await countSends(tx, id, { day, count: taken - count });
  }
  return refusals;
}

/** For requests that were counted and are refused for another reason. */
export async function giveBack(tx: Executor, items: readonly Item[], now: number): Promise<void> {
  const day = Math.floor(now / DAY_MS);
  for (const item of items) {
    if (item.grant) await countSends(tx, item.grant.id, { day, count: -recipientsIn(item) });
  }
}

const tooMany = ({ max, used, wanted, until }: { max: number; used: number; wanted: number; until: number }): Refusal =>
  refuse('daily_quota_exceeded', {
    say: `This app is limited by emails_per_day of its grant: it may send to ${max} recipients a day, ${used} are used and this has ${wanted}. It may again from ${isoTime(until)}, or when the person who let it in, or an admin of the team, raises the limit.`,
  });
