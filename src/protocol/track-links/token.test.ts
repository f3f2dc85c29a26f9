import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  clickToken,
  openToken,
  readClickToken,
  readOlderClickToken,
  readOlderOpenToken,
  readOpenToken,
  type Mac,
} from './token.ts';

const createMac =
  (key: string): Mac =>
  (bytes) =>
    createHmac('sha256', key).update(bytes).digest();
const mac = createMac('click');
const mail = { emailId: '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01', domainId: '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e02' };
const click = { ...mail, target: 'https://example.com/?a=1&b=2#ü' };

describe('a tracking token', () => {
  it('of a click can be read back, with any web address', () => {
    fc.assert(
      fc.property(
        fc.webUrl({ withFragments: true, withQueryParameters: true }),
        fc.uuid(),
        fc.uuid(),
        (target, emailId, domainId) => {
          const token = clickToken({ emailId, domainId, target }, mac);
          expect(token).toMatch(/^[A-Za-z0-9_-]+$/);
          expect(readClickToken(token, mac)).toEqual({ emailId, domainId, target });
        },
      ),
    );
  });

  it('of an open can be read back as the email and its domain', () => {
    expect(readOpenToken(openToken(mail, mac), mac)).toEqual(mail);
  });

  it('is refused when any of its letters is changed, missing or added', () => {
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const token = clickToken(click, mac);
    for (let at = 0; at < token.length; at++) {
      for (const letter of letters) {
        if (letter === token[at]) continue;
        expect(readClickToken(token.slice(0, at) + letter + token.slice(at + 1), mac)).toBeUndefined();
      }
      expect(readClickToken(token.slice(0, at) + token.slice(at + 1), mac)).toBeUndefined();
      expect(readClickToken(token.slice(0, at), mac)).toBeUndefined();
      expect(readClickToken(`${token.slice(0, at)}A${token.slice(at)}`, mac)).toBeUndefined();
    }
  });

  it.each(['', '=', 'AAAA', '+/', 'A'.repeat(38), 'A'.repeat(37), '\0', 'ü'.repeat(60)])('cannot be %j', (token) => {
    expect(readClickToken(token, mac)).toBeUndefined();
    expect(readOpenToken(token, mac)).toBeUndefined();
  });

  it('is refused in another spelling of the same bytes', () => {
    const token = clickToken({ ...click, target: 'https://example.com/??>' }, mac);
    for (const spelling of [`${token}=`, `${token}==`, ` ${token}`, `${token.slice(0, 5)}\n${token.slice(5)}`]) {
      expect(readClickToken(spelling, mac)).toBeUndefined();
    }
  });

  it('is valid for one purpose and one installation only', () => {
    expect(readClickToken(clickToken(click, mac), createMac('open'))).toBeUndefined();
    expect(readOpenToken(openToken(mail, mac), createMac('other key'))).toBeUndefined();
    // One kind of token is no token of the other kind, even if one key is used for both.
    expect(readOpenToken(clickToken(click, mac), mac)).toBeUndefined();
    expect(readClickToken(openToken(mail, mac), mac)).toBeUndefined();
  });

  it.each(['javascript:alert(1)', '//evil.test', 'https://a.test/\r\nset-cookie: x', 'ftp://a.test/', 'x', 'http://'])(
    'with the target %j is refused, even with a genuine MAC',
    (target) => {
      expect(readClickToken(clickToken({ ...click, target }, mac), mac)).toBeUndefined();
    },
  );

  it('from before tokens contained their domain is read only as such', () => {
    const sealed = (content: Buffer): string =>
      Buffer.concat([mac(content).subarray(0, 12), content]).toString('base64url');
    const id = Buffer.from(mail.emailId.replaceAll('-', ''), 'hex');
    const target = 'https://a.test/';
    const older = sealed(Buffer.concat([id, Buffer.from(target)]));
    expect(readOlderClickToken(older, mac)).toEqual({ emailId: mail.emailId, target });
    expect(readClickToken(older, mac)).toBeUndefined();
    expect(readOlderOpenToken(sealed(id), mac)).toEqual({ emailId: mail.emailId });
    expect(readOpenToken(sealed(id), mac)).toBeUndefined();
  });

  it('is created only for the id of an email', () => {
    expect(() => openToken({ ...mail, emailId: 'x' }, mac)).toThrow(
      'a tracked link was requested for x, which is not a UUID',
    );
  });
});
