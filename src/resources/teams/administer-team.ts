import { isPlan } from '../../platform/config/index.ts';
import { notFound, refuse } from '../../platform/refusal/index.ts';
import type { Store } from '../../platform/store/index.ts';
import { readAdminEmails } from './admin-emails.ts';
import { readTeamName } from './team-name.ts';
import { changeTeam, findNamedTeam, type RiskState, type TeamColumns, type TeamRow } from './teams.store.ts';

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
  const team = await findNamedTeam(store.db, slugOrId);
  if (!team) throw notFound(`Team ${JSON.stringify(slugOrId)}`);
  if (Object.keys(change).length > 0) await changeTeam(store.db, team.id, change);
  return { ...team, ...change };
}

function knownPlan({ config }: Store, code: string): string {
  if (isPlan(config, code)) return code;
  const known = Object.keys(config.plans).join(', ');
  throw refuse('validation_error', {
    status: 422,
    say: `There is no plan ${JSON.stringify(code)} in the configuration; there are ${known}.`,
  });
}
