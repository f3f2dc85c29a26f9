import type { PostalAddress, TeamObject } from '../../contract/index.ts';
import { planNamed, type Config } from '../../platform/config/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import type { Store } from '../../platform/store/index.ts';
import { connectionsOf, provenDomainsOf, statusOf } from '../sso-rows/index.ts';
import type { TeamRow } from './teams.store.ts';

/** In their order. */
export async function presentTeams({ config, db }: Presenting, rows: readonly TeamRow[]): Promise<TeamObject[]> {
  const sso = await ssoOf(
    db,
    rows.map(({ id }) => id),
  );
  return rows.map((row) => present(config, row, sso.get(row.id) ?? null));
}

export async function presentTeam(store: Presenting, row: TeamRow): Promise<TeamObject> {
  const [team] = await presentTeams(store, [row]);
  if (!team) throw new Error('each team is presented');
  return team;
}

/** The database may be a transaction. */
type Presenting = Pick<Store, 'config'> & { db: Executor };

async function ssoOf(db: Executor, teamIds: readonly string[]): Promise<Map<string, TeamObject['sso']>> {
  const connections = await connectionsOf(db, teamIds);
  if (connections.length === 0) return new Map();
  const proven = await provenDomainsOf(
    db,
    connections.map(({ team_id: id }) => id),
  );
  return new Map(
    connections.map((row) => {
      const domains = proven.filter(({ team_id: id }) => id === row.team_id).map(({ domain }) => domain);
      const { issuer, client_id } = row;
      const sso = { status: statusOf(row, domains.length), issuer, client_id, enforced: row.enforced === 1, domains };
      return [row.team_id, sso];
    }),
  );
}

function present(config: Config, row: TeamRow, sso: TeamObject['sso']): TeamObject {
  return {
    object: 'team',
    id: row.id,
    name: row.name,
    slug: row.slug,
    risk_state: row.risk_state,
    created_at: new Date(row.created_at).toISOString(),
    plan: presentPlan(config, row.plan_code),
    sender_identity: {
      sender_name: row.sender_name,
      postal_address: row.postal_address === null ? null : (JSON.parse(row.postal_address) as PostalAddress),
    },
    ai_assist_enabled: row.ai_assist_enabled === 1,
    sso,
    sending: {
      sandbox_regions: Object.keys(config.regions).filter((name) => config.regions[name]?.sandbox),
    },
  };
}

/** A plan that is not in the config is shown as what it counts as. */
function presentPlan(config: Config, planCode: string): TeamObject['plan'] {
  const { code, plan } = planNamed(config, planCode);
  return {
    code,
    name: plan.name,
    limits: {
      included_emails: plan.included_emails,
      daily_cap: plan.daily_cap,
      domain_limit: plan.domain_limit,
      webhook_endpoint_limit: plan.webhook_endpoint_limit,
      contact_limit: plan.contact_limit,
      retention_days: plan.retention_days,
    },
  };
}
