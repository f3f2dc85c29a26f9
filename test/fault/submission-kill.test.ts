// SMTP clients --> rasket serve (killed again and again) --> sink
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createApi } from '../rig/api.ts';
import { scaled } from '../rig/scale.ts';
import { startSink } from '../rig/sink.ts';
import { connectTo, logIn, submit, type Dialogue } from '../smtp/dialogue.ts';
import { installProgram, type Program } from './program.ts';

const KILLS = 1 + Math.min(11, scaled(1));
const SUBMISSIONS = 20 * KILLS;
const CLIENTS = 12;
/** Every fifth is too large for its row, so that its body is a blob. */
const LARGE_EVERY = 5;

it(
  'kill -9 during SMTP submission stores every message with a 250 once',
  { timeout: Math.max(300_000, SUBMISSIONS * 300) },
  async () => {
    const arrivals = new Map<string, number>();
    const sink = await startSink({
      keep: false,
      onMessage({ data }) {
        const id = /^message-id: *(<[^>]+>)/im.exec(data.toString('latin1'))?.[1] ?? '';
        arrivals.set(id, (arrivals.get(id) ?? 0) + 1);
      },
    });
    onTestFinished(() => sink.close());
    const env = { RASKET_SMTP_HOST: '127.0.0.1', RASKET_SUBMISSION_TLS_PORTS: '0' };
    const program = await installProgram(sink, () => undefined, { env });
    const emailOf = new Map<number, string>();
    let kills = 0;
    let restarting: Promise<void> = Promise.resolve();
    const acknowledged = (n: number, id: string): void => {
      emailOf.set(n, id);
      if (kills >= KILLS || emailOf.size < ((kills + 1) * SUBMISSIONS) / (KILLS + 1)) return;
      kills++;
      restarting = restarting.then(() => program.kill()).then(() => program.start());
    };
    await Promise.all(
      Array.from({ length: CLIENTS }, async (_, first) => {
        let client: Dialogue | undefined;
        for (let n = first; n < SUBMISSIONS; n += CLIENTS) {
          for (let id: string | undefined; id === undefined;) {
            client = client && !client.isOver ? client : await login(program, () => restarting);
            id = await submitOnce(client, program, n);
            if (id !== undefined) acknowledged(n, id);
          }
        }
        client?.end();
      }),
    );
    await restarting;
    const api = createApi(await program.listening());
    const stored = await allEmails(api, program.apiKey);

    const twice = [...arrivals].filter(([, times]) => times > 1);
    console.log(JSON.stringify({ kills, acknowledged: emailOf.size, stored: stored.size, arrived: arrivals.size }));
    expect(kills).toBe(KILLS);
    expect(new Set(emailOf.values()).size).toBe(SUBMISSIONS);
    expect([...emailOf.values()].sort()).toEqual([...stored.values()].flat().sort());
    expect([...stored.values()].filter((ids) => ids.length > 1)).toEqual([]);
    expect(twice).toEqual([]);
  },
);

const formatMessageId = (n: number): string => `<submission-${n}@client.example>`;

/** Submits as a careful client does: under the same key until it is answered. */
async function submitOnce(client: Dialogue, { from }: Program, n: number): Promise<string | undefined> {
  const filler = n % LARGE_EVERY === 0 ? `${'x'.repeat(70)}\r\n`.repeat(1000) : 'x\r\n';
  const reply = await submit(client, {
    from: 'fault@sender.example.com',
    to: [`r${n}@d${n % 7}.example`],
    content: `From: ${from}\r\nMessage-ID: ${formatMessageId(n)}\r\nRasket-Idempotency-Key: s-${n}\r\n\r\n${filler}`,
  });
  const id = /^250 2\.6\.0 Accepted as (\S+)$/.exec(reply)?.[1];
  if (id === undefined && /^[45]/.test(reply) && !reply.startsWith('4')) throw new Error(reply);
  if (id === undefined) client.end();
  return id;
}

async function login(program: Program, restarted: () => Promise<void>): Promise<Dialogue> {
  for (;;) {
    await restarted();
    const client = await connectTo(readPort(program));
    if (client && (await client.line()).startsWith('220') && (await logIn(client, program.apiKey)).startsWith('235')) {
      return client;
    }
    client?.end();
  }
}

function readPort({ dataDir }: Program): number {
  try {
    const ready = JSON.parse(readFileSync(path.join(dataDir, 'run', 'ready.json'), 'utf8')) as {
      listeners: { smtp: { port: number }[] };
    };
    return ready.listeners.smtp[0]?.port ?? 1;
  } catch {
    return 1;
  }
}

/** Every email of the team, by its Message-ID. */
async function allEmails(api: ReturnType<typeof createApi>, key: string): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  for (let after = ''; ;) {
    const { body } = await api('GET', `/emails?limit=100${after}`, { key });
    const page = body.data as { id: string; message_id: string }[];
    for (const { id, message_id: messageId } of page) found.set(messageId, [...(found.get(messageId) ?? []), id]);
    if (!body.has_more) return found;
    after = `&after=${page.at(-1)?.id}`;
  }
}
