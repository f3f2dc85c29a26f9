import { describe, expect, it } from 'vitest';
import { startScene } from '../../rig/scene.ts';

describe('a sandboxed region', () => {
  it('sends to own verified domains and the simulator only, and names the first other recipient', async () => {
    await using scene = await startScene({ config: { regions: { 'eu-west-1': { sandbox: true } } } });
    const team = await scene.team();
    const { name } = await team.domain();
    const send = (to: string[]) =>
      scene.api('POST', '/emails', { key: team.key, body: { from: `a@${name}`, to, subject: 'Hello', text: 'Hi' } });

    expect((await send([`b@${name}`, 'delivered@simulator.rasket.test'])).status).toBe(200);
    const refused = await send([`b@${name}`, 'x@example.org', 'y@example.org']);
    expect(refused.status).toBe(403);
    expect(refused.body).toMatchObject({
      name: 'validation_error',
      details: {
        recipient: 'x@example.org',
        region: 'eu-west-1',
        allowed: ['verified_identity', 'verified_domain', 'simulator'],
      },
    });
    await scene.settled();
    expect(scene.sink.messages.map((message) => message.rcptTo)).toEqual([[`b@${name}`]]);
  });
});
