import { crc32, deflateRawSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { AnyBody } from '../rig/api.ts';
import { bringMail, createReceivingDomain } from '../rig/mx.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { startClamd, type Clamd } from './clamd.ts';
import { describePeers, findProgram } from './peers.ts';

/** The test file is written in two pieces, so that no scanner finds this one. */
const EICAR = ['X5O!P%@AP[4\\PZX54(P^)7CC)7}$', 'EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*'].join('');

describePeers('clamd', ['clamd'], () => {
  let clamd: Clamd;
  let scene: Scene;
  let team: Team;
  let to: string;
  beforeAll(async () => {
    clamd = await startClamd(findProgram('clamd') ?? '', { name: 'Eicar-Test-Signature', text: EICAR });
    scene = await startScene({
      roles: ['http', 'receiving'],
      config: { receiving: { clamd: `127.0.0.1:${clamd.port}` } },
    });
    team = await scene.team();
    to = `a@${(await createReceivingDomain(scene, team)).name}`;
  });
  afterAll(async () => {
    await scene.close();
    await clamd.close();
  });

  async function bring(content: Buffer | string): Promise<{ reply: string; email?: AnyBody }> {
    const head = [
      'From: a@example.org',
      'Subject: File',
      'MIME-Version: 1.0',
      'Content-Type: multipart/mixed; boundary=b',
    ];
    const file = ['Content-Type: application/octet-stream', 'Content-Transfer-Encoding: base64'];
    const encoded = Buffer.from(content).toString('base64').replace(/.{76}/g, '$&\r\n');
    const raw = [...head, '', '--b', ...file, '', encoded, '--b--', ''].join('\r\n');
    const reply = await bringMail(scene, { to: [to], raw });
    const id = /Stored as (\S+)/.exec(reply)?.[1];
    return id === undefined
      ? { reply }
      : { reply, email: (await scene.api('GET', `/emails/receiving/${id}`, { key: team.key })).body };
  }

  it('reports a virus in an attachment, which is not stored, and other mail is kept', async () => {
    expect((await bring('nothing')).email).toMatchObject({ dropped_reason: null, attachments: [{ size: 7 }] });
    expect((await bring(EICAR)).email).toMatchObject({ dropped_reason: 'virus', attachments: [], raw: null });
    expect((await bring(zipped('eicar.com', EICAR))).email).toMatchObject({ dropped_reason: 'virus' });
  });

  it('defers a message that is larger than its limit or arrives while it is down', async () => {
    expect((await bring(Buffer.alloc(2_000_000, 'x'))).reply).toMatch(/^451 4\.7\.0/);
    await clamd.close();
    expect((await bring('nothing')).reply).toMatch(/^451 4\.7\.0/);
  });
});

/** A ZIP file with one entry. */
function zipped(name: string, text: string): Buffer {
  const packed = deflateRawSync(text);
  const common = Buffer.alloc(26);
  common.writeUInt16LE(20, 0);
  common.writeUInt16LE(8, 4);
  common.writeUInt32LE(crc32(text), 10);
  common.writeUInt32LE(packed.length, 14);
  common.writeUInt32LE(text.length, 18);
  common.writeUInt16LE(name.length, 22);
  const local = Buffer.concat([Buffer.from('PK\x03\x04'), common, Buffer.from(name), packed]);
  const central = Buffer.concat([Buffer.from('PK\x01\x02\x14\x00'), common, Buffer.alloc(14), Buffer.from(name)]);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(1, 8);
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(local.length, 16);
  return Buffer.concat([local, central, end]);
}
