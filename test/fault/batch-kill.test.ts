// clients that send batches of one large template --> rasket serve (killed again and again) --> sink
import path from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { openDb } from '../../src/platform/db/index.ts';
import { createApi } from '../rig/api.ts';
import { driver } from '../rig/database.ts';
import { scaled } from '../rig/scale.ts';
import { startSink } from '../rig/sink.ts';
import { installProgram, type Program } from './program.ts';

const KILLS = Math.min(10, scaled(2));
const BATCHES = 4 * (KILLS + 1);
const EMAILS = 10;
const CLIENTS = 3;
const FILLING = '<p>The same for everybody.</p>\n'.repeat(3000);

const formatName = (batch: number, n: number): string => `Reader ${batch}-${n}.`;

it(
  'after kills, each acknowledged email of a batch has its own content, and no shared body is missing or left over',
  { timeout: 300_000 },
  async () => {
    const arrivals: string[] = [];
    const sink = await startSink({
      keep: false,
      onMessage: ({ rcptTo, data }) => {
        const name = /^Reader \d+-\d+\.\r$/m.exec(data.toString('latin1'))?.[0].trim();
        arrivals.push(`${rcptTo.join(' ')} ${name ?? 'no name'}`);
      },
    });
    onTestFinished(() => sink.close());
    const program = await installProgram(sink, () => undefined);
    const template = await publish(program);
    const acknowledged = new Map<number, string[]>();
    let acknowledge = (): void => undefined;

    const clients = Array.from({ length: CLIENTS }, async (_, client) => {
      for (let batch = client; batch < BATCHES; batch += CLIENTS) {
        acknowledged.set(batch, await sendBatch(program, template, batch));
        acknowledge();
      }
    });
    for (let kill = 1; kill <= KILLS; kill++) {
      const enough = Math.floor((BATCHES * kill) / (KILLS + 1));
      await new Promise<void>((done) => {
        acknowledge = () => {
          if (acknowledged.size >= enough) done();
        };
        acknowledge();
      });
      await program.kill();
      await program.start();
    }
    await Promise.all(clients);
    acknowledged.set(BATCHES, await sendBatch(program, template, BATCHES));

    const api = createApi(await program.listening());
    for (const [batch, ids] of acknowledged) {
      for (const [n, id] of ids.entries()) {
        const { status, body: email } = await api('GET', `/emails/${id}`, { key: program.apiKey });
        expect(status).toBe(200);
        expect(email.html).toBe(`<h1>${formatName(batch, n)}</h1>\n${FILLING}`);
        expect(email.text).toBe(formatName(batch, n));
      }
    }
    // Emails that were on their way during a kill may be in doubt, or wait for their next attempt.
    const addresses = Array.from({ length: EMAILS }, (_, n) => `r${BATCHES}-${n}@`);
    await vi.waitUntil(() => addresses.every((address) => arrivals.some((arrival) => arrival.startsWith(address))));
    const wrong = arrivals.filter((arrival) => !/^r(\d+-\d+)@\S+ Reader \1\.$/.test(arrival));
    expect(wrong).toEqual([]);
    await program.stop();
    expect(await bodiesIn(program)).toEqual({ bodies: BATCHES + 1, used: BATCHES + 1, emails: (BATCHES + 1) * EMAILS });
  },
);

async function publish(program: Program): Promise<string> {
  const api = createApi(await program.listening());
  const body = {
    name: 'Large',
    subject: 'Hello',
    html: `<h1>{{{NAME}}}</h1>\n${FILLING}`,
    text: '{{{NAME}}}',
    variables: [{ key: 'NAME', type: 'string' }],
  };
  const { id } = (await api('POST', '/templates', { key: program.apiKey, body })).body;
  expect((await api('POST', `/templates/${id as string}/publish`, { key: program.apiKey })).status).toBe(200);
  return id as string;
}

/** Asks again under the same key until there is an answer. */
async function sendBatch(program: Program, template: string, batch: number): Promise<string[]> {
  const body = Array.from({ length: EMAILS }, (_, n) => ({
    from: program.from,
    to: `r${batch}-${n}@d${n % 3}.example`,
    template: { id: template, variables: { NAME: formatName(batch, n) } },
  }));
  for (;;) {
    const api = createApi(await program.listening());
    const headers = { 'idempotency-key': `batch-${batch}` };
    const answer = await api('POST', '/emails/batch', { key: program.apiKey, body, headers }).catch(() => undefined);
    if (answer?.status === 200) return (answer.body.data as { id: string }[]).map(({ id }) => id);
    // Between two programs nobody answers, and a request whose key is in use gets a 409.
    if (answer && ![409, 503].includes(answer.status)) throw new Error(`${answer.status} ${answer.text}`);
  }
}

/** Counts the shared bodies, those that emails refer to, and the emails that refer to one. */
async function bodiesIn(program: Program): Promise<Record<string, number>> {
  const file = path.join(program.dataDir, 'rasket.db');
  const db = await openDb({ driver, file, url: program.database.url, poolMax: 1 });
  try {
    const count = async (sql: string): Promise<number> => Number((await db.get<{ n: number }>(sql))?.n);
    return {
      bodies: await count('select count(*) as n from shared_bodies'),
      used: await count(
        'select count(distinct s.id) as n from email_bodies b join shared_bodies s on s.id = b.shared_body_id',
      ),
      emails: await count('select count(*) as n from email_bodies where shared_body_id is not null'),
    };
  } finally {
    await db.close();
  }
}
