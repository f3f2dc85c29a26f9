import { isoTime } from '../../platform/clock.ts';
import type { Executor } from '../../platform/db/index.ts';
import { notFound, refuse } from '../../platform/refusal.ts';
import type { Store } from '../../platform/store.ts';
import { cancelDeletion, findDeletion, hastenDeletion, insertDeletion, type DeletionRow } from './deletions.store.ts';
import { changeTeam, findNamedTeam, type TeamRow } from './teams.store.ts';

const DAY_MS = 24 * 3_600_000;

export interface DeletionRequest {
  team: string;
  reason: string;
  /** The account on the machine that asks for it. */
  requestedBy: string | null;
  /** Ends the grace period, also of a deletion that was requested before. */
  isNow: boolean;
}

/**
 * Suspends a team at once, and lets it be deleted after the grace period. Its data is removed by the service, or by
 * `removeTeam` of features/customers.
 */
export async function requestDeletion(
  store: Store,
  { team: name, reason, requestedBy, isNow }: DeletionRequest,
): Promise<{ team: TeamRow; deletion: DeletionRow }> {
  const now = store.clock.now();
  const dueAt = isNow ? now : now + store.config.team.deletion_grace_days * DAY_MS;
  return store.db.tx(async (tx) => {
    const team = await findNamedTeam(tx, name);
    if (!team) throw notFound(`Team ${JSON.stringify(name)}`);
    const isNew = await insertDeletion(tx, {
      team_id: team.id,
      reason,
      requested_by: requestedBy,
      risk_state: team.risk_state,
      risk_reason: team.risk_reason,
      requested_at: now,
      due_at: dueAt,
      removed: '{}',
    });
    if (isNew === 0 && !isNow) await mustNotBeDeleted(tx, team);
    if (isNew === 0) await hastenDeletion(tx, team.id, { dueAt: now, reason });
    else await changeTeam(tx, team.id, { risk_state: 'suspended', risk_reason: reason });
    const deletion = await findDeletion(tx, team.id);
    if (!deletion) throw new Error('row of team_deletions missing after insert');
    return { team, deletion };
  });
}

/** Reports whether a deletion can still be taken back. */
export const isKeepable = ({ started_at: startedAt }: DeletionRow): boolean => startedAt === null;

/** Takes a deletion back within its grace period. The team has the state again that it had before. */
export async function keepTeam(store: Store, name: string): Promise<TeamRow> {
  return store.db.tx(async (tx) => {
    const team = await findNamedTeam(tx, name);
    if (!team) throw notFound(`Team ${JSON.stringify(name)}`);
    const deletion = await findDeletion(tx, team.id);
    if (!deletion) throw refuse('validation_error', { status: 422, say: `${team.name} is not to be deleted.` });
    if (!(await cancelDeletion(tx, team.id))) {
      throw refuse('validation_error', {
        status: 422,
        say: `The data of ${team.name} is being removed since ${isoTime(deletion.started_at ?? deletion.due_at)}; restore a backup to get it back.`,
      });
    }
    const { risk_state, risk_reason } = deletion;
    await changeTeam(tx, team.id, { risk_state, risk_reason });
    return { ...team, risk_state, risk_reason };
  });
}

/** Refuses a change of state of a team that is to be deleted. */
export async function mustNotBeDeleted(tx: Executor, team: TeamRow): Promise<void> {
  const deletion = await findDeletion(tx, team.id);
  if (!deletion) return;
  const next = isKeepable(deletion) ? ` To keep it, run: rasket teams keep ${team.slug}` : ' It can no longer be kept.';
  throw refuse('validation_error', {
    status: 422,
    say: `${team.name} is to be deleted on ${isoTime(deletion.due_at)}.${next}`,
  });
}
