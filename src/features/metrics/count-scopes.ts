import { domainScope, TEAM_SCOPE } from '../../mail/events/index.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { countsOfScopes, scopesBeginning } from './metrics.store.ts';
import type { Period } from './periods.ts';
import type { Asked } from './read-query.ts';
import { slotRangesOf } from './slots.ts';
import { createTally, type Subject, type Tally } from './tally.ts';

type Scoped = Pick<Asked, 'dimensions' | 'domainIds' | 'broadcastIds'>;

/** The least rows that hold what was asked: those of broadcasts, of domains, or of the team as a whole. */
export async function scopesFor(ctx: Ctx, { dimensions, domainIds, broadcastIds }: Scoped): Promise<string[]> {
  const { teamId } = ctx;
  const beginning = (prefix: string): Promise<string[]> => scopesBeginning(ctx.store.db, teamId, prefix);
  if (broadcastIds || dimensions.includes('broadcast')) {
    const prefixes = broadcastIds?.map((id) => `b:${id}:`) ?? ['b:'];
    const scopes = (await Promise.all(prefixes.map(beginning))).flat();
    return scopes.filter((scope) => domainIds?.includes(subjectOf(scope).domainId ?? '') ?? true);
  }
  if (domainIds) return domainIds.map(domainScope);
  return dimensions.includes('domain') ? beginning('d:') : [TEAM_SCOPE];
}

/** Adds up scopes by period, and by those of their ids that are dimensions. */
export async function countScopes(
  ctx: Ctx,
  scopes: readonly string[],
  dimensions: Asked['dimensions'],
  periods: readonly Pick<Period, 'from' | 'until'>[],
): Promise<Tally> {
  const tally = createTally();
  if (scopes.length === 0) return tally;
  const rows = await countsOfScopes(ctx.store.db, ctx.teamId, scopes, slotRangesOf(periods));
  for (const row of rows) {
    const { domainId, broadcastId } = subjectOf(row.scope);
    const subject: Subject = {
      domainId: dimensions.includes('domain') ? domainId : undefined,
      broadcastId: dimensions.includes('broadcast') ? broadcastId : undefined,
    };
    tally.add(subject, row.period, row.counts);
  }
  return tally;
}

function subjectOf(scope: string): Subject {
  const [kind, first, second] = scope.split(':');
  if (kind === 'd') return { domainId: first };
  return kind === 'b' ? { broadcastId: first, domainId: second } : {};
}
