import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { useOffice } from './office.ts';

const office = useOffice();
const secret = Buffer.alloc(32, 9).toString('base64');
const keygen = `key "rasket-key" {\n\talgorithm hmac-sha256;\n\tsecret "${secret}";\n};\n`;

/** The zone is not on this server, so that a correctly signed request gets REFUSED. */
async function configureWith(file: string | undefined) {
  const place = path.join(office.scene.dataDir, 'dns.key');
  if (file === undefined) rmSync(place, { force: true });
  else writeFileSync(place, file);
  const domain = await office.create(office.host.replace('.com', '.edu'));
  const logged = office.scene.log.length;
  const answer = await office.configure(domain.id);
  return { ...answer, errors: office.scene.log.slice(logged).filter((line) => line.includes('"level":"error"')) };
}

test.each([
  ['the base64 text alone', `${secret}\n`],
  ['what tsig-keygen prints', keygen],
  ['the same in one line and without quotes', `key rasket-key { algorithm hmac-sha256; secret ${secret}; };`],
  ['the same with the line ends of Windows', `\u{feff}${keygen.replaceAll('\n', '\r\n')}`],
])('a key file may hold %s', async (_, file) => {
  const { body, errors } = await configureWith(file);
  expect(body.message).toContain('returned REFUSED for');
  expect(errors).toEqual([]);
});

test.each([
  ['nothing', ' \n'],
  ['no base64', '!!!not base64???'],
  ['a secret that is none', keygen.replace(secret, '!!!not base64???')],
  ['a secret that is too short', Buffer.alloc(15, 9).toString('base64')],
  ['a secret that is too long', Buffer.alloc(129, 9).toString('base64')],
  ['two keys', keygen + keygen.replace('rasket-key', 'another')],
  ['a key without a secret', keygen.replace(/\tsecret.*\n/, '')],
])(
  'a key file that holds %s is reported once by its setting, without its content and not as a wrong key',
  async (_, file) => {
    const { status, body, text, errors } = await configureWith(file);
    expect(status).toBe(422);
    expect(body.message).toBe(
      'The key_secret_file of the DNS provider filed contains neither a base64 secret of 16 to 128 bytes nor one key as tsig-keygen prints it; ask the operator to correct it.',
    );
    expect(office.server.heard).toEqual([]);
    expect(errors).toHaveLength(1);
    for (const said of [text, ...errors]) expect(said).not.toMatch(/CQkJ|not base64|another|algorithm/);
  },
);

test('a missing key file is reported once', async () => {
  const { body, errors } = await configureWith(undefined);
  expect(body.message).toContain('The secret of the DNS provider filed cannot be read');
  expect(errors).toHaveLength(1);
});
