import type { PostalAddress, TeamObject } from '../../contract/index.ts';
import { planNamed, type Config } from '../../platform/config/index.ts';
import type { TeamRow } from './teams.store.ts';

export function presentTeam(config: Config, row: TeamRow): TeamObject {
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
    sso: null,
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
