import PostalMime from 'postal-mime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

/** Names that have misled software, with the reason. Each of them arrives in the mail as it was written. */
const TAKEN: [why: string, name: string][] = [
  ['climbs out of the folder', '../../etc/passwd'],
  ['climbs out, the other way', '..\\..\\windows\\system32\\calc.exe'],
  ['climbs out, encoded', '..%2f..%2fetc%2fpasswd'],
  ['climbs out, encoded twice', '%252e%252e%252fetc'],
  ['is absolute', '/etc/shadow'],
  ['is absolute, the other way', 'C:\\boot.ini'],
  ['is a share', '\\\\server\\share\\a.exe'],
  ['is the folder', '.'],
  ['is the folder above', '..'],
  ['is only dots', '.....'],
  ['is only a space', ' '],
  ['begins and ends with spaces', '  a.txt  '],
  ['is hidden', '.htaccess'],
  ['is an option', '-rf'],
  ['is a device', 'CON'],
  ['is a device with an extension', 'nul.txt'],
  ['has a stream', 'a.txt::$DATA'],
  ['ends with a dot', 'a.exe.'],
  ['has two extensions', 'invoice.pdf.exe'],
  ['ends its quotes', 'a".exe'],
  ['ends its quotes and begins a parameter', 'a"; filename="b.exe'],
  ['ends its quotes and begins an extended one', `a"; filename*=UTF-8''b.exe`],
  ['escapes the closing quote', 'a\\'],
  ['escapes everything', 'a\\"\\\\"b'],
  ['is a parameter', 'filename=b.exe'],
  ['has semicolons', 'a;b;c=d'],
  ['has commas', 'a,b,c'],
  ['looks like RFC 8187', `UTF-8''%e2%82%ac`],
  ['looks like an encoded word', '=?utf-8?B?YS5leGU=?='],
  ['looks like RFC 2231', `a*0*=UTF-8''b`],
  ['looks like a header, on one line', 'a Content-Type: text/html'],
  ['looks like a boundary', '--boundary--'],
  ['is a tag', '<script>alert(1)</script>.html'],
  ['is an attribute', `" onload="alert(1)`],
  ['is a command', '$(reboot); `reboot` | reboot & .txt'],
  ['is a format', '%s%n%x'],
  ['is a query', "'; drop table emails; --.txt"],
  ['is a wildcard', '*.*'],
  ['shows in another order', 'gpj.\u202Eexe'],
  ['is isolated', '\u2066a\u2069.txt'],
  ['has a zero-width space', 'a\u200B.txt'],
  ['has a byte order mark', 'a\uFEFF.txt'],
  ['has a soft hyphen', 'a\u00AD.txt'],
  ['is only combining marks', '\u0301\u0302'],
  ['is decomposed', 'u\u0308bung.txt'],
  ['is beyond ASCII', 'übung 日本 Ω.pdf'],
  ['looks like ASCII', 'раураl.txt'],
  ['has fullwidth dots and slashes', '．．／etc／passwd'],
  ['is joined', '👩‍💻.png'],
  ['is beyond the basic plane', '𝕒.𝕖𝕩𝕖'],
  ['is private', '\uE000.txt'],
  ['is no character', '\uFDD0.txt'],
  ['is a replacement', '\uFFFD.txt'],
  ['has a no-break space', 'a\u00A0b.txt'],
  ['is as long as a name may be', `${'a'.repeat(251)}.pdf`],
  ['is as long as a name may be in two bytes', `${'é'.repeat(125)}.pdf`.padEnd(130, 'x')],
  ['is as long as a name may be in four bytes', `${'😀'.repeat(62)}.pdf`],
  ['is long without a place to fold', '%'.repeat(255)],
];

/** Names that no mail could carry on one line, or that are invalid. */
const REFUSED: [why: string, name: string, status: number][] = [
  ['is empty', '', 422],
  ['begins a header', 'a\r\nX-Injected: yes', 422],
  ['begins a body', 'a\r\n\r\n<script>', 422],
  ['has a line feed', 'a\nb', 422],
  ['has a carriage return', 'a\rb', 422],
  ['has a tab', 'a\tb', 422],
  ['has an escape', 'a\u001b[31m', 422],
  ['has a bell', 'a\u0007', 422],
  ['has a delete', 'a\u007f', 422],
  ['has a C1 control', 'a\u0085b', 422],
  ['has a line separator', 'a\u2028b', 422],
  ['has a paragraph separator', 'a\u2029b', 422],
  ['has a NUL', 'a.txt\0.exe', 400],
  ['has half of a pair', 'a\ud83d.txt', 400],
  ['has the other half', '\ude00.txt', 400],
  ['is a byte too long', 'a'.repeat(256), 422],
  ['is a byte too long in four bytes', `${'😀'.repeat(63)}.pdf`, 422],
];

