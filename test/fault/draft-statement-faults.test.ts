// a draft that is sent --> fails at each of its statements and commits in turn --> is sent again: it is one mail
import { expect, it } from 'vitest';
import { breakable } from '../rig/breakable.ts';
import { writingInbox } from '../rig/inbox.ts';
import { startScene, type Scene } from '../rig/scene.ts';

// A fault is planted at every statement and after every commit. A kill between two commits is met by chance; here each is met.
it('a draft survives a lost connection at any statement, also after a commit, and sending it again sends one email', async () => {
  // Without the delivery role every statement is the call's own, so counting them is exact.
  await using scene = await startScene({ roles: ['http'] });
  const { call } = await writingInbox(scene, await scene.team());
  const { failAt, steps } = breakable(scene.app.world, 'ECONNRESET', { isAnswerLost: true });
  let isReached = true;
  let refused = 0;
  for (let n = 1; isReached; n++) {
    const body = { to: `customer${n}@one.example`, subject: `Number ${n}`, text: 'It is on its way.' };
    const { id } = (await call('POST', '/drafts', { body })).body;
    const before = await counts(scene);
    const send = () => call('POST', `/drafts/${id}/send`);
    failAt(n);
    const first = await send();
    isReached = steps() >= n;
    failAt(undefined);
    await scene.app.world.commits.settled();
    if (first.status !== 200) {
      expect(first).toMatchObject({ status: 503, body: { name: 'service_unavailable' } });
      refused++;
    }
    const second = await send();
    expect([n, second.status, second.text]).toEqual([n, 200, (await send()).text]);
    if (first.status === 200) expect(second.text).toBe(first.text);
    expect((await call('GET', `/drafts/${id}`)).body.email_id).toBe(second.body.id);
    const grown = (await counts(scene)).map((now, i) => now - (before[i] ?? 0));
    expect([n, grown]).toEqual([n, [1, 1, 1]]);
    expect(n).toBeLessThan(100);
  }
  expect(refused).toBeGreaterThan(5);
}, 120_000);

function counts({ app: { world } }: Scene): Promise<number[]> {
  const queries = [
    'select count(*) as n from emails',
    'select count(*) as n from deliveries',
    'select count(*) as n from inbox_threads',
  ];
  return Promise.all(queries.map(async (sql) => Number((await world.db.get<{ n: number }>(sql))?.n)));
}
