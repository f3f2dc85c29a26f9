import { mkdtempSync, rmSync, statSync, writeFileSync, readFileSync, readdirSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createInstanceKey, hashToken, instanceKeyPath, newToken, openSecrets, secretsFrom } from './index.ts';

const secrets = secretsFrom(Buffer.alloc(32, 7));

describe('a sealed text', () => {
  it('opens to what was sealed, any text there is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (plain) => {
        expect(secrets.open(secrets.seal(plain, 'test'), 'test')).toBe(plain);
      }),
    );
  });

  it('looks different each time and shows nothing of its content', () => {
    const [one, two] = [secrets.seal('top secret', 'test'), secrets.seal('top secret', 'test')];
    expect(one).not.toBe(two);
    expect(Buffer.from(one.split('.')[2] ?? '', 'base64').toString('latin1')).not.toContain('secret');
  });

  it('opens for its own purpose and instance alone', () => {
    const sealed = secrets.seal('key', 'dkim private key');
    expect(() => secrets.open(sealed, 'webhook secret')).toThrow();
    expect(() => secretsFrom(Buffer.alloc(32, 8)).open(sealed, 'dkim private key')).toThrow();
  });

  it('does not open when a single bit of it was changed', () => {
    const [format, nonce = '', body = ''] = secrets.seal('key', 'test').split('.');
    for (const [at, text] of [nonce, body].entries()) {
      for (let bit = 0; bit < Buffer.from(text, 'base64').length * 8; bit++) {
        const bytes = Buffer.from(text, 'base64');
        bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        const changed = bytes.toString('base64');
        const sealed = [format, at === 0 ? changed : nonce, at === 1 ? changed : body].join('.');
        expect(() => secrets.open(sealed, 'test')).toThrow();
      }
    }
  });

  it('does not open when it was cut, which would leave a tag short enough to guess', () => {
    for (const plain of ['a text of some length', '']) {
      const [format, nonce, body = ''] = secrets.seal(plain, 'test').split('.');
      const bytes = Buffer.from(body, 'base64');
      for (let length = 0; length < bytes.length; length++) {
        const cut = bytes.subarray(0, length).toString('base64');
        expect(() => secrets.open([format, nonce, cut].join('.'), 'test')).toThrow();
      }
    }
  });

  it.each(['', 'v1', 'v1.a', 'v2.AAAA.AAAA', 'plain text'])('%j is none, and the error does not repeat it', (text) => {
    expect(() => secrets.open(text, 'test')).toThrow(/^a sealed test has an unknown format$/);
  });
});

it('a mac depends on key, purpose and data', () => {
  const data = Buffer.from('data');
  const mac = secrets.mac('a', data).toString('hex');
  expect(secrets.mac('a', data).toString('hex')).toBe(mac);
  expect(secrets.mac('b', data).toString('hex')).not.toBe(mac);
  expect(secrets.mac('a', Buffer.from('Data')).toString('hex')).not.toBe(mac);
  expect(secretsFrom(Buffer.alloc(32, 8)).mac('a', data).toString('hex')).not.toBe(mac);
});

it('a token has 192 random bits behind its prefix, and its hash is not the token', () => {
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

  it('is a file nobody else can read, different on each installation', () => {
    createInstanceKey(folder);
    expect(statSync(instanceKeyPath(folder)).mode & 0o777).toBe(0o600);
    const text = readFileSync(instanceKeyPath(folder), 'utf8');
    expect(Buffer.from(text.trim(), 'base64')).toHaveLength(32);
    rmSync(instanceKeyPath(folder));
    createInstanceKey(folder);
    expect(readFileSync(instanceKeyPath(folder), 'utf8')).not.toBe(text);
  });

  it('is never overwritten: what it sealed would be lost', () => {
    createInstanceKey(folder);
    const sealed = openSecrets(folder).seal('key', 'test');
    expect(() => createInstanceKey(folder)).toThrow(/EEXIST/);
    expect(openSecrets(folder).open(sealed, 'test')).toBe('key');
    expect(readdirSync(folder)).toEqual(['instance.key']);
  });

  it.each(['', 'short', Buffer.alloc(31).toString('base64'), Buffer.alloc(33).toString('base64')])(
    'a file with %j is refused by name and without its content',
    (text) => {
      writeFileSync(instanceKeyPath(folder), text);
      expect(() => openSecrets(folder)).toThrow(`${instanceKeyPath(folder)} does not hold a 32-byte key in base64`);
    },
  );
});
