import { readFileSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { createApi } from '../../rig/api.ts';
import { freePort } from '../../rig/free-port.ts';
import { startSink } from '../../rig/sink.ts';
import { openDialogue } from '../../rig/smtp-dialogue.ts';
import { installProgram } from '../../fault/program.ts';
import { openTransaction } from './opened.ts';

const MB = 1024 * 1024;
/** No group of this base64 is whole, and each padding ends one. */
const GARBAGE = Buffer.from('!@#$=A=\r\nQU=\r\n'.repeat(20_000));
const DOTS = Buffer.from('..\r\n'.repeat(16_384));
const head = (encoding: string): string =>
  `From: a@example.org\r\nSubject: much\r\nContent-Type: application/octet-stream; name=a.bin\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n`;

/** Returns the memory of the process itself, in MB. */
const anonymousMb = (pid: number): number =>
  Number(/^RssAnon:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

it('content that is crafted to use memory costs the server no more than other content of its size', async () => {
  const sink = await startSink();
  onTestFinished(() => sink.close());
  const port = await freePort();
  let pid = 0;
  const unread: unknown[] = [];
  const program = await installProgram(
    sink,
    (line) => {
      if (line.msg === 'ready') pid = line['pid'] as number;
      if (line.msg === 'a received message could not be read') unread.push(line['because']);
    },
    { env: { RASKET_RECEIVING_PORTS: `${port}`, RASKET_RECEIVING_GREETING_DELAY_MS: '0' } },
  );
  const api = createApi(await program.listening());
  const { data } = (await api('GET', '/domains', { key: program.apiKey })).body;
  const body = { capabilities: { receiving: 'enabled' }, confirm_replace_mx: true };
  expect((await api('PATCH', `/domains/${data[0].id}`, { key: program.apiKey, body })).status).toBe(200);

  const bring = async (encoding: string, block: Buffer, bytes: number, from = '127.0.0.1'): Promise<void> => {
    const client = await openDialogue(port, '127.0.0.1', from);
    await openTransaction(client, `in@${data[0].name}`);
    client.send(head(encoding));
    for (let sent = 0; sent < bytes; sent += block.length) await client.flow(block);
    expect(await client.say('\r\n.')).toMatch(/^250 /);
    client.end();
  };
  const figures: Record<string, number[]> = { garbage: [], dots: [] };
  for (let n = 0; n < 4; n++) {
    await bring('base64', GARBAGE, 45 * MB);
    figures['garbage']!.push(anonymousMb(pid));
  }
  for (let n = 0; n < 2; n++) {
    await Promise.all(Array.from({ length: 10 }, (_, i) => bring('7bit', DOTS, 1.2 * MB, `127.0.0.${i + 2}`)));
    figures['dots']!.push(anonymousMb(pid));
  }
  // All of it was read, and no thread was stopped for it.
  expect(unread).toEqual([]);
  // It was 120 before a thread took part; 285, 480 and 700 were seen after one, two and three messages that stopped it.
  expect(Math.max(...figures['garbage']!), JSON.stringify(figures)).toBeLessThan(250);
  expect(Math.max(...figures['dots']!), JSON.stringify(figures)).toBeLessThan(250);
}, 480_000);
