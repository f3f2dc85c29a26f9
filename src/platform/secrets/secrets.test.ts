import { mkdtempSync, rmSync, statSync, writeFileSync, readFileSync, readdirSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  createInstanceKey,
  hashToken,
  instanceKeyPath,
  computeKeyId,
  newToken,
  openSecrets,
  readInstanceKeys,
  secretsFrom,
  writeInstanceKeys,
} from './index.ts';

const secrets = secretsFrom(Buffer.alloc(32, 7));

describe('a sealed text', () => {
  it('opens to the sealed text, whatever its characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (plain) => {
        expect(secrets.open(secrets.seal(plain, 'test', 'a'), 'test', 'a')).toBe(plain);
      }),
    );
  });

  it('looks different each time and does not reveal its content', () => {
    const one = secrets.seal('top secret', 'test', 'a');
    const two = secrets.seal('top secret', 'test', 'a');
    expect(one).not.toBe(two);
    expect(Buffer.from(one.split('.')[3] ?? '', 'base64').toString('latin1')).not.toContain('secret');
  });

  it('opens only for its own purpose, row and instance', () => {
    const sealed = secrets.seal('key', 'dkim private key', 'a');
    expect(() => secrets.open(sealed, 'webhook secret', 'a')).toThrow();
    expect(() => secrets.open(sealed, 'dkim private key', 'b')).toThrow();
    expect(() => secretsFrom(Buffer.alloc(32, 8)).open(sealed, 'dkim private key', 'a')).toThrow(
      /^a sealed dkim private key needs the key [0-9a-f]{12}, which this node's instance\.key does not hold$/,
    );
    const [format, , ...rest] = sealed.split('.');
    const asIfOfAnother = [format, computeKeyId(Buffer.alloc(32, 8)), ...rest].join('.');
    expect(() => secretsFrom(Buffer.alloc(32, 8)).open(asIfOfAnother, 'dkim private key', 'a')).toThrow();
  });

  it('in the previous format opens for its purpose, whatever its row', () => {
    const sealed = 'v1.cIj6SoGKZHJOEgzw.NzgysA2yfyQMuCDG3+o4S0JJ2JM8Kp5Dw/EKn09dQg==';
    for (const row of ['a', 'b']) expect(secrets.open(sealed, 'test', row)).toBe('a key of before');
    expect(() => secrets.open(sealed, 'another', 'a')).toThrow();
    expect(() => secretsFrom(Buffer.alloc(32, 8)).open(sealed, 'test', 'a')).toThrow();
  });

  it('does not open when a single bit was changed', () => {
    const [format, keyId, nonce = '', body = ''] = secrets.seal('key', 'test', 'a').split('.');
    for (const [at, text] of [nonce, body].entries()) {
      for (let bit = 0; bit < Buffer.from(text, 'base64').length * 8; bit++) {
        const bytes = Buffer.from(text, 'base64');
        bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        const changed = bytes.toString('base64');
        const sealed = [format, keyId, at === 0 ? changed : nonce, at === 1 ? changed : body].join('.');
        expect(() => secrets.open(sealed, 'test', 'a')).toThrow();
      }
    }
  });

  it('does not open when it was truncated, because a shorter tag could be guessed', () => {
    for (const plain of ['a text of some length', '']) {
      const [format, keyId, nonce, body = ''] = secrets.seal(plain, 'test', 'a').split('.');
      const bytes = Buffer.from(body, 'base64');
      for (let length = 0; length < bytes.length; length++) {
        const cut = bytes.subarray(0, length).toString('base64');
        expect(() => secrets.open([format, keyId, nonce, cut].join('.'), 'test', 'a')).toThrow();
      }
    }
  });

  it.each(['', 'v1', 'v1.a', 'v2.AAAA.AAAA', 'plain text'])(
    'cannot be %j, and the error does not repeat it',
    (text) => {
      expect(() => secrets.open(text, 'test', 'a')).toThrow(/^a sealed test has an unknown format$/);
    },
  );
});

it('a MAC depends on key, purpose and data', () => {
  const data = Buffer.from('data');
  const mac = secrets.mac('a', data).toString('hex');
  expect(secrets.mac('a', data).toString('hex')).toBe(mac);
  expect(secrets.mac('b', data).toString('hex')).not.toBe(mac);
  expect(secrets.mac('a', Buffer.from('Data')).toString('hex')).not.toBe(mac);
  expect(secretsFrom(Buffer.alloc(32, 8)).mac('a', data).toString('hex')).not.toBe(mac);
});

