import { expect, it } from 'vitest';
import { startScene, type Scene, type SceneOptions, type Team } from '../rig/scene.ts';
import { makeCertificate } from '../rig/tls.ts';

const MX = 'mx.sink.test';
const forMx = makeCertificate({ names: [MX] });
const forAnother = makeCertificate({ names: ['other.example'] });

const startWith = (certificate: typeof forMx, delivery: object = {}): Promise<Scene> =>
  startScene({
    sink: { tls: 'starttls', certificate },
    trustedCa: [certificate.cert],
    config: { delivery } as NonNullable<SceneOptions['config']>,
  });

async function fetchState(scene: Scene, team: Team, settings: object): Promise<string> {
  const { id, name } = await team.domain();
  const changed = await scene.api('PATCH', `/domains/${id}`, { key: team.key, body: settings });
  expect(changed.status).toBe(200);
  const body = { from: `a@${name}`, to: 'x@y.example', subject: 's', text: 't' };
  const sent = await scene.api('POST', '/emails', { key: team.key, body });
  await scene.settled();
  return (await scene.account(team, sent.body.id as string)).state;
}

it('enforced TLS accepts any certificate, unless the domain requires one that is valid for the server’s name', async () => {
  await using scene = await startWith(forAnother);
  const team = await scene.team();
  expect(await fetchState(scene, team, { tls: 'enforced' })).toBe('delivered');
  expect(await fetchState(scene, team, { tls: 'enforced', tls_verify: true })).toBe('delivery_delayed');
  expect(await fetchState(scene, team, { tls: 'opportunistic', tls_verify: true })).toBe('delivered');
  // A connection that was opened for one of them serves none of the others.
  expect(await fetchState(scene, team, { tls: 'enforced', tls_verify: false })).toBe('delivered');
  expect(await fetchState(scene, team, { tls: 'enforced', tls_verify: true })).toBe('delivery_delayed');
});

it('a certificate for the name in the MX record from a trusted authority is valid', async () => {
  await using scene = await startWith(forMx);
  const team = await scene.team();
  expect(await fetchState(scene, team, { tls: 'enforced', tls_verify: true })).toBe('delivered');
  expect(scene.sink.messages.map(({ tls }) => tls)).toEqual([true]);
});

it('the operator can require valid certificates for every domain that enforces TLS', async () => {
  await using scene = await startWith(forAnother, { verify_enforced_tls: true });
  const team = await scene.team();
  expect(await fetchState(scene, team, { tls: 'enforced' })).toBe('delivery_delayed');
  expect(await fetchState(scene, team, { tls: 'opportunistic' })).toBe('delivered');
});

it('tls_verify is a field of the domain, and false by default', async () => {
  await using scene = await startScene();
  const { key } = await scene.team();
  const read = async (id: string) => (await scene.api('GET', `/domains/${id}`, { key })).body.tls_verify as boolean;
  const made = await scene.api('POST', '/domains', { key, body: { name: 'a.example.com' } });
  expect(made.body).toMatchObject({ tls: 'opportunistic', tls_verify: false });
  await scene.api('PATCH', `/domains/${made.body.id}`, { key, body: { tls_verify: true } });
  expect(await read(made.body.id as string)).toBe(true);
  const other = await scene.api('POST', '/domains', {
    key,
    body: { name: 'b.example.com', tls: 'enforced', tls_verify: true },
  });
  expect(await read(other.body.id as string)).toBe(true);
  const bad = await scene.api('PATCH', `/domains/${made.body.id}`, { key, body: { tls_verify: 'yes' } });
  expect(bad).toMatchObject({
    status: 400,
    body: { message: expect.stringContaining('tls_verify must be true or false') },
  });
});
