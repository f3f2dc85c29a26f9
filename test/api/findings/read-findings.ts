import type { Scene } from '../../rig/scene.ts';
import type { Trouble } from '../../rig/trouble.ts';

export interface Told {
  code: string;
  severity: string;
  summary: string;
  count: number;
  subjects: string[];
  since: string | null;
  node: string | null;
  advice: { words: string; command: string | null };
}

export const NOTHING = { team: [], operator: [], ready: { status: 'ok', findings: [] } };

/** Returns calls for the findings of an installation. */
export function createAsked(trouble: () => Trouble) {
  const ofTeam = async (key = trouble().team.key): Promise<Told[]> =>
    (await trouble().scene.api('GET', '/findings', { key })).body.findings;
  const ofOperator = async (): Promise<Told[]> =>
    (await trouble().scene.api('GET', '/operator/findings', { key: trouble().token })).body.findings;
  const ready = async () => (await trouble().scene.api('GET', '/ready')).body;
  const now = (): string => new Date(trouble().scene.clock.now()).toISOString();
  /** Returns the findings of all three; in detail for a team and the operator. */
  const all = async () => ({ team: await ofTeam(), operator: await ofOperator(), ready: await ready() });
  return { ofTeam, ofOperator, ready, now, all };
}

/** Returns a row of the queue. */
export const deliveryRow = ({ app: { world } }: Scene, more: Record<string, string | number>) => ({
  id: world.ids.uuid(),
  email_id: world.ids.uuid(),
  team_id: world.ids.uuid(),
  domain_id: world.ids.uuid(),
  destination: 'late.example',
  recipients: '["x@late.example"]',
  region: 'eu-west-1',
  tls: 'opportunistic',
  attempt: 0,
  accepted_at: 0,
  ...more,
});
