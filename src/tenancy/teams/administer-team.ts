import { isPlan } from '../../platform/config/index.ts';
import { notFound, refuse } from '../../platform/refusal/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import type { Store } from '../../platform/store/index.ts';
import { lockTeam } from '../access/index.ts';
import { readAdminEmails } from './admin-emails.ts';
import { readTeamName } from './team-name.ts';
import {
  changeTeam,
  findNamedTeam,
  insertTeamPlan,
  type RiskState,
  type TeamColumns,
  type TeamRow,
} from './teams.store.ts';

export interface TeamChange {
  /** The slug stays: it stands in commands and notes. */
  name?: string | undefined;
  plan?: string | undefined;
  riskState?: RiskState | undefined;
  /** Replaces those named before. */
  adminEmails?: readonly string[] | undefined;
}

/** The operator's side of a team, found by its slug or its id. Holds for the team's very next request. */
export async function administerTeam(store: Store, slugOrId: string, input: TeamChange): Promise<TeamRow> {
  const change: TeamColumns = {};
  if (input.name !== undefined) change.name = readTeamName(input.name);
  if (input.plan !== undefined) change.plan_code = knownPlan(store, input.plan);
  if (input.riskState !== undefined) change.risk_state = input.riskState;
  if (input.adminEmails !== undefined) change.admin_emails = JSON.stringify(readAdminEmails(input.adminEmails));
  return store.db.tx(async (tx) => {
    const team = await findNamedTeam(tx, slugOrId);
    if (!team) throw notFound(`Team ${JSON.stringify(slugOrId)}`);
    const { plan_code: code, ...rest } = change;
    if (Object.keys(rest).length > 0) await changeTeam(tx, team.id, rest);
    if (code !== undefined) await changePlan(store, tx, team.id, code);
    return { ...team, ...change };
  });
}

/** Gives a team another plan from now on, and keeps since when: days of a month are charged by it. */
export async function changePlan(store: Store, tx: Executor, teamId: string, code: string): Promise<void> {
  if ((await lockTeam(tx, teamId)) === code) return;
  await changeTeam(tx, teamId, { plan_code: code });
  await insertTeamPlan(tx, { id: store.ids.uuid(), teamId, code, since: store.clock.now() });
}

export function knownPlan({ config }: Store, code: string): string {
  if (isPlan(config, code)) return code;
  const known = Object.keys(config.plans).join(', ');
  throw refuse('validation_error', {
    status: 422,
    say: `There is no plan ${JSON.stringify(code)} in the configuration; there are ${known}.`,
  });
}
