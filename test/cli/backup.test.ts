import fs from 'node:fs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startApp } from '../../src/app.ts';
import { readContent } from '../../src/mail/contents/index.ts';
import { mailIn } from '../flow/mail.ts';
import { driver } from '../rig/database.ts';
import { blobsIn, startObjectServer } from '../rig/object-server.ts';
import { buildPng } from '../rig/pictures.ts';
import { startScene } from '../rig/scene.ts';
import { Desk, expectOneLine } from './desk.ts';

vi.setConfig({ testTimeout: 180_000 });

let desk: Desk;
beforeEach(() => {
  desk = new Desk();
});
afterEach(() => desk.clear());

describe('rasket backup', () => {
  // skipped because a PostgreSQL database is backed up there
  it.skipIf(driver === 'pg')(
    'does not overwrite a folder with the name of an unfinished one, and makes one of two concurrent backups',
    async () => {
      expect(await desk.rasket(['init', '--data', 'data'])).toMatchObject({ code: 0 });
      desk.write('mine.part/file', 'precious');
      expectOneLine(
        await desk.rasket(['backup', 'mine', '--data', 'data']),
        /mine\.part is there: another backup .* remove it once/,
      );
      expect(fs.readFileSync(desk.at('mine.part/file'), 'utf8')).toBe('precious');
      expect(fs.existsSync(desk.at('mine'))).toBe(false);

      const both = await Promise.all([1, 2].map(() => desk.rasket(['backup', 'one', '--data', 'data'])));
      expect(both.filter(({ code }) => code === 0).length, JSON.stringify(both)).toBe(1);
      expect(await desk.rasket(['backup', 'verify', 'one'])).toMatchObject({ code: 0 });
      expect(fs.existsSync(desk.at('one.part'))).toBe(false);
    },
  );

  // skipped because a PostgreSQL database is backed up there
  it.skipIf(driver === 'pg')('says where content in an object store remains, and that it was not read', async () => {
    await using server = await startObjectServer();
    const storage = { inline_bytes: 0, row_bytes: 0 };
    await using scene = await startScene({ roles: ['http'], config: { blobs: blobsIn(server, {}), storage } });
    const mail = await mailIn(scene);
    await mail.send('x@one.example', { html: '<p>In the store.</p>' });
    const env = {
      RASKET_BLOBS_STORE: 's3',
      RASKET_BLOBS_ENDPOINT: server.endpoint,
      RASKET_BLOBS_BUCKET: server.bucket,
      RASKET_BLOBS_REGION: server.region,
      RASKET_BLOBS_ACCESS_KEY: server.accessKey,
      RASKET_BLOBS_SECRET_KEY: server.secretKey,
    };
    const says = `Content stays in s3://mail at ${server.endpoint} and was not checked: let the bucket keep old versions`;
    const made = await desk.rasket(['backup', 'copy', '--data', scene.dataDir], { env });
    expect(made).toMatchObject({ code: 0, stderr: '' });
    expect(made.stdout).toMatch(/copy contains the database, the keys, and was verified\.$/m);
    expect(made.stdout).toContain(says);
    expect(JSON.parse(fs.readFileSync(desk.at('copy/backup.json'), 'utf8'))).toMatchObject({
      content: 0,
      content_in: `s3://mail at ${server.endpoint}`,
    });
    expect(fs.existsSync(desk.at('copy/blobs'))).toBe(false);
    // A missing content is no fault, as the message says.
    server.objects.clear();
    const verified = await desk.rasket(['backup', 'verify', 'copy']);
    expect(verified).toMatchObject({ code: 0, stderr: '' });
    expect(verified.stdout).toContain(says);
  });

  // skipped because a PostgreSQL database is backed up there
  it.skipIf(driver === 'pg')(
    'makes a folder that, once confirmed, sends the waiting mail, also when mail is accepted meanwhile',
    async () => {
      // Accepts and sends nothing: all of it waits. What is large is kept in files, the rest in the database.
      await using scene = await startScene({ roles: ['http'] });
      const mail = await mailIn(scene);
      const content = Buffer.from('kept in the backup').toString('base64');
      const attachments = [{ filename: 'kept.txt', content }];
      const waiting = await mail.send('x@one.example', { attachments, html: `<p>${'y'.repeat(400_000)}</p>` });
      const pictures = [buildPng(6, 2), buildPng(6, 2, { padding: 400_000 })];
      const images: string[] = [];
      for (const body of pictures)
        images.push((await scene.api('POST', '/images', { key: mail.team.key, body })).body.id as string);
      fs.writeFileSync(`${scene.dataDir}/office.key`, 'of a name server');
      const [made, ...during] = await Promise.all([
        desk.rasket(['backup', 'copies/monday', '--data', scene.dataDir]),
        ...Array.from({ length: 20 }, (_, n) => mail.send(`during${n}@one.example`, { attachments })),
      ]);
      expect(made, made.stderr).toMatchObject({ code: 0, stderr: '' });
      expect(during).toHaveLength(20);
      expect(fs.readdirSync(desk.at('copies'))).toEqual(['monday']);
      const folder = desk.at('copies/monday');
      expect(fs.readdirSync(folder).sort()).toEqual([
        'SHA256SUMS',
        'backup.json',
        'blobs',
        'copy-made-at',
        'installation.id',
        'instance.key',
        'office.key',
        'rasket.db',
        'verification.json',
      ]);
      expect(fs.statSync(folder).mode & 0o777).toBe(0o700);
      expect(fs.statSync(`${folder}/instance.key`).mode & 0o777).toBe(0o600);
      expectOneLine(
        await desk.rasket(['backup', 'copies/monday', '--data', scene.dataDir]),
        /contains files; choose a new/,
      );
      const after = await mail.send('after@one.example');
      await scene.app.close(0);

      const looked = await desk.rasket(['doctor'], { env: { RASKET_DATA: folder } });
      expect(looked.stdout).toMatch(/\brestored\b.*rasket sending on/s);
      // Sending is confirmed before any server starts: the confirmation is about the copy, and stays.
      const shown = await desk.rasket(['sending', '--data', folder]);
      expect(shown.stdout).toMatch(/^Sending is off: restored from a backup of 2.*, not confirmed\.\n$/);
      const confirmed = await desk.rasket(['sending', 'on', '--data', folder]);
      expect(confirmed.stdout).toBe('Sending is on.\n');
      const { config, clock, log } = scene.app.world;
      const app = await startApp({ config, dataDir: folder, clock, log, version: '0.0.0-test', roles: ['delivery'] });
      await app.queue?.idle();
      const arrived = scene.sink.messages.filter(({ rcptTo }) => rcptTo.join() === 'x@one.example');
      expect(arrived).toHaveLength(1);
      const bytes = arrived[0]?.data.toString('latin1') ?? '';
      expect(bytes).toContain(content);
      expect(bytes).toMatch(/^DKIM-Signature:/m);
      const states = await app.world.db.all<{ id: string; last_event: string }>('select id, last_event from emails');
      expect(states.find(({ id }) => id === waiting)?.last_event).toBe('delivered');
      expect(new Set(states.map((row) => row.last_event))).toEqual(new Set(['delivered']));
      expect(states.map(({ id }) => id)).not.toContain(after);
      const kept = await Promise.all(images.map((id) => readContent(app.world, `${id}/image`)));
      expect(kept.map((bytes, i) => pictures[i]?.equals(bytes))).toEqual([true, true]);
      await app.close(0);
      expect(fs.readdirSync(folder), 'it is no backup any more').not.toContain('backup.json');
    },
  );
});
