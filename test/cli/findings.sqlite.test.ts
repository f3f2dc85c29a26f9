// something goes wrong --> GET /ready, rasket ready, rasket doctor, the first line of the console's overview
import { writeFileSync } from 'node:fs';
import net, { type AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Screen } from '../console/screen.ts';
import { makeCertificate } from '../rig/tls.ts';
import { startTrouble, type Trouble } from '../rig/trouble.ts';
import { Desk } from './desk.ts';

const desk = new Desk();
let trouble: Trouble;
beforeAll(async () => {
  trouble = await startTrouble();
});
afterAll(async () => {
  await trouble[Symbol.asyncDispose]();
  await desk.clear();
});

interface Places {
  anybody: string[];
  ready: string;
  doctor: string;
  operator: string;
  /** The first line, wherever it is broken. */
  overview: string;
}

async function lookEverywhere(of = trouble): Promise<Places> {
  // RASKET_DATA is empty, because this is another machine without an installation.
  const asked = { env: { RASKET_URL: of.scene.url, RASKET_API_KEY: of.team.key, RASKET_DATA: '' } };
  const { body } = await of.scene.api('GET', '/ready');
  const ready = await desk.rasket(['ready'], asked);
  expect(ready.code, 'it can serve').toBe(0);
  const doctor = await desk.rasket(['doctor'], asked);
  const isGrave = body.findings.some(({ severity }: { severity: string }) => severity === 'error');
  expect(doctor.code, doctor.stderr).toBe(isGrave ? 1 : 0);
  const operator = await desk.rasket(['doctor'], { env: { ...asked.env, RASKET_API_KEY: of.token } });
  await using seat = await Screen.take({ url: of.scene.url, key: of.team.key, columns: 120, rows: 30 });
  const frame = await seat.sees('Mail of the last', /database ok/);
  const overview = /Server {3}([^]*?)database ok/.exec(frame)?.[1]?.replaceAll(/\s+/g, ' ') ?? '';
  return {
    anybody: body.findings.map(({ code }: { code: string }) => code),
    ready: ready.stdout,
    doctor: doctor.stdout,
    operator: operator.stdout,
    overview,
  };
}

/** Expects a finding at all places under its code; at the console in its words, and gone when it is mended. */
async function expectEverywhere(code: string, words: RegExp, of = trouble): Promise<Places> {
  const places = await lookEverywhere(of);
  expect(places.anybody).toEqual([code]);
  for (const name of ['ready', 'doctor', 'operator'] as const)
    expect(places[name], name).toMatch(new RegExp(`\\b${code}\\b`));
  expect(places.overview).toMatch(words);
  expect(places.overview).not.toContain('✓ ready');
  return places;
}

