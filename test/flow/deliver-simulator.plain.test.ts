import { afterEach, expect, test } from 'vitest';
import { createCapture } from '../../src/mail/deliver/index.ts';
import type { DeliveryJob } from '../../src/mail/deliver/index.ts';
import { account, setScene } from './deliver-scene.ts';
import type { Scene } from './deliver-scene.ts';

const DOMAIN = 'simulator.rasket.test';
const OK = { code: 250, enhanced: '2.0.0', lines: ['Delivered by the mailbox simulator'] };

let scene: Scene;
afterEach(() => scene.stop());

async function simulated(to: string, attempt = 1): Promise<unknown> {
  scene = await setScene({ deliver: { simulatorDomains: ['simulator.rasket.test'] } });
  const message = (): Promise<never> => Promise.reject(new Error('the simulator needs no message'));
  const outcomes = await scene.send(`${to}@${DOMAIN}`, { attempt, message });
  expect(scene.order).toEqual([]);
  expect(account(scene.sink)).toEqual({});
  expect(scene.dns.queries).toEqual([]);
  expect(outcomes).toHaveLength(1);
  expect(outcomes[0]?.address).toBe(`${to}@${DOMAIN}`);
  return outcomes[0];
}

test.each([
  { to: 'delivered', outcome: { kind: 'delivered', reply: OK, tls: null } },
  { to: 'Delivered+order-7', outcome: { kind: 'delivered', reply: OK } },
  { to: 'bounced', outcome: { kind: 'bounced', reason: 'refused', reply: { code: 550, enhanced: '5.1.1' } } },
  { to: 'full', outcome: { kind: 'bounced', reason: 'refused', reply: { code: 552, enhanced: '5.2.2' } } },
  { to: 'nobody', outcome: { kind: 'bounced', reason: 'refused', reply: { code: 550, enhanced: '5.1.1' } } },
  { to: 'complained', outcome: { kind: 'delivered', then: ['complained'] } },
  { to: 'opened', outcome: { kind: 'delivered', then: ['opened'] } },
  { to: 'CLICKED', outcome: { kind: 'delivered', then: ['clicked'] } },
  { to: 'suppressed', outcome: { kind: 'suppressed' } },
  { to: 'delayed', outcome: { kind: 'deferred', retryAfterMs: 2_000, reply: { code: 451 } } },
])('$to@ of the simulator has the outcome of its name, without DNS, network or hand-off', async ({ to, outcome }) => {
  expect(await simulated(to)).toMatchObject(outcome);
});

test('delayed@ of the simulator is delivered at the second attempt', async () => {
  expect(await simulated('delayed', 2)).toMatchObject({ kind: 'delivered' });
});

test('capture keeps every message once, including those to the simulator, and nothing reaches the network', async () => {
  const kept: { job: DeliveryJob; text: string }[] = [];
  const capture = createCapture(async (job, message) => {
    kept.push({ job, text: message.toString() });
  });
  scene = await setScene({ deliver: { capture, simulatorDomains: [DOMAIN] } });
  const ended = await scene.send(`bounced@${DOMAIN}`, { body: 'Subject: bounced\r\n\r\n' });
  expect(ended).toMatchObject([{ kind: 'bounced' }]);
  await scene.send(`delayed@${DOMAIN}`, { attempt: 2 });
  const outcomes = await scene.send(['a@y.example', 'b@y.example'], { body: 'Subject: kept\r\n\r\n' });
  const reply = { code: 250, enhanced: '2.0.0', lines: ['Kept in the playground'] };
  expect(outcomes).toEqual(
    ['a@y.example', 'b@y.example'].map((address) => ({
      kind: 'delivered',
      address,
      reply,
      mx: 'playground',
      tls: null,
    })),
  );
  expect(kept).toMatchObject([
    { job: { recipients: [`bounced@${DOMAIN}`] }, text: 'Subject: bounced\r\n\r\n' },
    { job: { recipients: ['a@y.example', 'b@y.example'] }, text: 'Subject: kept\r\n\r\n' },
  ]);
  expect(account(scene.sink)).toEqual({});
});
