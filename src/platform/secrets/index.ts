/**
 * Keys and tokens. The instance key seals what must be read again (DKIM private keys); what must only be recognised
 * (API keys) is kept as a hash. Nothing here is ever logged.
 */
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import path from 'node:path';
import { hmacSha256, type HmacSha256 } from '../../protocol/hmac/index.ts';

export interface Secrets {
  /** Encrypts for storage; `purpose` is bound to the text, so a sealed value cannot be moved to another column. */
  seal(plain: string, purpose: string): string;
  open(sealed: string, purpose: string): string;
  mac(purpose: string, data: Uint8Array): Buffer;
}

const KEY_BYTES = 32;
const FORMAT = 'v1';
const CIPHER = 'aes-256-gcm';
/** Said outright, or a shortened tag would be taken for a whole one and could be guessed. */
const TAG = { authTagLength: 16 };

export const instanceKeyPath = (dataDir: string): string => path.join(dataDir, 'instance.key');

export function createInstanceKey(dataDir: string): void {
  const file = openSync(instanceKeyPath(dataDir), 'wx', 0o600);
  writeSync(file, randomBytes(KEY_BYTES).toString('base64') + '\n');
  fsyncSync(file);
  closeSync(file);
  // Without the folder's own sync a power cut could take the key and leave what it sealed.
  const folder = openSync(dataDir, 'r');
  fsyncSync(folder);
  closeSync(folder);
}

export function openSecrets(dataDir: string): Secrets {
  const file = instanceKeyPath(dataDir);
  const key = Buffer.from(readFileSync(file, 'utf8').trim(), 'base64');
  if (key.length !== KEY_BYTES) throw new Error(`${file} does not hold a ${KEY_BYTES}-byte key in base64`);
  return secretsFrom(key);
}

export function secretsFrom(instanceKey: Buffer): Secrets {
  const derive = (use: string): Buffer => Buffer.from(hkdfSync('sha256', instanceKey, '', `rasket ${use}`, KEY_BYTES));
  const sealKey = derive('seal');
  const macs = new Map<string, HmacSha256>();
  return {
    seal(plain, purpose) {
      const nonce = randomBytes(12);
      const cipher = createCipheriv(CIPHER, sealKey, nonce, TAG).setAAD(Buffer.from(purpose));
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
      return [FORMAT, nonce.toString('base64'), Buffer.concat([body, cipher.getAuthTag()]).toString('base64')].join(
        '.',
      );
    },
    open(sealed, purpose) {
      const [format, nonce, body] = sealed.split('.');
      if (format !== FORMAT || !nonce || !body) throw new Error(`a sealed ${purpose} has an unknown format`);
      const bytes = Buffer.from(body, 'base64');
      const decipher = createDecipheriv(CIPHER, sealKey, Buffer.from(nonce, 'base64'), TAG)
        .setAAD(Buffer.from(purpose))
        .setAuthTag(bytes.subarray(-TAG.authTagLength));
      return decipher.update(bytes.subarray(0, -TAG.authTagLength), undefined, 'utf8') + decipher.final('utf8');
    },
    mac(purpose, data) {
      let mac = macs.get(purpose);
      if (!mac) macs.set(purpose, (mac = hmacSha256(derive(`mac ${purpose}`))));
      return Buffer.from(mac(data, 'binary'), 'binary');
    },
  };
}

const TOKEN_BYTES = 24;

/** A fresh bearer token: 192 random bits behind the kind's prefix. */
export const newToken = (prefix: string): string => prefix + randomBytes(TOKEN_BYTES).toString('base64url');

/** Tokens are random, so a plain hash is enough: there is no dictionary to try. */
export const hashToken = (token: string): string => createHash('sha256').update(token).digest('hex');
