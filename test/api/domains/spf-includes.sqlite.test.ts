import { expect, it } from 'vitest';
import { publish, startScene } from '../../rig/scene.ts';

it('verification queries the includes of the SPF record again, even if the domain has just been read', async () => {
  await using scene = await startScene();
  const { key } = await scene.team();
  const { body: domain } = await scene.api('POST', '/domains', { key, body: { name: 'includes.example.com' } });
  publish(scene.dns, domain);
  const spf = (domain.records as { record: string; type: string; name: string }[]).find(
    ({ record, type }) => record === 'SPF' && type === 'TXT',
  );
  scene.dns.set(spf?.name ?? '', 'TXT', ['v=spf1 a:rasket.test include:senders.example.com ~all']);
  const tooMany = Array.from({ length: 11 }, (_, i) => `a:host${i}.example.net`);
  scene.dns.set('senders.example.com', 'TXT', [`v=spf1 ${tooMany.join(' ')} -all`]);
  const verify = () => scene.api('POST', `/domains/${domain.id}/verify`, { key });
  const status = async () => (await scene.api('GET', `/domains/${domain.id}`, { key })).body.status;

  await verify();
  scene.clock.advance(60_000);
  expect(await status()).toBe('pending');
  scene.dns.set('senders.example.com', 'TXT', ['v=spf1 ip4:192.0.2.1 -all']);
  await verify();
  expect(await status()).toBe('verified');
});
