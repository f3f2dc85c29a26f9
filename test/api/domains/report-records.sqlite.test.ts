import { afterAll, beforeAll, expect, it } from 'vitest';
import type { AnyBody } from '../../rig/api.ts';
import { publish, startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene();
});
afterAll(() => scene.close());

const read = async (team: Team, id: string): Promise<AnyBody> =>
  (await scene.api('GET', `/domains/${id}`, { key: team.key })).body;
const find = (body: AnyBody, kind: string) => body.records.find(({ record }: { record: string }) => record === kind);

it('only a domain that receives is advised to publish an address for TLS reports, at its return path', async () => {
  const team = await scene.team();
  const name = 'tls.example.com';
  scene.dns.set(name, 'MX', ['10 rasket.test']);
  const { body } = await scene.api('POST', '/domains', { key: team.key, body: { name, custom_return_path: 'out' } });
  expect(find(body, 'TLS-RPT')).toBeUndefined();
  expect(find(body, 'DMARC')).toMatchObject({ value: `v=DMARC1; p=none; rua=mailto:reports@out.${name};` });

  const capabilities = { receiving: 'enabled' };
  await scene.api('PATCH', `/domains/${body.id}`, { key: team.key, body: { capabilities } });
  const asked = await read(team, body.id);
  expect(find(asked, 'TLS-RPT')).toMatchObject({
    name: `_smtp._tls.${name}`,
    type: 'TXT',
    value: `v=TLSRPTv1; rua=mailto:reports@out.${name}`,
    required: false,
  });
  publish(scene.dns, { records: asked.records.filter(({ required }: { required: boolean }) => required) });
  await scene.api('POST', `/domains/${body.id}/verify`, { key: team.key });
  const seen = await read(team, body.id);
  expect([seen.status, find(seen, 'TLS-RPT').status, find(seen, 'DMARC').status]).toEqual([
    'verified',
    'pending',
    'pending',
  ]);
});

it("an owner's own policies are valid, and the diagnosis says that their reports do not come here", async () => {
  const team = await scene.team();
  const name = 'own.example.com';
  scene.dns.set(name, 'MX', ['10 rasket.test']);
  const capabilities = { receiving: 'enabled' };
  const { body } = await scene.api('POST', '/domains', { key: team.key, body: { name, capabilities } });
  publish(scene.dns, body);
  scene.dns.set(`_dmarc.${name}`, 'TXT', ['v=DMARC1; p=reject; rua=mailto:dmarc@vendor.test']);
  scene.dns.set(`_smtp._tls.${name}`, 'TXT', ['v=TLSRPTv1; rua=mailto:tls@vendor.test']);
  await scene.api('POST', `/domains/${body.id}/verify`, { key: team.key });
  const seen = await read(team, body.id);
  for (const kind of ['DMARC', 'TLS-RPT']) {
    expect(find(seen, kind)).toMatchObject({
      status: 'verified',
      diagnosis: expect.stringContaining(`add mailto:reports@send.${name} to its rua=`),
    });
  }
});
