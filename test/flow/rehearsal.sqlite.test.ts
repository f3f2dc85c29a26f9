import { afterEach, expect, it } from 'vitest';
import { startRehearsal, type Rehearsal } from '../rig/rehearsal.ts';
import type { Team } from '../rig/scene.ts';

let rehearsal: Rehearsal | undefined;
afterEach(async () => {
  await rehearsal?.[Symbol.asyncDispose]();
  rehearsal = undefined;
});

it('mail of the app meets the receivers of a profile, and bounces and complaints come back to it', async () => {
  rehearsal = await startRehearsal({
    roles: ['http', 'delivery', 'receiving'],
    rehearsed: {
      providers: {
        provider: {
          hosts: ['mx1.provider.example', 'mx2.provider.example'],
          tls: 'required',
          greylist: { seconds: 30, reply: '450 4.2.0 Greylisted' },
          unknown: { local_parts: ['nobody'], reply: '550 5.1.1 Unknown' },
          bounce_later: {
            local_parts: ['gone'],
            after_minutes: [5, 5],
            status: '5.1.1',
            diagnostic: 'smtp; 550 5.1.1 <{recipient}> is gone',
          },
          complain_later: { local_parts: ['angry'], after_minutes: [5, 5] },
        },
      },
      domains: [{ name: 'provider.example', provider: 'provider', share: 1 }],
    },
  });
  const { scene, internet } = rehearsal;
  const team = await scene.team();
  const { name } = await team.domain();
  const ids = new Map<string, string>();
  for (const local of ['content', 'nobody', 'gone', 'angry']) {
    const body = { from: `news@${name}`, to: `${local}@provider.example`, subject: 'Hello', text: 'Hi' };
    ids.set(local, (await scene.api('POST', '/emails', { key: team.key, body })).body.id as string);
  }
  await scene.settled();
  expect(internet.seen.messages).toEqual([]);
  expect(await states(team, ids)).toMatchObject({ content: 'delivery_delayed', nobody: 'bounced' });
  scene.clock.advance(6 * 60_000);
  await scene.settled();
  expect(internet.seen.messages).toHaveLength(3);
  expect(internet.seen.messages.every(({ isSecure }) => isSecure)).toBe(true);
  scene.clock.advance(5 * 60_000);
  await internet.settled();
  expect(internet.seen.reports.map(({ state, reply }) => [state, reply?.slice(0, 3)])).toEqual([
    ['delivered', '250'],
    ['delivered', '250'],
  ]);
  expect(await states(team, ids)).toEqual({
    content: 'delivered',
    nobody: 'bounced',
    gone: 'bounced',
    angry: 'complained',
  });
  expect(internet.seen.duplicates()).toEqual([]);
});

async function states(team: Team, ids: ReadonlyMap<string, string>): Promise<Record<string, string>> {
  if (!rehearsal) throw new Error('no rehearsal runs');
  const found: Record<string, string> = {};
  for (const [local, id] of ids) found[local] = (await rehearsal.scene.account(team, id)).state;
  return found;
}
