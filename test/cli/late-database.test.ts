// A machine whose database server starts later than it, as after a power failure.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { driver } from '../rig/database.ts';
import { startTcpRelay } from '../rig/tcp-relay.ts';
import { Desk } from './desk.ts';

vi.setConfig({ testTimeout: 180_000 });

let desk: Desk;
beforeEach(() => void (desk = new Desk()));
afterEach(() => desk.clear());

// runs only with PostgreSQL: an embedded database is there
it.runIf(driver === 'pg')('the start waits for a database server that cannot be reached, and says so', async () => {
  const env = await desk.database();
  const made = await desk.rasket(['init', '--data', 'data'], { env });
  expect(made, made.stderr).toMatchObject({ code: 0 });
  const url = new URL(env.RASKET_DATABASE_URL ?? '');
  const relay = await startTcpRelay({ host: url.hostname, port: Number(url.port) });
  relay.set('cut');
  url.port = `${relay.port}`;
  const through = { ...env, RASKET_HTTP_PORT: '0', RASKET_DATABASE_URL: url.href, RASKET_DATABASE_WAIT_SECONDS: '600' };
  const running = desk.start(desk.at('path/rasket'), ['serve', '--data', 'data'], { env: through });
  await vi.waitFor(() => expect(running.stderr).toContain('"msg":"waiting for PostgreSQL"'), { timeout: 60_000 });
  relay.set('open');
  const server = await desk.whenReady(running, desk.at('data/run/ready.json'));
  expect((await fetch(`${server.url}/ready`)).status).toBe(200);
  expect(await server.stop()).toMatchObject({ code: 0 });
  await relay.close();
});
