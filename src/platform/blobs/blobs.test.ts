import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isDatabaseSetback } from '../db/index.ts';
import { openFileBlobs, type Blobs } from './index.ts';

const OWNER = '018bcfe5-6800-7000-8000-0000000000ab';
let root: string;
let blobs: Blobs;
beforeEach(() => {
  root = path.join(mkdtempSync(path.join(os.tmpdir(), 'rasket-blobs-')), 'blobs');
  blobs = openFileBlobs(root);
});
afterEach(() => rmSync(path.dirname(root), { recursive: true, force: true }));

const folder = () => path.join(root, 'ab', OWNER);
async function ownersBefore(ms: number): Promise<string[]> {
  const owners: string[] = [];
  for await (const owner of blobs.owners(ms)) owners.push(owner);
  return owners;
}

describe('linked blobs', () => {
  const OTHER = '018bcfe5-6800-7000-8000-0000000000cd';
  const locateFile = (owner: string, name: string) => path.join(root, owner.slice(-2), owner, name);

  it('share one content without a copy, and either can be removed without the other', async () => {
    await blobs.put(`${OWNER}/a`, Buffer.from('the content'));
    await blobs.put(`${OTHER}/b`, Buffer.from('replaced'));
    await blobs.linkAll([
      { from: `${OWNER}/a`, to: `${OTHER}/b` },
      { from: `${OWNER}/a`, to: `${OTHER}/c` },
    ]);
    // The same link is made again, as happens after a crash.
    await blobs.linkAll([{ from: `${OWNER}/a`, to: `${OTHER}/b` }]);
    expect(statSync(locateFile(OTHER, 'b')).ino).toBe(statSync(locateFile(OWNER, 'a')).ino);
    expect(readdirSync(path.join(root, 'cd', OTHER)).sort()).toEqual(['b', 'c']);
    await blobs.remove(OWNER);
    expect((await blobs.get(`${OTHER}/b`)).toString()).toBe('the content');
    // A write under a name replaces the content of that name alone.
    await blobs.put(`${OTHER}/b`, Buffer.from('another'));
    expect((await blobs.get(`${OTHER}/c`)).toString()).toBe('the content');
  });

  it('are refused when the source is missing, and nothing is created', async () => {
    const links = [{ from: `${OWNER}/gone`, to: `${OTHER}/b` }];
    await expect(blobs.linkAll(links)).rejects.toMatchObject({ code: 'ENOENT' });
    expect(readdirSync(path.join(root, 'cd', OTHER))).toEqual([]);
  });

  it('can be removed one by one, and a missing one is ignored', async () => {
    await blobs.putAll(['a', 'b'].map((name) => ({ key: `${OWNER}/${name}`, content: Buffer.from(name) })));
    await blobs.removeKeys([`${OWNER}/a`, `${OWNER}/z`]);
    expect(readdirSync(folder())).toEqual(['b']);
  });
});

