import { afterAll, beforeAll, expect, it } from 'vitest';
import { bringMail, createReceivingDomain } from '../../rig/mx.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
let team: Team;
let domain: string;
beforeAll(async () => {
  scene = await startScene({
    roles: ['http', 'receiving'],
    config: { receiving: { postmaster: 'hostmaster@ours.example.com' } },
  });
  team = await scene.team();
  domain = (await createReceivingDomain(scene, team)).name;
});
afterAll(() => scene.close());

const raw = 'From: a@example.org\r\nSubject: Hello\r\n\r\nHello\r\n';
const bring = (to: string) => bringMail(scene, { to: [to], raw });
async function receivedFor(): Promise<string[]> {
  const [{ id }] = (await scene.api('GET', '/emails/receiving', { key: team.key })).body.data;
  return (await scene.api('GET', `/emails/receiving/${id}`, { key: team.key })).body.received_for;
}

it('mail to postmaster goes to the configured address, once its domain receives', async () => {
  expect(await bring('postmaster')).toMatch(/^550 5\.7\.1/);
  const ours = await team.domain('ours.example.com');
  const body = { capabilities: { receiving: 'enabled' }, confirm_replace_mx: true };
  await scene.api('PATCH', `/domains/${ours.id}`, { key: team.key, body });
  for (const to of ['postmaster', 'Postmaster', 'POSTMASTER@rasket.test', `postmaster@send.${domain}`]) {
    expect(await bring(to)).toMatch(/^250 /);
    expect(await receivedFor()).toEqual(['hostmaster@ours.example.com']);
  }
});

it('postmaster of a receiving domain belongs to its team', async () => {
  expect(await bring(`postmaster@${domain}`)).toMatch(/^250 /);
  expect(await receivedFor()).toEqual([`postmaster@${domain}`]);
  expect(await bring('postmaster@elsewhere.example')).toMatch(/^550 5\.7\.1/);
});
