import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { verifySshSignature } from './ssh-signature.ts';

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rasket-ssh-'));
const at = (name: string): string => path.join(folder, name);
const read = (name: string): string => fs.readFileSync(at(name), 'utf8');
const keygen = (...words: string[]): void => void execFileSync('ssh-keygen', words, { stdio: 'ignore' });
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));

const NAMESPACE = 'rasket-release';
const content = Buffer.from('{ "version": "0.1.0" }\n');
let signature: string;
beforeAll(() => {
  for (const [name, type] of [
    ['own', 'ed25519'],
    ['other', 'ed25519'],
    ['ecdsa', 'ecdsa'],
  ] as const)
    keygen('-q', '-t', type, '-N', '', '-f', at(name));
  fs.writeFileSync(at('file'), content);
  keygen('-Y', 'sign', '-f', at('own'), '-n', NAMESPACE, at('file'));
  signature = read('file.sig');
});

const verify = (changed: Partial<Parameters<typeof verifySshSignature>[0]> = {}) =>
  verifySshSignature({ content, signature, publicKey: read('own.pub'), namespace: NAMESPACE, ...changed });

it('a signature of ssh-keygen is good, with the fingerprint that ssh-keygen shows', () => {
  const shown = execFileSync('ssh-keygen', ['-l', '-f', at('own.pub')], { encoding: 'utf8' }).split(' ')[1];
  expect(verify()).toEqual({ isGood: true, fingerprint: shown });
});

it('changed content, another key and another purpose are refused with the reason', () => {
  expect(verify({ content: Buffer.from('{ "version": "0.1.1" }\n') })).toEqual({
    isGood: false,
    fault: 'the content was changed after it was signed',
  });
  expect(verify({ publicKey: read('other.pub') })).toMatchObject({ fault: expect.stringContaining('another key') });
  expect(verify({ namespace: 'file' })).toMatchObject({
    fault: 'the signature is for "rasket-release", not for "file"',
  });
});

it('a signature in which any one byte is changed is refused', () => {
  const [, text = ''] = /-----BEGIN SSH SIGNATURE-----([^-]+)-----/.exec(signature) ?? [];
  const bytes = Buffer.from(text, 'base64');
  for (let place = 0; place < bytes.length; place++) {
    const changed = Buffer.from(bytes);
    changed[place] = (changed[place] ?? 0) ^ 1;
    const armored = `-----BEGIN SSH SIGNATURE-----\n${changed.toString('base64')}\n-----END SSH SIGNATURE-----\n`;
    expect(verify({ signature: armored }), `byte ${place}`).toMatchObject({ isGood: false });
  }
});

it('a signature that is cut off, empty or no signature at all is refused', () => {
  for (const length of [0, 40, 100, 200, signature.length - 40])
    expect(verify({ signature: signature.slice(0, length) })).toMatchObject({ isGood: false });
  const armor = (bytes: Buffer): string =>
    `-----BEGIN SSH SIGNATURE-----\n${bytes.toString('base64')}\n-----END SSH SIGNATURE-----\n`;
  for (const text of ['', 'SSHSIG', 'SSHSIG\0\0\0\x01', 'SSHSIG\0\0\0\x01\xff\xff\xff\xff'])
    expect(verify({ signature: armor(Buffer.from(text, 'latin1')) })).toMatchObject({
      fault: 'the signature is not one of ssh-keygen -Y sign',
    });
});

it('keys of another type, and text that is no key, are refused', () => {
  for (const publicKey of [read('ecdsa.pub'), 'ssh-ed25519 AAAA', '', 'ssh-ed25519'])
    expect(verify({ publicKey })).toMatchObject({
      fault: expect.stringContaining('the public key is not of the form'),
    });
});
