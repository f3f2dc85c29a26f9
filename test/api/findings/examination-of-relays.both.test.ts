import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Config, DeepPartial } from '../../../src/platform/config/index.ts';
import { scratchFolder } from '../../rig/scratch.ts';
import { startSink, type Sink, type SinkOptions } from '../../rig/sink.ts';
import { makeCertificate } from '../../rig/tls.ts';
import { startMachine, type Machine } from './examined.ts';

const RELAY = 'smtp.relay.test';
const SECRET = 'Correct-horse-battery-staple';
const certificate = makeCertificate({ names: [RELAY] });

let folder: string;
beforeAll(() => {
  folder = scratchFolder('rasket-relays-');
  writeFileSync(path.join(folder, 'ca.pem'), certificate.cert);
  writeFileSync(path.join(folder, 'password'), `${SECRET}\n`);
});
afterAll(() => rmSync(folder, { recursive: true }));

let machine: Machine;
let sink: Sink;
afterEach(async () => {
  await machine[Symbol.asyncDispose]();
  await sink.close();
});

type Relays = DeepPartial<Config>['relays'];

/** Starts a machine whose mail goes through the relay `main`, which is the sink. */
async function given({ relay, others, ...options }: SinkOptions & { relay?: object; others?: Relays } = {}) {
  sink = await startSink({ tls: 'starttls', certificate, auth: { user: 'me', secret: SECRET }, ...options });
  const main = {
    host: RELAY,
    port: sink.port,
    ca_file: path.join(folder, 'ca.pem'),
    user: 'me',
    password_file: path.join(folder, 'password'),
    ...relay,
  };
  machine = await startMachine({ delivery: { relay: 'main' }, relays: { main, ...others } });
  machine.scene.dns.set(RELAY, 'A', ['127.0.0.1']);
}

async function look() {
  const { checks, findings } = await machine.examine();
  return { ...checks['relays'], findings };
}

describe('the examination of relays', () => {
  it('logs in to each relay in use, reports it, and sends nothing', async () => {
    await given({
      others: { spare: { host: 'spare.relay.test', domains: ['shop.example'] }, unused: { host: 'x.test' } },
    });
    machine.scene.dns.set('spare.relay.test', 'A', ['127.0.0.1']);
    const { state, summary, findings } = await look();
    expect(summary).toContain(`The relay main (${RELAY}) allows this server to send, logged in with its user.`);
    // Nobody listens at port 587 of the spare one, so nothing is known about its settings.
    expect(summary).toMatch(/Unknown: whether the relay spare allows this server to send: .*ECONNREFUSED/);
    expect({ state, findings }).toEqual({ state: 'unknown', findings: [] });
    expect(sink.counts).toMatchObject({ auth: 1, quit: 1, mail: 0 });
    expect(summary).not.toContain('unused');
  });

  it('finds a refused login and names the settings', async () => {
    await given({ auth: { user: 'me', secret: 'Another' } });
    const { state, summary, findings } = await look();
    expect(state).toBe('failed');
    expect(findings).toMatchObject([
      {
        code: 'relay_misconfigured',
        severity: 'error',
        subjects: ['main'],
        summary: expect.stringMatching(/^The relay main does not allow this server to send: .*535 5\.7\.8/),
        advice: {
          words: expect.stringContaining('correct relays.main.user or relays.main.password_file'),
          command: 'rasket relays test main',
        },
      },
    ]);
    expect(`${summary}${JSON.stringify(findings)}`).not.toContain(SECRET);
    expect(sink.counts.auth).toBe(1);
  });

  it.each([
    { why: 'no file', relay: { password_file: '/none' }, says: /password_file .*ENOENT/, words: '[relays.main]' },
    { why: 'another certificate', relay: { ca_file: '' }, says: /self-signed.*ca_file/, words: '[relays.main]' },
  ])('finds an unusable relay because of $why', async ({ relay, says, words }) => {
    await given({ relay });
    const { findings } = await look();
    expect(findings).toMatchObject([
      {
        code: 'relay_misconfigured',
        summary: expect.stringMatching(says),
        advice: { words: expect.stringContaining(words) },
      },
    ]);
    expect(sink.counts.auth).toBe(0);
  });

  it('does not claim that a relay without a login accepts mail', async () => {
    await given({ relay: { user: '', password_file: '' } });
    const summary = `The relay main (${RELAY}) accepts connections, and is used without a login.`;
    expect(await look()).toMatchObject({ state: 'passed', summary, findings: [] });
  });

  it('is skipped if no mail goes through a relay', async () => {
    sink = await startSink();
    machine = await startMachine();
    expect(await look()).toMatchObject({ state: 'skipped', summary: 'No mail is sent through a relay.', findings: [] });
  });
});