it('a token has 192 random bits after its prefix, and its hash is not the token', () => {
  const tokens = Array.from({ length: 1000 }, () => newToken('rk_'));
  expect(new Set(tokens).size).toBe(1000);
  for (const token of tokens) expect(token).toMatch(/^rk_[A-Za-z0-9_-]{32}$/);
  expect(hashToken('rk_a')).toMatch(/^[0-9a-f]{64}$/);
  expect(hashToken('rk_a')).not.toBe(hashToken('rk_b'));
});

describe('the instance key', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(path.join(os.tmpdir(), 'rasket-key-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('is a file that nobody else can read, and differs on each installation', () => {
    createInstanceKey(folder);
    expect(statSync(instanceKeyPath(folder)).mode & 0o777).toBe(0o600);
    const text = readFileSync(instanceKeyPath(folder), 'utf8');
    expect(Buffer.from(text.trim(), 'base64')).toHaveLength(32);
    rmSync(instanceKeyPath(folder));
    createInstanceKey(folder);
    expect(readFileSync(instanceKeyPath(folder), 'utf8')).not.toBe(text);
  });

  it('is never overwritten, because the values it sealed would be lost', () => {
    createInstanceKey(folder);
    const sealed = openSecrets(folder).seal('key', 'test', 'a');
    expect(() => createInstanceKey(folder)).toThrow(/EEXIST/);
    expect(openSecrets(folder).open(sealed, 'test', 'a')).toBe('key');
    expect(readdirSync(folder)).toEqual(['instance.key']);
  });

  it('still opens and verifies old values after it was replaced, and seals no new ones', () => {
    const old = Buffer.alloc(32, 1);
    const young = Buffer.alloc(32, 2);
    const data = Buffer.from('data');
    const before = secretsFrom(old);
    const sealed = before.seal('text', 'test', 'a');
    writeInstanceKeys(folder, { current: young, former: [old] });
    expect(statSync(instanceKeyPath(folder)).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(['instance.key']);
    const after = openSecrets(folder);
    expect(after.open(sealed, 'test', 'a')).toBe('text');
    expect(after.seal('text', 'test', 'a')).toContain(`v2.${computeKeyId(young)}.`);
    expect(after.mac('x', data)).toEqual(secretsFrom(young).mac('x', data));
    expect(after.otherMacs('x').map((mac) => mac(data))).toEqual([before.mac('x', data)]);
  });

  it('that is the next one opens values at once, and seals from the moment a value sealed by it is seen', () => {
    const old = Buffer.alloc(32, 1);
    const young = Buffer.alloc(32, 2);
    writeInstanceKeys(folder, { current: old, next: young, former: [] });
    const node = openSecrets(folder);
    expect(node.currentKeyId()).toBe(computeKeyId(old));
    expect(node.open(secretsFrom(young).seal('text', 'test', 'a'), 'test', 'a')).toBe('text');
    expect(node.currentKeyId()).toBe(computeKeyId(young));
    expect(node.otherMacs('x')).toHaveLength(1);
  });

  it('that was added to the file meanwhile is found when a value needs it', () => {
    const old = Buffer.alloc(32, 1);
    const young = Buffer.alloc(32, 2);
    writeInstanceKeys(folder, { current: old, former: [] });
    const running = openSecrets(folder);
    const sealed = secretsFrom(young).seal('text', 'test', 'a');
    expect(() => running.open(sealed, 'test', 'a')).toThrow(/instance\.key does not hold/);
    writeInstanceKeys(folder, { current: young, former: [old] });
    expect(running.open(sealed, 'test', 'a')).toBe('text');
    expect(readInstanceKeys(folder)).toEqual({ current: young, former: [old] });
  });

  it.each(['', 'short', Buffer.alloc(31).toString('base64'), Buffer.alloc(33).toString('base64')])(
    'is refused by the path of its file, without its content, when the file has %j',
    (text) => {
      writeFileSync(instanceKeyPath(folder), text);
      expect(() => openSecrets(folder)).toThrow(`${instanceKeyPath(folder)} does not hold a 32-byte key in base64`);
    },
  );
});
