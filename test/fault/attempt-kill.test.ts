// rasket serve --> sink, which refuses the first attempt at the final dot --> kill -9 --> the next attempt
import { expect, it, onTestFinished } from 'vitest';
import { startApp } from '../../src/app.ts';
import { loadConfig } from '../../src/platform/config/index.ts';
import { createLog } from '../../src/platform/log/index.ts';
import { createManualClock } from '../rig/clock.ts';
import { startSink } from '../rig/sink.ts';
import { installProgram } from './program.ts';

const HOUR_MS = 3_600_000;

it('the attempt after a kill -9 sends the same bytes as the attempt before', async () => {
  const contents: string[] = [];
  const sink = await startSink({ onContent: (data) => contents.push(data.toString('latin1')) });
  onTestFinished(() => sink.close());
  const deferred = Promise.withResolvers<void>();
  const program = await installProgram(sink, ({ msg }) => void (msg === 'delivery deferred' && deferred.resolve()));
  const response = await fetch(`${await program.listening()}/emails`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${program.apiKey}`,
      'user-agent': 'rasket-tests/1',
      'content-type': 'application/json',
    },
    body: JSON.stringify({
      from: program.from,
      to: 'dot-tempfail-once@one.example',
      subject: 'Hello',
      html: '<p>Hello</p>',
    }),
  });
  expect(response.status).toBe(200);
  await deferred.promise;
  await program.kill();

  const { config } = loadConfig({ env: program.env, overrides: { http: { port: 0 } } });
  const app = await startApp({
    config,
    dataDir: program.dataDir,
    version: '0.0.0-test',
    clock: createManualClock(Date.now() + HOUR_MS),
    log: createLog({ level: 'error', format: 'json' }),
    roles: ['delivery'],
  });
  try {
    await app.queue?.idle();
  } finally {
    await app.close(0);
  }
  expect(contents).toHaveLength(2);
  expect(contents[1]).toBe(contents[0]);
  expect(sink.messages).toHaveLength(1);
});