describe('ready, doctor, findings and the console show', () => {
  it('nothing when all is well', async () => {
    expect(await lookEverywhere()).toMatchObject({
      anybody: [],
      ready: expect.not.stringContaining('FINDING'),
      doctor: expect.not.stringContaining('FINDING'),
      overview: expect.stringMatching(/^✓ ready/),
    });
  });

  it('that sending is off, and a refused send names the command that helps', async () => {
    const mend = await trouble.switchSendingOff('Moving');
    const { doctor } = await expectEverywhere('sending_off', /^✗ Sending is switched off: Moving\./);
    expect(doctor).toContain('Sending is switched off: Moving.');
    expect(doctor).toContain('rasket sending on');
    const env = { RASKET_URL: trouble.scene.url, RASKET_API_KEY: trouble.team.key };
    const send = ['send', '--from', 'a@example.com', '--to', 'b@example.com', '--subject', 'x', '--text', 'x'];
    const refused = await desk.rasket(send, { env });
    expect(refused.stderr).toMatch(
      /Sending is switched off.*On the server’s machine, the command `sending` shows the reason\. Switch it on there with: rasket sending on\n/s,
    );
    const body = { from: 'a@example.com', to: 'b@example.com', subject: 'x', text: 'x' };
    const answer = await trouble.scene.api('POST', '/emails', { key: trouble.team.key, body });
    expect(answer.body).toMatchObject({ name: 'service_unavailable', details: { reason: 'sending_off' } });
    expect(refused.stderr).not.toContain('rasket ready');
    await mend();
    expect((await lookEverywhere()).overview).toMatch(/^✓ ready/);
  });

  it('a hold', async () => {
    const mend = await trouble.hold({ team_id: trouble.team.id });
    await expectEverywhere('mail_held', /^! Mail is on hold: .*Their server is being moved/);
    await mend();
  });

  it('a webhook that answers with 500', async () => {
    const { id, mend } = await trouble.failingWebhook();
    const { doctor } = await expectEverywhere(
      'webhook_failing',
      /^! All attempts to deliver to the webhook https:.* fail/,
    );
    expect(doctor, 'at the server that was asked').toContain(`rasket webhooks get --url ${trouble.scene.url} ${id}`);
    await mend();
  });

  it('a domain that loses its records', async () => {
    const { name, mend } = await trouble.losingDomain();
    const { doctor } = await expectEverywhere('domain_losing_records', new RegExp(`^! DNS records .* ${name}`));
    expect(doctor).toContain(`rasket domains get --url ${trouble.scene.url} ${name}`);
    await mend();
  });

  it('a taken port before an expired certificate, with the number of further findings', async () => {
    await using bad = await startTrouble({ isBadFromTheStart: true });
    const places = await lookEverywhere(bad);
    expect(places.anybody).toEqual(['port_not_open', 'certificate_expired']);
    for (const name of ['ready', 'doctor', 'operator'] as const) {
      expect(places[name], name).toContain('port_not_open');
      expect(places[name], name).toContain('certificate_expired');
    }
    expect(places.operator).toContain(`port ${bad.takenPort} is in use by `);
    expect(places.overview).toMatch(/^✗ An SMTP port is not open\. And 1 more: :findings/);
    await bad.switchSendingOff();
    expect((await lookEverywhere(bad)).overview).toMatch(/^✗ Sending is switched off\. And 2 more: :findings/);
  });
});

describe('rasket findings', () => {
  it('lists those of a team, and of the instance with an operator token, also as a screen of the console', async () => {
    const { scene, team, token } = trouble;
    const asked = { env: { RASKET_URL: scene.url, RASKET_API_KEY: team.key } };
    const none = await desk.rasket(['findings'], asked);
    expect(none).toMatchObject({ code: 0, stdout: 'Nothing is wrong.\n' });
    const mend = await trouble.hold({ destination: 'held.example' });
    expect((await desk.rasket(['findings'], asked)).stdout).toBe('Nothing is wrong.\n');
    const all = await desk.rasket(['findings', 'all'], { env: { ...asked.env, RASKET_API_KEY: token } });
    expect(all.stdout).toMatch(/^1 node runs\.\n.*\n.*mail_held.*held\.example/);
    expect(all.stdout).toContain('rasket queue holds');
    await mend();

    const off = await trouble.switchSendingOff('Moving');
    await using seat = await Screen.take({ url: scene.url, key: team.key, columns: 120, rows: 30 });
    await seat.sees(/Sending is switched off: Moving/);
    await seat.type(':findings');
    await seat.press('Enter');
    await seat.sees(/^ findings/m, /sending_off/, /Sending is switched off: Moving/, /rasket sending on/);
    await off();
  });
});

