import type { TeamObject } from '../../../src/contract/index.ts';
import { formatPairs, type Terminal } from '../../output/index.ts';

export function describeTeam(terminal: Terminal, team: TeamObject): string {
  const { limits } = team.plan;
  const { sender_name: sender, postal_address: address } = team.sender_identity;
  const daily = limits.daily_cap === null ? '' : `, ${limits.daily_cap} a day`;
  return formatPairs(terminal, [
    ['Id', team.id],
    ['Name', team.name],
    ['Slug', team.slug],
    ['State', team.risk_state],
    ['Plan', `${team.plan.name} (${team.plan.code})`],
    ['Emails', `${limits.included_emails} a month${daily}`],
    ['Domains', `${limits.domain_limit}`],
    ['Kept for', `${limits.retention_days} days`],
    ['Sender', sender],
    ['Address', address && postalLine(address)],
    ['AI helpers', team.ai_assist_enabled ? 'on' : 'off'],
    ['In sandbox', team.sending.sandbox_regions.join(', ')],
    ['Created', team.created_at],
  ]);
}

type Address = NonNullable<TeamObject['sender_identity']['postal_address']>;

const postalLine = ({ line1, line2, city, state, postal_code: code, country }: Address): string =>
  [line1, line2, city, state, code, country].filter((part) => part !== null).join(', ');
