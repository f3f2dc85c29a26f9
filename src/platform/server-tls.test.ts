import { generateKeyPairSync, randomBytes, X509Certificate } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { selfSignedCertificate } from '../protocol/x509.ts';
import { nextTurn, type Clock } from './clock.ts';
import { loadConfig } from './config/index.ts';
import { createLog } from './log/index.ts';
import { openServerTls, type ServerTls, type TlsKeys } from './server-tls.ts';

const DAY_MS = 86_400_000;
let folder: string;
let lines: string[];
let now: number;
let ticks: (() => void)[];

beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'rasket-tls-'));
  [lines, ticks, now] = [[], [], Date.now()];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const clock: Clock = {
  steady: () => 0,
  now: () => now,
  timer: (_delayMs, fire) => {
    ticks.push(fire);
    return () => undefined;
  },
};

function open(files: { certificate?: string; key?: string } = {}, host = 'mail.example.com'): ServerTls {
  const tls = { certificate_file: files.certificate ?? '', key_file: files.key ?? '' };
  const { config } = loadConfig({ env: {}, overrides: { instance: { host }, tls } });
  const log = createLog({ level: 'info', format: 'json', write: (line) => void lines.push(line) });
  const opened = openServerTls({ config, dataDir: folder, clock, log });
  opened.warn();
  return opened;
}

function makeKeys(endsAt = now + DAY_MS): TlsKeys {
  const keys = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const notBefore = new Date(now - DAY_MS);
  const notAfter = new Date(endsAt);
  const serial = randomBytes(15);
  const cert = selfSignedCertificate({ names: ['mail.example.com'], notBefore, notAfter, serial, ...keys });
  return { cert, key: keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
}

const tick = async (): Promise<void> => {
  ticks.shift()?.();
  await nextTurn();
};

const put = (name: string, text: string): void => writeFileSync(path.join(folder, name), text);
const catchFault = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    return (error as Error).message.replaceAll(folder, '');
  }
  return '';
};

describe('the server without certificate files', () => {
  it('creates a certificate once, for the name of the installation, and logs that it proves nothing', () => {
    const first = open().current();
    expect(new X509Certificate(first.cert).checkHost('mail.example.com')).toBe('mail.example.com');
    expect(open().current()).toEqual(first);
    expect(statSync(path.join(folder, 'tls/self-signed.pem')).mode & 0o777).toBe(0o600);
    expect(readdirSync(path.join(folder, 'tls'))).toEqual(['self-signed.pem']);
    expect(lines.join()).toContain('self-signed certificate');
  });

  it('creates another certificate for another name, after it expired, and when its file is damaged', () => {
    const first = open().current();
    const renamed = open({}, 'mx.example.com').current();
    expect(renamed).not.toEqual(first);
    now += 3651 * DAY_MS;
    const renewed = open({}, 'mx.example.com').current();
    expect(renewed).not.toEqual(renamed);
    put('tls/self-signed.pem', 'half');
    expect(open({}, 'mx.example.com').current()).not.toEqual(renewed);
  });
});

describe('the server with certificate files', () => {
  it('reads the certificate and the key from one file or from two', () => {
    const keys = makeKeys();
    put('both.pem', keys.key + keys.cert);
    put('cert.pem', keys.cert);
    put('key.pem', keys.key);
    expect(open({ certificate: 'both.pem' }).current().cert).toContain(keys.cert);
    expect(open({ certificate: 'cert.pem', key: path.join(folder, 'key.pem') }).current()).toEqual(keys);
  });

  it('reads the files again when they change and on request, and keeps the old certificate when the new one is invalid', async () => {
    const first = makeKeys();
    const second = makeKeys();
    const third = makeKeys();
    put('both.pem', first.key + first.cert);
    const tls = open({ certificate: 'both.pem' });
    const heard: string[] = [];
    tls.onChange(({ cert }) => heard.push(cert));
    await tick();
    expect(heard).toEqual([]);
    put('both.pem', second.key + second.cert + '\n');
    await tick();
    expect(heard).toEqual([second.key + second.cert + '\n']);
    put('both.pem', third.cert);
    tls.reload();
    tls.reload();
    expect(tls.current().cert).toContain(second.cert);
    expect(lines.filter((line) => line.includes('the previous one stays in use'))).toHaveLength(2);
    put('both.pem', third.key + third.cert);
    tls.reload();
    expect(heard).toHaveLength(2);
  });

  it('logs that its certificate has expired', () => {
    const keys = makeKeys(now - 1000);
    put('both.pem', keys.key + keys.cert);
    open({ certificate: 'both.pem' });
    expect(lines.join()).toContain('the certificate has expired');
  });

  it.each([
    {
      why: 'is not there',
      make: () => undefined,
      says: /^\/cert\.pem \(tls\.certificate_file\) cannot be read \(ENOENT\)/,
    },
    {
      why: 'is none',
      make: () => put('cert.pem', 'nothing'),
      says: /^\/cert\.pem \(tls\.certificate_file\) holds no certificate/,
    },
    {
      why: 'comes without its key',
      make: () => put('cert.pem', makeKeys().cert),
      says: /^\/cert\.pem \(tls\.key_file\) holds no private key/,
    },
    {
      why: 'has the key of another',
      make: () => put('cert.pem', makeKeys().cert + makeKeys().key),
      says: /^\/cert\.pem \(tls\.key_file\) is not the key of the first certificate/,
    },
  ])('does not start with a certificate that $why, and says so in one line', ({ make, says }) => {
    make();
    const fault = catchFault(() => open({ certificate: 'cert.pem' }));
    expect(fault).toMatch(says);
    expect(fault).not.toContain('\n');
  });
});