describe('put and get', () => {
  it('read a blob piece by piece with its size, and find nothing when it does not exist', async () => {
    await blobs.put(`${OWNER}/body`, Buffer.alloc(300_000, 'x'));
    const opened = await blobs.open(`${OWNER}/body`);
    const pieces = (await opened?.content.toArray()) as Buffer[];
    expect([opened?.size, Buffer.concat(pieces).equals(Buffer.alloc(300_000, 'x'))]).toEqual([300_000, true]);
    expect(pieces.length).toBeGreaterThan(1);
    expect(await blobs.open(`${OWNER}/other`)).toBeUndefined();
    expect(await blobs.open('nobody-at-all/body')).toBeUndefined();
  });

  it('return exactly the stored bytes', async () => {
    for (const bytes of [Buffer.alloc(0), Buffer.from([0, 255, 10, 13]), Buffer.alloc(3_000_000, 'x')]) {
      await blobs.put(`${OWNER}/body`, bytes);
      expect((await blobs.get(`${OWNER}/body`)).equals(bytes)).toBe(true);
    }
  });

  it('replace the blob when a key is written again', async () => {
    await blobs.put(`${OWNER}/body`, Buffer.from('a long first text'));
    await blobs.put(`${OWNER}/body`, Buffer.from('second'));
    expect((await blobs.get(`${OWNER}/body`)).toString()).toBe('second');
    expect(readdirSync(folder())).toEqual(['body']);
  });

  it('store one of the written texts, whole, when several writers use one key at once', async () => {
    const texts = Array.from({ length: 8 }, (_, i) => Buffer.alloc(200_000 + i, String(i)));
    await Promise.all(texts.map((text) => blobs.put(`${OWNER}/body`, text)));
    const kept = await blobs.get(`${OWNER}/body`);
    expect(texts.some((text) => text.equals(kept))).toBe(true);
    expect(readdirSync(folder())).toEqual(['body']);
  });

  it('make files and folders readable only for their owner', async () => {
    await blobs.put(`${OWNER}/body`, Buffer.from('x'));
    expect(statSync(path.join(folder(), 'body')).mode & 0o777).toBe(0o600);
    expect(statSync(folder()).mode & 0o777).toBe(0o700);
  });

  it('fail with ENOENT for a blob that was never stored', async () => {
    await expect(blobs.get(`${OWNER}/body`)).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

describe('putAll', () => {
  const other = OWNER.replace('018b', '018c');
  const keys = Array.from({ length: 60 }, (_, i) => `${i % 2 ? OWNER : other}/${i}`);

  it('writes files of several owners, and creates nothing for an empty list', async () => {
    await blobs.putAll([]);
    expect(existsSync(root)).toBe(false);
    await blobs.putAll(keys.map((key) => ({ key, content: Buffer.from(key) })));
    for (const key of keys) expect((await blobs.get(key)).toString()).toBe(key);
    expect(readdirSync(folder())).toHaveLength(30);
  });

  it('fails as a whole when one file cannot be written, and only after the last write has ended', async () => {
    mkdirSync(folder(), { recursive: true });
    for (let put = 1; put <= keys.length; put++) {
      symlinkSync('/dev/full', path.join(folder(), `full.${process.pid}-${put}.part`));
    }
    const all = [...keys, `${OWNER}/full`].map((key) => ({ key, content: Buffer.from(key) }));
    all.unshift(...all.splice(-1));
    await expect(blobs.putAll(all)).rejects.toMatchObject({ code: 'ENOSPC' });
    const left = readdirSync(folder()).filter((name) => !name.startsWith('full.'));
    // Writes that had begun in parallel are complete; the others were not begun.
    expect(left.length).toBeLessThan(30);
    for (const name of left) expect((await blobs.get(`${OWNER}/${name}`)).toString()).toBe(`${OWNER}/${name}`);
  });
});

describe('a blob key cannot leave its folder', () => {
  it.each([
    'body',
    '/body',
    `${OWNER}/`,
    `${OWNER}/..`,
    `${OWNER}/.`,
    `${OWNER}/.hidden`,
    `${OWNER}/../other`,
    `../${OWNER}`,
    `../../etc/passwd`,
    `${OWNER}/a/b`,
    `${OWNER}/body.1-1.part`,
    `${OWNER}/bo\0dy`,
    `a/b`,
    `${OWNER}/body\n`,
  ])('the key %j is refused', async (key) => {
    await expect(blobs.put(key, Buffer.from('x'))).rejects.toThrow(/blob/);
    await expect(blobs.get(key)).rejects.toThrow(/blob/);
    await expect(blobs.open(key)).rejects.toThrow(/blob/);
    expect(existsSync(root)).toBe(false);
  });

  it.each(['', '.', '..', '/', 'a', `${OWNER}/body`, '../blobs'])('removing the owner %j is refused', async (owner) => {
    await blobs.put(`${OWNER}/body`, Buffer.from('x'));
    await expect(blobs.remove(owner)).rejects.toThrow(/the blob owner .* is not an id/);
    expect((await blobs.get(`${OWNER}/body`)).toString()).toBe('x');
  });
});

describe('remove', () => {
  it('removes all blobs of one owner and none of another, and may be repeated', async () => {
    const other = OWNER.replace('018b', '018c');
    for (const key of [`${OWNER}/a`, `${OWNER}/b`, `${other}/a`]) await blobs.put(key, Buffer.from(key));
    await blobs.remove(OWNER);
    await blobs.remove(OWNER);
    await expect(blobs.get(`${OWNER}/a`)).rejects.toMatchObject({ code: 'ENOENT' });
    expect((await blobs.get(`${other}/a`)).toString()).toBe(`${other}/a`);
  });
});

describe('owners', () => {
  it('are listed when their folder is old enough, and other files in the folder are ignored', async () => {
    expect(await ownersBefore(Date.now())).toEqual([]);
    await blobs.put(`${OWNER}/a`, Buffer.from('x'));
    const young = OWNER.replace('018b', '018c');
    await blobs.put(`${young}/a`, Buffer.from('x'));
    mkdirSync(path.join(root, 'ab', 'lost+found'));
    await blobs.check();
    const longAgo = new Date(1_000_000);
    for (const name of [OWNER, 'lost+found']) utimesSync(path.join(root, 'ab', name), longAgo, longAgo);
    expect(await ownersBefore(2_000_000)).toEqual([OWNER]);
  });
});

describe('after a failure', () => {
  it('a partial file that a crash left is never read and does not prevent the next write', async () => {
    mkdirSync(folder(), { recursive: true });
    writeFileSync(path.join(folder(), `body.${process.pid}-1.part`), 'hal');
    await expect(blobs.get(`${OWNER}/body`)).rejects.toMatchObject({ code: 'ENOENT' });
    await blobs.put(`${OWNER}/body`, Buffer.from('whole'));
    expect((await blobs.get(`${OWNER}/body`)).toString()).toBe('whole');
  });

  it('a full disk is reported as a setback, leaves no partial file and keeps the previous content', async () => {
    await blobs.put(`${OWNER}/body`, Buffer.from('before'));
    // Every write to this device fails as on a full disk.
    symlinkSync('/dev/full', path.join(folder(), `body.${process.pid}-2.part`));
    const failure: unknown = await blobs.put(`${OWNER}/body`, Buffer.from('after')).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'ENOSPC' });
    expect(isDatabaseSetback(failure)).toBe(true);
    expect(readdirSync(folder())).toEqual(['body']);
    expect((await blobs.get(`${OWNER}/body`)).toString()).toBe('before');
    await blobs.put(`${OWNER}/body`, Buffer.from('after'));
    expect((await blobs.get(`${OWNER}/body`)).toString()).toBe('after');
  });

  it('check() reports whether the folder is writable', async () => {
    await blobs.check();
    expect(readdirSync(root)).toEqual([]);
    rmSync(root, { recursive: true });
    writeFileSync(root, 'a file where the folder should be');
    await expect(blobs.check()).rejects.toThrow();
  });
});
