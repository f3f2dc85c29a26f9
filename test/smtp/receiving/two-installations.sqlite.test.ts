// a mail server --> one installation --> another, and the rule of each forwards to the other
import { connect, createServer, type AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import type { AnyBody } from '../../rig/api.ts';
import { bringMail, mxPort, createReceivingDomain } from '../../rig/mx.ts';
import { startScene, type Scene } from '../../rig/scene.ts';

const RAW = 'From: a@good.example\r\nSubject: Round\r\nMessage-ID: <round@good.example>\r\n\r\nHello\r\n';

/**
 * Each installation is told the other's port before it starts, and none can be told before the other has started: what
 * the first sends goes through this. A port picked beforehand could be taken by another test in between.
 */
async function openWayTo(portBehind: () => number) {
  const server = createServer((incoming) => {
    const outgoing = connect(portBehind(), '127.0.0.1');
    incoming.pipe(outgoing).pipe(incoming);
    for (const [side, far] of [
      [incoming, outgoing],
      [outgoing, incoming],
    ] as const)
      side.on('error', () => undefined).on('close', () => far.destroy());
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: () => new Promise<void>((done) => server.close(() => done())),
  };
}

async function open(host: string, onwardPort: number) {
  const scene = await startScene({
    roles: ['http', 'delivery', 'receiving'],
    config: {
      instance: { host, env: 'test' },
      delivery: { smtp_port: onwardPort },
    },
  });
  const team = await scene.team();
  return { scene, team, domain: (await createReceivingDomain(scene, team)).name };
}

const forward = (at: Awaited<ReturnType<typeof open>>, to: string) =>
  at.scene.api('POST', '/inbound-rules', {
    key: at.team.key,
    body: { pattern: '*', action: 'forward', forward_to: [to] },
  });

async function received({ scene, team: { key } }: Awaited<ReturnType<typeof open>>): Promise<AnyBody[]> {
  const { data } = (await scene.api('GET', '/emails/receiving', { key })).body;
  const ids = (data as { id: string }[]).map(({ id }) => id);
  return Promise.all(
    ids.map(async (id) => (await scene.api('GET', `/emails/receiving/${id}`, { key })).body as AnyBody),
  );
}

const reasonTold = async (scene: Scene, id: string): Promise<unknown> =>
  (await scene.events(id)).map(({ type, data }) => [type, (data as AnyBody).not_forwarded_reason]);

it('a message between two installations that forward to each other ends, with the reason', async () => {
  let otherPort = 0;
  await using wayToOther = await openWayTo(() => otherPort);
  const one = await open('one.test', wayToOther.port);
  await using _one = one.scene;
  const other = await open('other.test', mxPort(one.scene));
  await using _other = other.scene;
  otherPort = mxPort(other.scene);
  expect((await forward(one, `round@${other.domain}`)).status).toBe(201);
  expect((await forward(other, `support@${one.domain}`)).status).toBe(201);

  expect(await bringMail(one.scene, { from: 'a@good.example', to: [`support@${one.domain}`], raw: RAW })).toMatch(
    /^250/,
  );
  for (let round = 0; round < 4; round++) {
    await one.scene.settled();
    await other.scene.settled();
  }
  const [back, first, ...more] = await received(one);
  const there = await received(other);
  expect(more).toEqual([]);
  expect([first, ...there]).toMatchObject([{ not_forwarded_reason: null }, { not_forwarded_reason: null }]);
  expect(back).toMatchObject({ subject: 'Round', not_forwarded_reason: 'loop', dropped_reason: null });
  expect(await reasonTold(one.scene, back?.id)).toEqual([['email.received', 'loop']]);
  expect(await reasonTold(one.scene, first?.id)).toEqual([['email.received', undefined]]);
});

it('a message that passed too many servers is reported as well', async () => {
  const at = await open('one.test', 1);
  await using scene = at.scene;
  await forward(at, 'office@dest.example.org');
  const hops = 'Received: from a by b; Sun, 22 Nov 2026 10:00:00 +0000\r\n'.repeat(51);
  await bringMail(scene, { to: [`a@${at.domain}`], raw: hops + RAW });
  expect((await received(at))[0]).toMatchObject({ not_forwarded_reason: 'too_many_hops' });
});
