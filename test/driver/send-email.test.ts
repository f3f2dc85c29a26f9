import { describe, expect, it } from 'vitest';
import { startScene } from '../rig/scene.ts';
import { isSqlite3Missing } from './sqlite3-installed.ts';

// skipped because the native sqlite3 module could not be built here; RASKET_TEST_PEERS=required insists on it.
describe.skipIf(isSqlite3Missing())('the server with the sqlite3 driver', () => {
  it('accepts mail, delivers it, and has everything after a restart', async () => {
    await using scene = await startScene();
    expect(scene.app.world.config.database.driver).toBe('sqlite3');
    const team = await scene.team();
    const domain = await team.domain();
    const send = (n: number) =>
      scene.api('POST', '/emails', {
        key: team.key,
        body: {
          from: `a@${domain.name}`,
          to: [`x${n}@example.org`, `permfail@bounce${n}.example`],
          subject: `Hello ${n}`,
          text: 'x'.repeat(n * 5000),
        },
      });
    const answers = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(send));
    expect(answers.map((answer) => answer.status)).toEqual(Array(8).fill(200));
    await scene.settled();
    const delivered = scene.sink.messages.flatMap((message) => message.rcptTo).sort();
    expect(delivered).toEqual([1, 2, 3, 4, 5, 6, 7, 8].map((n) => `x${n}@example.org`));
    await scene.restart();
    for (const { body } of answers) {
      const account = await scene.account(team, body.id);
      expect(account.state).toBe('bounced');
      expect(account.events.toSorted()).toEqual(['email.bounced', 'email.delivered', 'email.queued', 'email.sent']);
    }
    const { body } = await scene.api('GET', '/suppressions?origin=bounce', { key: team.key });
    expect(body.data).toHaveLength(8);
  });

  it('allows one verification a minute, also among concurrent requests', async () => {
    await using scene = await startScene();
    const team = await scene.team();
    const { body } = await scene.api('POST', '/domains', { key: team.key, body: { name: 'race.example.com' } });
    const verify = () => scene.api('POST', `/domains/${body.id}/verify`, { key: team.key });
    const answers = await Promise.all([verify(), verify(), verify()]);
    expect(answers.map((answer) => answer.status).sort()).toEqual([200, 429, 429]);
  });
});
