import { describe, expect, it } from 'vitest';
import { startScene, type SceneOptions, type Scene } from '../rig/scene.ts';
import { mailIn, type Mail } from './mail.ts';

async function mailWith(options: SceneOptions): Promise<{ scene: Scene; mail: Mail }> {
  const scene = await startScene(options);
  return { scene, mail: await mailIn(scene) };
}

describe('outgoing mail', () => {
  it('does not reach a private network that is not allowed', async () => {
    const { scene, mail } = await mailWith({ config: { network: { mail_allow_private: [] } } });
    await using _ = scene;
    const id = await mail.send('x@inside.example');
    await scene.settled();
    expect(await mail.account(id)).toEqual({
      state: 'bounced',
      events: ['email.queued', 'email.sent', 'email.bounced x@inside.example'],
      arrived: [],
      // The address may be good: what is wrong is where its DNS points to.
      suppressed: [],
      waiting: [],
    });
    expect(scene.sink.counts.connections).toBe(0);
  });

  it('is not sent in clear text for a domain that enforces TLS', async () => {
    const { scene, mail } = await mailWith({ sink: { tls: 'none' } });
    await using _ = scene;
    await scene.api('PATCH', `/domains/${mail.domain.id}`, { key: mail.team.key, body: { tls: 'enforced' } });
    const id = await mail.send('x@clear.example');
    await scene.settled();
    expect(await mail.account(id)).toMatchObject({
      state: 'delivery_delayed',
      events: ['email.queued', 'email.sent', 'email.delivery_delayed x@clear.example'],
      arrived: [],
    });
    expect(scene.sink.counts.mail).toBe(0);
  });

  it('is encrypted for a domain that enforces TLS', async () => {
    const { scene, mail } = await mailWith({ sink: { tls: 'starttls' } });
    await using _ = scene;
    await scene.api('PATCH', `/domains/${mail.domain.id}`, { key: mail.team.key, body: { tls: 'enforced' } });
    const id = await mail.send('x@secure.example');
    await scene.settled();
    expect(await mail.account(id)).toMatchObject({ state: 'delivered', arrived: ['x@secure.example'] });
    expect(scene.sink.messages.map((message) => message.tls)).toEqual([true]);
  });

  it('is sent despite a bad certificate when TLS is opportunistic', async () => {
    const { scene, mail } = await mailWith({ sink: { tls: 'bad-cert' } });
    await using _ = scene;
    const id = await mail.send('x@careless.example');
    await scene.settled();
    expect(await mail.account(id)).toMatchObject({ state: 'delivered', arrived: ['x@careless.example'] });
  });
});
