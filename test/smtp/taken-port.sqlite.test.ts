// mail servers and applications --> a server one of whose ports another program has when it starts
import net from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { freePort } from '../rig/free-port.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { openDialogue } from '../rig/smtp-dialogue.ts';

/** Takes the port until it is released. Rejects if another program has it. */
async function takePort(port: number): Promise<() => Promise<void>> {
  const other = net.createServer();
  await new Promise<void>((done, fail) => other.once('error', fail).listen(port, '127.0.0.1', done));
  const release = (): Promise<void> => new Promise((done) => void other.close(() => done()));
  onTestFinished(release);
  return release;
}

const startOn = (port: number): Promise<Scene> =>
  startScene({
    roles: ['http', 'submission'],
    config: { submission: { ports: [port], tls_ports: [0] }, receiving: { ports: [] } },
  });

it('an SMTP port that is in use at the start is opened once it is free, and its finding ends', async () => {
  const port = await freePort();
  const release = await takePort(port);
  await using scene = await startOn(port);
  const codes = async (): Promise<string[]> =>
    (await scene.api('GET', '/ready')).body.findings.map(({ code }: { code: string }) => code);
  const token = await scene.operator();
  expect(await codes()).toContain('port_not_open');
  const { findings } = (await scene.api('GET', '/operator/findings', { key: token })).body;
  expect(findings[0]).toMatchObject({ code: 'port_not_open', subjects: [`${port}`], advice: { command: null } });
  scene.clock.advance(5000);
  expect(await codes()).toContain('port_not_open');
  await release();
  await expect
    .poll(() => {
      scene.clock.advance(5000);
      return codes();
    })
    .not.toContain('port_not_open');
  const client = await openDialogue(port);
  expect(await client.hear()).toMatch(/^220 /);
  client.end();
  expect(scene.app.smtp?.listening.map((one) => one.port)).toContain(port);
});

it('a stopped server opens no port that becomes free', async () => {
  const port = await freePort();
  const release = await takePort(port);
  const scene = await startOn(port);
  await scene.close();
  await release();
  scene.clock.advance(60_000);
  // The port is free for others.
  await takePort(port);
  expect(scene.app.smtp?.listening.map((one) => one.port)).not.toContain(port);
});
