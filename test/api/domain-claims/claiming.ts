import { publish, type Scene, type Team } from '../../rig/scene.ts';
import type { AnyBody } from '../../rig/api.ts';

export const HOUR_MS = 3_600_000;
export const MINUTE_MS = 60_000;

let made = 0;
export const newName = (): string => `c${++made}-${Math.random().toString(36).slice(2, 8)}.example.com`;

/** Returns calls that the tests of claims share. */
export function createClaiming(scene: () => Scene) {
  const api = scene;
  const claim = (team: Team, name: string, more: object = {}) =>
    api().api('POST', '/domains/claim', { key: team.key, body: { name, ...more } });
  const read = async (team: Team, claimed: { domain_id: string }): Promise<AnyBody> =>
    (await api().api('GET', `/domains/${claimed.domain_id}/claim`, { key: team.key })).body;
  const verify = (team: Team, claimed: { domain_id: string }) =>
    api().api('POST', `/domains/${claimed.domain_id}/claim/verify`, { key: team.key });
  const fetchDomain = async (team: Team, id: string): Promise<AnyBody> =>
    (await api().api('GET', `/domains/${id}`, { key: team.key })).body;
  return {
    claim,
    read,
    verify,
    domainOf: fetchDomain,
    /** Publishes the proof in DNS, alongside anything else at the name. */
    prove(...claims: { record: { name: string; value: string } }[]): void {
      const [first] = claims;
      if (first)
        scene().dns.set(first.record.name, 'TXT', ['v=spf1 -all', ...claims.map(({ record }) => record.value)]);
    },
    publishDomain: async (team: Team, id: string): Promise<void> => publish(scene().dns, await fetchDomain(team, id)),
    recheck: () =>
      scene()
        .app.jobs.find((job) => job.name === 'recheck-claims')
        ?.run(),
    sweep: () =>
      scene()
        .app.jobs.find((job) => job.name === 'sweep-domains')
        ?.run(),
    send: (team: Team, name: string, more: object = {}) =>
      scene().api('POST', '/emails', {
        key: team.key,
        body: { from: `a@${name}`, to: 'x@example.org', subject: 'Hello', text: 'Hello', ...more },
      }),
    /** Creates a name that one team verified long enough ago, and the open claim of another team. */
    async claimed(name = newName()) {
      const owner = await scene().team();
      const claimant = await scene().team();
      const held = await owner.domain(name);
      scene().clock.advance(72 * HOUR_MS);
      const { body } = await claim(claimant, name);
      return { owner, claimant, name, held, opened: body as AnyBody };
    },
  };
}
