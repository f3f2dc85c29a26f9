import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { callMx, createReceivingDomain } from '../../rig/mx.ts';
import { startScene } from '../../rig/scene.ts';
import { openTransaction } from './opened.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
const MB = 1_000_000;
/** Linux knows the peak of a process, and forgets it when it is told to. */
const PEAK = '/proc/self/clear_refs';
const peakBytes = (): number =>
  Number(/^VmHWM:\s*(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) * 1024;

// runs only where the system keeps the peak of a process.
it.skipIf(!existsSync(PEAK))(
  'the first received message of 50 MB costs less than 350 MB of memory, client included',
  async () => {
    await using scene = await startScene({ roles: ['http', 'receiving'] });
    const team = await scene.team();
    const { name } = await createReceivingDomain(scene, team);
    const block = Buffer.from(`${'QUJD'.repeat(19)}\r\n`.repeat(1000));
    const client = await callMx(scene);
    await openTransaction(client, `b@${name}`);
    collectGarbage();
    const before = process.memoryUsage().rss;
    writeFileSync(PEAK, '5');
    const head = 'From: a@example.org\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n';
    client.send(`${head}Content-Type: application/pdf\r\nContent-Transfer-Encoding: base64\r\n\r\n`);
    let sent = 0;
    for (; sent < 49 * MB; sent += block.length) await client.flow(block);
    expect(await client.say(Buffer.from('\r\n--b--\r\n.\r\n'))).toMatch(/^250 /);
    const peak = peakBytes();
    client.end();
    const [{ id }] = (await scene.api('GET', '/emails/receiving', { key: team.key })).body.data;
    const { attachments } = (await scene.api('GET', `/emails/receiving/${id}`, { key: team.key })).body;
    expect(attachments).toMatchObject([{ size: (sent / block.length) * 1000 * 57 }]);
    expect((peak - before) / MB).toBeLessThan(350);
  },
  120_000,
);