describe('hostile attachment names', () => {
  let scene: Scene;
  let team: Team;
  let domain: string;
  beforeAll(async () => {
    scene = await startScene();
    team = await scene.team();
    domain = (await team.domain()).name;
  });
  afterAll(() => scene.close());

  const send = (names: string[]) =>
    scene.api('POST', '/emails', {
      key: team.key,
      body: {
        from: `a@${domain}`,
        to: 'x@example.org',
        subject: 'Files',
        text: 'See below.',
        attachments: names.map((filename, i) => ({ filename, content: Buffer.from(`file ${i}`).toString('base64') })),
      },
    });

  it.each(REFUSED)('a name that %s is refused and named', async (_, name, status) => {
    const answer = await send(['good.txt', name]);
    expect(answer).toMatchObject({ status, body: { errors: [{ path: 'attachments.1.filename' }] } });
    expect(answer.body.message).toMatch(/attachments\.1\.filename/);
  });

  it('every other name arrives unchanged, with its own file and without injected headers', async () => {
    const names = TAKEN.map(([, name]) => name);
    const { status, body } = await send(names);
    expect(status).toBe(200);
    await scene.settled();
    const raw = String(scene.sink.messages.find(({ data }) => data.includes(body.id))?.data);
    const mail = await PostalMime.parse(raw);
    const arrived = mail.attachments.map(({ filename, content }) => [
      filename,
      Buffer.from(content as ArrayBuffer).toString(),
    ]);
    // This reader decodes encoded words even there (against RFC 2047 section 5); the mail itself has none.
    expect(arrived).toEqual(names.map((name, i) => [name.startsWith('=?') ? 'a.exe' : name, `file ${i}`]));
    expect(raw).toContain(`filename="=_utf-8?B?YS5leGU=_="`);
    expect(raw.replaceAll(/\s+/g, '')).toContain(`filename*=UTF-8''%3D%3Futf-8%3FB%3FYS5leGU%3D%3F%3D`);
    const parts = raw.split(/\r\n--/).slice(2, -1);
    for (const part of parts) {
      const fields = (part.split('\r\n\r\n', 1)[0] ?? '').split('\r\n').slice(1);
      for (const line of fields)
        expect(line).toMatch(/^(?:Content-(?:Type|Disposition|Transfer-Encoding): |[ \t])[\x20-\x7e]+$/);
    }
  });

  it('every other name is offered for download under a safe file name', async () => {
    const { body } = await send(TAKEN.map(([, name]) => name));
    const { data } = (await scene.api('GET', `/emails/${body.id}/attachments?limit=100`, { key: team.key })).body;
    expect(data.map((item: { filename: string }) => item.filename)).toEqual(TAKEN.map(([, name]) => name));
    for (const [i, { filename, download_url }] of data.entries()) {
      const link = new URL(download_url);
      const { status, headers, text } = await scene.api('GET', link.pathname + link.search);
      expect([filename, status, text]).toEqual([filename, 200, `file ${i}`]);
      const header = headers.get('content-disposition') ?? '';
      const form =
        /^attachment; filename="([\x20-\x21\x23-\x5b\x5d-\x7e]+)"(?:; filename\*=UTF-8''([A-Za-z0-9!#$&+.^_`|~%-]+))?$/;
      const [, ascii = '', extended] = form.exec(header) ?? [];
      expect(ascii, `${filename}: ${header}`).not.toBe('');
      for (const name of [ascii, decodeURIComponent(extended ?? ascii)]) {
        expect(name, filename).not.toMatch(/[\p{Cc}"*/:<>?\\|]|(?![\u200c\u200d])\p{Cf}|^[. ]|[. ]$/u);
        expect(name, filename).not.toMatch(/^(?:con|nul)(?:\.|$)/i);
      }
      expect([...headers.keys()].filter((name) => name.startsWith('x-')).sort()).toEqual([
        'x-content-type-options',
        'x-request-id',
      ]);
    }
  });
});
