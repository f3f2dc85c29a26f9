// a send --> rasket serve (told to stop while somebody else holds what it writes)
import path from 'node:path';
import Sqlite from 'better-sqlite3';
import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { driver } from '../rig/database.ts';
import { createApi } from '../rig/api.ts';
import { installBesideReceiver, type Program } from './program.ts';

it('a stop ends although the database accepts no writes', async () => {
  const { program, receiver } = await installBesideReceiver({ RASKET_HTTP_SHUTDOWN_SECONDS: '1' });
  const api = createApi(await program.listening());
  const body = { endpoint: receiver.url('/hook'), events: ['suppression.added'] };
  await api('POST', '/webhooks', { key: program.apiKey, body });
  const underWay = Promise.withResolvers<() => void>();
  receiver.reply((response) => underWay.resolve(() => void response.writeHead(200).end()));
  await api('POST', '/suppressions', { key: program.apiKey, body: { email: 'a@x.example' } });
  const answer = await underWay.promise;

  const release = await lock(program);
  onTestFinished(release);
  answer();
  await program.stop();
  expect(receiver.requests).toHaveLength(1);
});

/** Holds what attempts of webhooks are written to, as another program would; answers how to let go of it. */
async function lock({ dataDir, database }: Program): Promise<() => Promise<void>> {
  if (driver !== 'pg') {
    const file = new Sqlite(path.join(dataDir, 'rasket.db'));
    file.exec('begin immediate');
    return async () => void file.close();
  }
  const client = new pg.Client({ connectionString: database.url });
  client.on('error', () => undefined);
  await client.connect();
  await client.query('begin; lock table webhook_attempts in access exclusive mode');
  return () => client.end();
}
