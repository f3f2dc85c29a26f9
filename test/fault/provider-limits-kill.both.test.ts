import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { readProfile } from '../../src/features/rehearsal/index.ts';
import { startInternet, type Internet } from '../../src/features/rehearsal/start.ts';
import { createApi } from '../rig/api.ts';
import { driver } from '../rig/database.ts';
import { startSink } from '../rig/sink.ts';
import { installProgram, type LogLine } from './program.ts';
import { publishReceivers } from './receivers.ts';

const COUNT = 160;
const CONNECTIONS = 4;
const PER_CONNECTION = 7;

const PROFILE = `
summary = "a provider with two domains, and a server of its own"
[[domains]]
name = "gmail.com"
provider = "google"
share = 1
[[domains]]
name = "customer.example"
provider = "google"
share = 1
[[domains]]
name = "own.example"
provider = "own-server"
share = 1
hosts = ["mx.own.example"]
separate = true
[providers.google]
unknown = false
full = false
delays = { dot_ms = 20 }
[providers.own-server]
unknown = false
full = false
delays = { dot_ms = 20 }
`;

/** Emails by recipient, and those whose outcome the program does not know. */
interface Sent {
  idByRecipient: Map<string, string>;
  doubtful: Set<string>;
}

function isAccountedFor({ seen }: Internet, { idByRecipient, doubtful }: Sent): boolean {
  const accepted = new Set(seen.messages.flatMap(({ recipients }) => recipients));
  return [...idByRecipient].every(([recipient, id]) => accepted.has(recipient) || doubtful.has(id));
}

it(
  'limits of a provider hold and no message is lost or sent twice when processes are killed',
  { timeout: 240_000 },
  async () => {
    const internet = await startInternet({ profile: readProfile('kill', PROFILE) });
    onTestFinished(() => internet.close());
    const sink = await startSink({});
    onTestFinished(() => sink.close());
    const sent: Sent = { idByRecipient: new Map(), doubtful: new Set() };
    const onLog = (line: LogLine): void => {
      if (line.msg === 'delivery outcome unknown') sent.doubtful.add(String(line['emailId']));
      internet.seen.changed();
    };
    const program = await installProgram(sink, onLog, {
      publish: (dns) => publishReceivers(dns, internet.records),
      env: {
        RASKET_DELIVERY_SMTP_PORT: String(internet.smtpPort),
        RASKET_PROVIDERS_GOOGLE_CONNECTIONS: String(CONNECTIONS),
        RASKET_PROVIDERS_GOOGLE_MESSAGES_PER_CONNECTION: String(PER_CONNECTION),
      },
    });
    const nodes = [program, ...(program.database.driver === 'pg' ? [await program.addProcess()] : [])];
    const domains = ['gmail.com', 'customer.example', 'own.example'];
    const recipients = Array.from({ length: COUNT }, (_, index) => `r${index}@${domains[index % domains.length]}`);
    const api = createApi(await program.listening());
    for (let at = 0; at < COUNT; at += 80) {
      const some = recipients.slice(at, at + 80);
      const body = some.map((to) => ({ from: program.from, to, subject: 'Hello', text: 'It works.' }));
      const answer = await api('POST', '/emails/batch', { key: program.apiKey, body });
      expect(answer.status, answer.text).toBe(200);
      const ids = (answer.body.data as { id: string }[]).map(({ id }) => id);
      for (const [index, to] of some.entries()) sent.idByRecipient.set(to, ids[index] ?? '');
    }
    const google = { provider: 'google' };
    for (const [round, node] of [...nodes, ...nodes].entries()) {
      const enough = ((round + 1) * COUNT) / (2 * nodes.length + 2);
      await internet.seen.until(() => internet.seen.messages.length >= enough);
      await node.kill();
      await node.start();
    }
    await internet.seen.until(() => isAccountedFor(internet, sent));
    expect(internet.seen.maxConnections(google)).toBeLessThanOrEqual(CONNECTIONS);
    expect(Math.max(...internet.seen.messagesPerConnection(google))).toBeLessThanOrEqual(PER_CONNECTION);
    expect(internet.seen.refusals).toEqual([]);
    expect(internet.seen.duplicates()).toEqual([]);
    await program.stop();
  },
);

// runs only with PostgreSQL: with SQLite there is one process, which has the whole of each limit
it.runIf(driver === 'pg')(
  'a process that was killed and started again counts once among those that divide a limit',
  async () => {
    const sink = await startSink({});
    onTestFinished(() => sink.close());
    const program = await installProgram(sink, () => undefined);
    await program.kill();
    await program.start();
    const client = new pg.Client({ connectionString: program.database.url });
    await client.connect();
    const { rows } = await client.query('select id from delivering_nodes');
    await client.end();
    expect(rows).toHaveLength(1);
    await program.stop();
  },
);
