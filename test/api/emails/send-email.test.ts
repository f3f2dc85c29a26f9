import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene } from '../../rig/scene.ts';

describe('POST /emails', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await startScene();
  });
  afterAll(() => scene.close());

  it('delivers an email that it accepted with 200, and records each event once', async () => {
    const team = await scene.team();
    const domain = await team.domain();
    const sent = await scene.api('POST', '/emails', {
      key: team.key,
      body: { from: `A <a@${domain.name}>`, to: ['x@example.org'], subject: 'Hello', text: 'It works.' },
    });
    expect(sent.status).toBe(200);
    await scene.settled();
    expect(await scene.account(team, sent.body.id)).toEqual({
      state: 'delivered',
      events: ['email.queued', 'email.sent', 'email.delivered'],
    });
    expect(scene.sink.messages.map((message) => message.rcptTo)).toEqual([['x@example.org']]);
  });
});
