// mail servers --> rasket serve (killed again and again): every report that was answered with 250 counts once
import { expect, it, onTestFinished } from 'vitest';
import { createApi } from '../rig/api.ts';
import { freePort } from '../rig/free-port.ts';
import { dotted } from '../rig/mx.ts';
import { startSink } from '../rig/sink.ts';
import { openDialogue } from '../rig/smtp-dialogue.ts';
import { installProgram } from './program.ts';

const KILLS = 2;
/** One client may bring sixty in an hour. */
const REPORTS = 50;
const SERVERS = 4;
const DOMAIN = 'sender.example.com';
const DAY_S = 86_400;

it(
  'kill -9 loses no report about a domain that was answered with 250, and counts none twice',
  { timeout: 300_000 },
  async () => {
    const sink = await startSink({ keep: false });
    onTestFinished(() => sink.close());
    const port = await freePort();
    const program = await installProgram(sink, () => undefined, {
      env: {
        RASKET_SMTP_HOST: '127.0.0.1',
        RASKET_RECEIVING_PORTS: String(port),
        RASKET_RECEIVING_GREETING_DELAY_MS: '0',
      },
      publish: (dns) => dns.set('reporter.example', 'TXT', [['v=spf1 ip4:127.0.0.1 -all']]),
    });
    const begin = Math.floor(Date.now() / 1000 / DAY_S - 1) * DAY_S;
    const date = new Date(begin * 1000).toISOString().slice(0, 10);

    let taken = 0;
    let next = 0;
    let killAt = REPORTS / (KILLS + 1);
    let reached = Promise.withResolvers<void>();
    const server = async (): Promise<void> => {
      for (let n = next++; n < REPORTS; n = next++) {
        // A mail server repeats a message that was not answered.
        while (!(await bring(port, buildReport(n, begin))).startsWith('250 ')) {
          await program.listening().catch(() => undefined);
        }
        taken++;
        if (taken >= killAt) reached.resolve();
      }
    };
    const servers = Promise.all(Array.from({ length: SERVERS }, server));
    for (let kill = 1; kill <= KILLS; kill++) {
      await reached.promise;
      reached = Promise.withResolvers();
      killAt = (REPORTS * (kill + 1)) / (KILLS + 1);
      await program.kill();
      await program.start();
    }
    await servers;

    const api = createApi(await program.listening());
    const { body: domains } = await api('GET', '/domains', { key: program.apiKey });
    const path = `/domains/${domains.data[0].id}/reports/summary?start_date=${date}&end_date=${date}`;
    expect((await api('GET', path, { key: program.apiKey })).body).toMatchObject({
      reports: { dmarc: REPORTS, unauthenticated: 0 },
      dmarc: { messages: REPORTS, sources: [{ source_ip: '192.0.2.1', messages: REPORTS }] },
    });
    await program.stop();
  },
);

const buildReport = (n: number, begin: number): string =>
  [
    'From: reports@reporter.example',
    'Content-Type: text/xml; name=r.xml',
    'Content-Disposition: attachment; filename=r.xml',
    '',
    `<feedback><report_metadata><org_name>R</org_name><report_id>${n}</report_id>`,
    `<date_range><begin>${begin}</begin><end>${begin + DAY_S - 1}</end></date_range></report_metadata>`,
    `<policy_published><domain>${DOMAIN}</domain></policy_published>`,
    '<record><row><source_ip>192.0.2.1</source_ip><count>1</count></row></record></feedback>',
    '',
  ].join('\r\n');

async function bring(port: number, raw: string): Promise<string> {
  const client = await openDialogue(port);
  try {
    await client.hear();
    const to = `reports@send.${DOMAIN}`;
    const lines = ['EHLO mx.example.org', 'MAIL FROM:<a@reporter.example>', `RCPT TO:<${to}>`, 'DATA'];
    for (const line of lines) if (!/^[23]/.test(await client.say(line))) return '';
    return await client.say(dotted(raw));
  } finally {
    client.end();
  }
}
