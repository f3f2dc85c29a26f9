import { expect, it, vi } from 'vitest';
import { driver } from '../../rig/database.ts';
import { startScene } from '../../rig/scene.ts';

const listCodes = (body: { findings: { code: string }[] }): string[] => body.findings.map(({ code }) => code);

// runs only with PostgreSQL, where there are other nodes to hear
it.runIf(driver === 'pg')(
  'a process that hears no other node for five minutes reports it and continues to work',
  async () => {
    // Nobody listens there, as behind a pooler that is down or passes nothing on.
    const elsewhere = { listen_url: 'postgres://rasket@127.0.0.1:1/rasket' } as never;
    await using scene = await startScene({ roles: ['http', 'delivery'], config: { database: elsewhere } });
    const key = await scene.operator();
    const told = async () => listCodes((await scene.api('GET', '/operator/findings', { key })).body);
    expect(await told()).not.toContain('nodes_not_heard');
    scene.clock.advance(5 * 60_000 - 1);
    expect(await told()).not.toContain('nodes_not_heard');
    scene.clock.advance(1);
    expect(await told()).toContain('nodes_not_heard');
    const team = await scene.team();
    const domain = await team.domain();
    const body = { from: `a@${domain.name}`, to: 'x@example.org', subject: 'Hello', text: 'x' };
    expect((await scene.api('POST', '/emails', { key: team.key, body })).status).toBe(200);
    await scene.settled();
    expect(scene.sink.messages).toHaveLength(1);
  },
);

it('a process that hears the others, or has none, reports nothing', async () => {
  await using scene = await startScene({ roles: ['http'] });
  const key = await scene.operator();
  if (driver === 'pg') {
    // The process begins to listen while it already answers requests, and shows the same metrics for a second of its clock.
    await vi.waitFor(
      async () => {
        scene.clock.advance(1000);
        const metrics = await (await fetch(`${scene.url}/metrics`)).text();
        expect(metrics).toContain('rasket_nodes_heard 1');
      },
      { timeout: 30_000, interval: 20 },
    );
  }
  await scene.api('GET', '/operator/findings', { key });
  scene.clock.advance(6 * 60_000);
  const { findings } = (await scene.api('GET', '/operator/findings', { key })).body;
  expect(listCodes({ findings })).not.toContain('nodes_not_heard');
});
