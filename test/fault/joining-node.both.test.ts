// mail to one provider --> a process that has all its connections, and one that joins it --> a receiver that counts them
import { expect, it, onTestFinished } from 'vitest';
import { readProfile } from '../../src/features/rehearsal/index.ts';
import { startInternet } from '../../src/features/rehearsal/start.ts';
import { createApi } from '../rig/api.ts';
import { driver } from '../rig/database.ts';
import { startSink } from '../rig/sink.ts';
import { installProgram } from './program.ts';
import { publishReceivers } from './receivers.ts';

const CONNECTIONS = 4;
/** One team has two thirds of them at most. */
const OF_ONE_TEAM = 3;
const PROFILE = `
summary = "a provider that takes its time"
[[domains]]
name = "gmail.com"
provider = "google"
share = 1
[providers.google]
unknown = false
full = false
rates = []
delays = { dot_ms = 4000 }
connections = { max = ${CONNECTIONS}, reply = "421 4.7.0 Too many connections" }
`;
const FIRST = 12;
const THEN = 4;

// runs only with PostgreSQL: with SQLite there is one process, which has the whole of each limit
it.runIf(driver === 'pg')(
  'a process that joins another one opens no connection before the other has ended those that it takes over',
  async () => {
    const internet = await startInternet({ profile: readProfile('joining', PROFILE) });
    onTestFinished(() => internet.close());
    const sink = await startSink({});
    onTestFinished(() => sink.close());
    const { seen } = internet;
    const program = await installProgram(sink, () => undefined, {
      publish: (dns) => publishReceivers(dns, internet.records),
      env: {
        RASKET_DELIVERY_SMTP_PORT: String(internet.smtpPort),
        RASKET_PROVIDERS_GOOGLE_CONNECTIONS: String(CONNECTIONS),
      },
    });
    const send = async (url: string, count: number): Promise<void> => {
      const body = Array.from({ length: count }, (_, n) => ({
        from: program.from,
        to: `r${n}@gmail.com`,
        subject: 'Hello',
        text: 'It works.',
      }));
      const answer = await createApi(url)('POST', '/emails/batch', { key: program.apiKey, body });
      expect(answer.status, answer.text).toBe(200);
    };
    await send(await program.listening(), FIRST);
    await seen.until(() => seen.countOpen() === OF_ONE_TEAM);
    const other = await program.addProcess();
    await send(await other.listening(), THEN);
    await seen.until(() => seen.messages.length === FIRST + THEN || seen.refusals.length > 0);
    expect(seen.refusals).toEqual([]);
    expect(seen.maxConnections()).toBeLessThanOrEqual(CONNECTIONS);
    await program.stop();
    await other.stop();
  },
);