describe('rasket doctor on the machine of an installation', () => {
  it('needs no key: it reads the faults from the data folder, and says what it could not check', async () => {
    const env = { ...(await desk.database()), RASKET_DATA: desk.at('data'), RASKET_CONFIG: desk.at('rasket.toml') };
    const other = net.createServer();
    await new Promise<void>((done) => other.listen(0, '127.0.0.1', done));
    const { port } = other.address() as AddressInfo;
    const expired = makeCertificate({ names: ['localhost'], notAfter: new Date(Date.now() - 1000) });
    writeFileSync(desk.at('expired.pem'), expired.key + expired.cert);
    writeFileSync(
      desk.at('rasket.toml'),
      `[http]\nport = 0\n[tls]\ncertificate_file = "${desk.at('expired.pem')}"\n[smtp]\nhost = "127.0.0.1"\n[submission]\nports = [${port}]\ntls_ports = []\n[receiving]\nports = []\n`,
    );
    expect((await desk.rasket(['init', '--data', 'data'], { env })).code).toBe(0);
    const without = { env: { ...env, RASKET_API_KEY: undefined, RASKET_URL: undefined } };

    const stopped = await desk.run(['doctor', '--json'], without);
    expect(stopped.code, stopped.stdout).toBe(1);
    const said = JSON.parse(stopped.stdout);
    expect(said.findings.map(({ code }: { code: string }) => code)).toEqual([
      'delivery_not_running',
      'certificate_expired',
    ]);
    expect(said.findings[0].summary).toContain(`No server is running on ${desk.at('data')}`);

    const server = await desk.serve(['serve', '--data', 'data'], {
      env: { ...env, RASKET_SUBMISSION_PORTS: `${port}` },
    });
    expect((await desk.rasket(['sending', 'off', '--reason', 'Moving'], without)).code).toBe(0);
    const running = await desk.run(['doctor'], without);
    expect(running.code, running.stderr).toBe(1);
    expect(running.stdout).toMatch(/Sending is switched off: Moving\./);
    expect(running.stdout).toContain(`port ${port} is in use by `);
    expect(running.stdout).toMatch(/The certificate .*expired\.pem expired at/);
    expect(running.stdout).toMatch(/This machine +\S*data, /);
    expect(running.stdout).not.toContain('rasket doctor');
    expect(running.stdout).toMatch(/Not checked, without a key: .*rasket login --url http:\/\/127\.0\.0\.1:\d+/);
    expect(running.stdout).toMatch(/database.*ok/);
    await server.stop();
    await new Promise<void>((done) => other.close(() => done()));
  });

  it('takes --data and --config, and asks for no key when no port is known', async () => {
    const database = await desk.database();
    const data = desk.at('typed');
    const file = desk.write(
      'typed.toml',
      '[http]\nport = 0\n[smtp]\nhost = "127.0.0.1"\n[submission]\nports = [0]\ntls_ports = []\n[receiving]\nports = []\n',
    );
    // The settings of the shell are for another server.
    const env = {
      ...database,
      RASKET_DATA: desk.at('other'),
      RASKET_URL: 'http://127.0.0.1:9',
      RASKET_API_KEY: 'rk_other',
    };
    expect((await desk.rasket(['init', '--data', 'typed'], { env })).code).toBe(0);
    const doctor = (...more: string[]) => desk.run(['doctor', '--data', 'typed', ...more], { env });

    const stopped = await doctor('--config', 'typed.toml');
    expect(stopped.code, stopped.stdout).toBe(1);
    expect(stopped.stdout).toMatch(new RegExp(`^This machine +${data}$`, 'm'));
    expect(stopped.stdout).toContain(`rasket serve --data ${data} --config ${file}`);
    expect(stopped.stdout).toMatch(/Not checked: the server.*http\.port is 0/);
    for (const asked of ['login', 'API key is set', '127.0.0.1:', 'rasket doctor'])
      expect(stopped.stdout).not.toContain(asked);
    const { url, problems } = JSON.parse((await doctor('--config', 'typed.toml', '--json')).stdout);
    expect([url, problems]).toEqual([null, []]);

    const server = await desk.serve(['serve', '--data', 'typed', '--config', 'typed.toml'], { env: database });
    const running = await doctor('--config', 'typed.toml');
    expect(running.code, running.stdout).toBe(0);
    expect(running.stdout).toMatch(/^Server +http:\/\/127\.0\.0\.1:\d+ \(this machine\)$/m);
    expect(running.stdout).toMatch(/^API key +none\. RASKET_API_KEY is not used, as --data names the server\.$/m);
    expect(running.stdout).toMatch(/database.*ok/);
    await server.stop();

    const missing = await doctor('--config', 'nowhere.toml');
    expect(missing.code).toBe(1);
    expect(missing.stdout).toContain('nowhere.toml');
    expect(missing.stdout).not.toContain('login');
    expect(
      await desk.rasket(['doctor', '--config', 'typed.toml'], { env: { ...env, RASKET_DATA: undefined } }),
    ).toMatchObject({
      code: 64,
      stderr: expect.stringMatching(/--config.*--data/),
    });
  });
});
