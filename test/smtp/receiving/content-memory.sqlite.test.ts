import { readdirSync, readlinkSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { dotted, mxPort, createReceivingDomain } from '../../rig/mx.ts';
import { startScene, type Scene } from '../../rig/scene.ts';
import { openDialogue, type Dialogue } from '../../rig/smtp-dialogue.ts';
import { hearGreeting, openTransaction } from './opened.ts';

const MB = 1024 * 1024;
const GREEDY = '127.0.0.2';
const text = (bytes: number): string => `From: a@example.org\r\n\r\n${`${'x'.repeat(78)}\r\n`.repeat(bytes / 80)}`;

/** They have no name, so that only the process knows them. */
function openScratchFiles(): string[] {
  const files = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return '';
    }
  });
  return files.filter((file) => file.includes('/.scratch-'));
}

async function open(scene: Scene, to: string, from: string): Promise<Dialogue> {
  const client = await openDialogue(mxPort(scene), '127.0.0.1', from);
  await openTransaction(client, to);
  return client;
}

describe('the memory for incoming messages', () => {
  it('is not used up by a client that ends no message', async () => {
    await using scene = await startScene({
      roles: ['http', 'receiving'],
      config: { receiving: { memory_bytes: 16 * MB, spool_bytes: 16 * MB, judge_seconds: 5 } },
    });
    const team = await scene.team();
    const { name } = await createReceivingDomain(scene, team);
    const greedy: Dialogue[] = [];
    for (let i = 0; i < 6; i++) {
      const client = await open(scene, `g${i}@${name}`, GREEDY);
      client.send(text(4 * MB));
      greedy.push(client);
    }
    // By then most of that has been heard.
    const witness = await open(scene, `w@${name}`, GREEDY);
    expect(await witness.say(dotted(text(1000)))).toMatch(/^250 /);
    for (const bytes of [1000, 2 * MB]) {
      const client = await open(scene, `b@${name}`, '127.0.0.3');
      expect(await client.say(dotted(text(bytes))), `${bytes} bytes`).toMatch(/^250 /);
      client.end();
    }
    // Bytes that came fast do not pay for silence.
    scene.clock.advance(61_000);
    for (const client of greedy) expect(await client.hear()).toMatch(/^4\d\d /);
    const after = await open(scene, `g@${name}`, GREEDY);
    expect(await after.say(dotted(text(4 * MB)))).toMatch(/^250 /);
    for (const client of [...greedy, witness, after]) client.end();
  });

  it('does not limit the total: large messages wait in files, and are processed in turns', async () => {
    await using scene = await startScene({
      roles: ['http', 'receiving'],
      config: { receiving: { memory_bytes: 2 * MB, judge_seconds: 5 } },
    });
    const team = await scene.team();
    const { name } = await createReceivingDomain(scene, team);
    const clients = await Promise.all(
      Array.from({ length: 8 }, (_, i) => open(scene, `l${i}@${name}`, `127.0.0.${i + 2}`)),
    );
    const replies = await Promise.all(clients.map((client) => client.say(dotted(text(3 * MB)))));
    for (const reply of replies) expect(reply).toMatch(/^250 /);
    for (const client of clients) client.end();
    const { data } = (await scene.api('GET', '/emails/receiving', { key: team.key })).body;
    expect(data).toHaveLength(8);
    expect(openScratchFiles()).toEqual([]);
  });

  it('makes MAIL of an announced message that is too large for the free space fail temporarily', async () => {
    await using scene = await startScene({
      roles: ['http', 'receiving'],
      config: { receiving: { spool_bytes: 2 * MB } },
    });
    const client = await openDialogue(mxPort(scene));
    await hearGreeting(client);
    const asked = (bytes: number) => client.say(`MAIL FROM:<a@example.org> SIZE=${bytes}`);
    expect(await asked(3 * MB)).toBe('452 4.3.1 Too much mail is coming in; try again in a minute');
    expect(await asked(MB)).toMatch(/^250 /);
    client.end();
  });
});
