import { expect, it } from 'vitest';
import { publish, startScene, type Scene } from '../rig/scene.ts';
import { HOUR, mailIn, listMessages, MINUTE, type Mail } from './mail.ts';

const COUNT = 40;

/** Sends more mail than there are connections, to a host that answers none of it before the gate opens. */
async function underWay(scene: Scene): Promise<{ mail: Mail; ids: string[] }> {
  const mail = await mailIn(scene);
  scene.clock.advance(MINUTE);
  const ids = await Promise.all(Array.from({ length: COUNT }, (_, i) => mail.send(`slow-rcpt+${i}@one.example`)));
  await scene.sink.waitFor((sink) => sink.counts.rcpt >= 4);
  // Some of the mail without a connection has been claimed as well.
  await expect.poll(() => claimed(scene)).toBeGreaterThan(20);
  return { mail, ids };
}

const listSelectors = (records: { record: string; name: string }[]): (string | undefined)[] =>
  records.filter(({ record }) => record === 'DKIM').map(({ name }) => name.split('.')[0]);
const listSigners = (scene: Scene): Set<string | undefined> =>
  new Set(
    scene.sink.messages.flatMap(({ data }) => [...data.toString('latin1').matchAll(/\bs=([\w-]+);/g)].map((m) => m[1])),
  );
const listStates = async ({ account }: Mail, ids: string[]): Promise<Set<string>> =>
  new Set(await Promise.all(ids.map(async (id) => (await account(id)).state)));

it('mail in progress when the keys are replaced is signed by none of the old ones', async () => {
  await using scene = await startScene();
  const { mail, ids } = await underWay(scene);
  const path = `/domains/${mail.domain.id}`;
  const { body } = await scene.api('POST', `${path}/dkim/regenerate`, { key: mail.team.key, body: { key_bits: 2048 } });
  scene.sink.openGate();
  await scene.settled();
  expect(scene.sink.messages.map(({ rcptTo }) => rcptTo)).toEqual([]);
  expect(await listStates(mail, ids)).toEqual(new Set(['delivery_delayed']));

  publish(scene.dns, body);
  await scene.api('POST', `${path}/verify`, { key: mail.team.key });
  scene.clock.advance(MINUTE);
  await scene.api('POST', `${path}/verify`, { key: mail.team.key });
  // Mail that was tried before the domain was verified is deferred once more, by the clock of that moment.
  await scene.settled();
  scene.clock.advance(HOUR);
  await scene.settled();
  expect(await listStates(mail, ids)).toEqual(new Set(['delivered']));
  expect([...listSigners(scene)].toSorted()).toEqual(listSelectors(body.records).toSorted());
  for (const id of ids) expect(listMessages(scene, id)).toHaveLength(1);
});

it('mail in progress when its domain is removed is no longer signed, and fails', async () => {
  await using scene = await startScene();
  const { mail, ids } = await underWay(scene);
  await scene.api('DELETE', `/domains/${mail.domain.id}`, { key: mail.team.key });
  scene.sink.openGate();
  await scene.settled();
  expect(scene.sink.messages.map(({ rcptTo }) => rcptTo)).toEqual([]);
  expect(await listStates(mail, ids)).toEqual(new Set(['failed']));
  expect(await mail.detail(ids[0] ?? '', 'email.failed')).toMatchObject({ failed: { reason: 'domain_removed' } });
});

it('mail in progress when a rotation ends is signed by the new keys, and the abandoned attempt does not count', async () => {
  await using scene = await startScene();
  const { mail, ids } = await underWay(scene);
  const path = `/domains/${mail.domain.id}`;
  const { body } = await scene.api('POST', `${path}/dkim/rotate`, { key: mail.team.key });
  publish(scene.dns, body);
  await scene.api('POST', `${path}/verify`, { key: mail.team.key });
  const { body: after } = await scene.api('GET', path, { key: mail.team.key });
  scene.sink.openGate();
  await scene.settled();
  expect(await listStates(mail, ids)).toEqual(new Set(['delivered']));
  for (const id of ids) expect(listMessages(scene, id)).toHaveLength(1);
  const active = after.records.filter((record: { key_status?: string }) => record.key_status === 'active');
  expect([...listSigners(scene)].toSorted()).toEqual(listSelectors(active).toSorted());
});

/** Returns how much of the mail accepted together the next poll of the queue claims; the clock stands still until it is moved. */
function claimed(scene: Scene): number {
  scene.clock.advance(500);
  return scene.app.queue?.inFlight() ?? 0;
}
