import { beforeEach, describe, expect, test } from 'vitest';
import type { Team } from '../../rig/scene.ts';
import { useOffice } from './office.ts';

const office = useOffice();
const { runJob } = office;

// The name has no MX yet.
beforeEach(() => office.scene.dns.set(`send.${office.host}`, 'MX', []));

const create = async (team: Team, body: object) =>
  (await office.scene.api('POST', '/domains', { key: team.key, body })).body as { id: string; records: object[] };
const configure = async (team: Team, id: string, body = {}) =>
  (await office.scene.api('POST', `/domains/${id}/dns/configure`, { key: team.key, body })).body;
const remove = async (team: Team, id: string) => {
  await office.scene.api('DELETE', `/domains/${id}`, { key: team.key });
  await runJob();
};
const mx = (): string[] =>
  office.server.lines().filter((line) => line.startsWith(`send.${office.host}. `) && line.includes(' MX '));

describe.each([
  ['of one team', false],
  ['of two teams', true],
])('the MX record of a return path, and of a domain of its name that receives, %s', (_, isForeign) => {
  /** The upper domain wants it for its return path, the lower because it receives. */
  async function both(first: 'upper' | 'lower') {
    const team = await office.scene.team();
    const other = isForeign ? await office.scene.team() : team;
    const upper = { team, ...(await create(team, { name: office.host })) };
    const receiving = { capabilities: { receiving: 'enabled' } };
    const lower = { team: other, ...(await create(other, { name: `send.${office.host}`, ...receiving })) };
    const order = first === 'upper' ? [upper, lower] : [lower, upper];
    for (const { id, team: owner } of order) expect(await configure(owner, id)).toHaveProperty('changes');
    expect(mx()).toHaveLength(1);
    return { upper, lower };
  }

  test.each(['upper', 'lower'] as const)(
    'stays until neither domain wants it when the %s one published it',
    async (first) => {
      for (const leaving of ['upper', 'lower'] as const) {
        const domains = await both(first);
        const staying = leaving === 'upper' ? domains.lower : domains.upper;
        await remove(domains[leaving].team, domains[leaving].id);
        expect(mx()).toHaveLength(1);
        expect((await configure(staying.team, staying.id, { dry_run: true })).changes).toEqual([]);
        await remove(staying.team, staying.id);
        expect(office.server.lines()).toEqual([]);
      }
    },
  );

  test('stays for the other domain when the records of one are removed', async () => {
    const { upper, lower } = await both('lower');
    await configure(lower.team, lower.id, { remove: true });
    expect(mx()).toHaveLength(1);
    await configure(upper.team, upper.id, { remove: true });
    expect(office.server.lines()).toEqual([]);
  });
});

test('a domain that nobody has verified or published keeps no record of another domain', async () => {
  const team = await office.scene.team();
  const other = await office.scene.team();
  const { id } = await create(team, { name: office.host });
  await configure(team, id);
  expect(await create(other, { name: `send.${office.host}`, capabilities: { receiving: 'enabled' } })).toHaveProperty(
    'id',
  );
  await remove(team, id);
  expect(office.server.lines()).toEqual([]);
});
