// mail servers --> rasket serve (killed again and again): every 250 is there once, and none twice
import { expect, it, onTestFinished } from 'vitest';
import { freePort } from '../rig/free-port.ts';
import { createApi, type Api } from '../rig/api.ts';
import { dotted } from '../rig/mx.ts';
import { scaled } from '../rig/scale.ts';
import { startSink } from '../rig/sink.ts';
import { openDialogue } from '../rig/smtp-dialogue.ts';
import { installProgram } from './program.ts';
import { allReceived, receiveAt } from './received.ts';

const KILLS = Math.min(12, scaled(2));
const MESSAGES = 15 * KILLS;
const SERVERS = 8;
const DOMAIN = 'sender.example.com';

it(
  'kill -9 loses no received message that was answered with 250, and stores none twice',
  { timeout: 300_000 + MESSAGES * 100 },
  async () => {
    const sink = await startSink({ keep: false });
    onTestFinished(() => sink.close());
    const port = await freePort();
    const env = {
      RASKET_SMTP_HOST: '127.0.0.1',
      RASKET_SMTP_MAX_CONNECTIONS_PER_ADDRESS: '100',
      RASKET_RECEIVING_PORTS: String(port),
      RASKET_RECEIVING_GREETING_DELAY_MS: '0',
      RASKET_RECEIVING_MESSAGES_PER_MINUTE_PER_ADDRESS: '1000000',
    };
    const program = await installProgram(sink, () => undefined, { env });
    const api = (): Promise<Api> => program.listening().then(createApi);
    await receiveAt(await api(), program);

    let taken = 0;
    let next = 0;
    let tries = 0;
    let killAt = MESSAGES / (KILLS + 1);
    let reached = Promise.withResolvers<void>();
    const server = async (): Promise<void> => {
      for (let n = next++; n < MESSAGES; n = next++) {
        // A mail server repeats a message that was not answered, with the same bytes.
        for (let isTaken = false; !isTaken;) {
          tries++;
          isTaken = (await bring(port, n)).startsWith('250 ');
          if (!isTaken) await program.listening().catch(() => undefined);
        }
        taken++;
        if (taken >= killAt) reached.resolve();
      }
    };
    const servers = Promise.all(Array.from({ length: SERVERS }, server));
    for (let kill = 1; kill <= KILLS; kill++) {
      await reached.promise;
      reached = Promise.withResolvers();
      killAt = (MESSAGES * (kill + 1)) / (KILLS + 1);
      await program.kill();
      await program.start();
    }
    await servers;

    const there = await allReceived(await api(), program.apiKey);
    const ids = there.map((one) => one.message_id);
    expect(new Set(ids).size).toBe(MESSAGES);
    expect(ids).toHaveLength(MESSAGES);
    expect(there.filter((one) => one.dropped_reason !== null)).toEqual([]);
    // Each has its source, also the one that the kill came between.
    const call = await api();
    for (const { id, subject } of there.filter((_, n) => n % 10 === 0)) {
      const { raw } = (await call('GET', `/emails/receiving/${id}`, { key: program.apiKey })).body;
      const source = await fetch(raw.download_url, { headers: { 'user-agent': 'test' } });
      expect(await source.text()).toBe(buildMessage(Number(subject)));
    }
    console.log(JSON.stringify({ messages: MESSAGES, kills: KILLS, tries }));
    await program.stop();
  },
);

const buildMessage = (n: number): string =>
  `Subject: ${n}\r\nMessage-ID: <${n}@kill.example>\r\n\r\n${'some text\r\n'.repeat(n % 50)}.. and a dot\r\n.\r\n`;

async function bring(port: number, n: number): Promise<string> {
  const client = await openDialogue(port);
  try {
    await client.hear();
    const lines = ['EHLO mx.example.org', 'MAIL FROM:<a@example.org>', `RCPT TO:<n${n}@${DOMAIN}>`, 'DATA'];
    for (const line of lines) if (!/^[23]/.test(await client.say(line))) return '';
    return await client.say(dotted(buildMessage(n)));
  } finally {
    client.end();
  }
}
