import { expect, test } from 'vitest';
import { attachmentDisposition } from './downloads.ts';

test.each([
  ['receipt.pdf', 'attachment; filename="receipt.pdf"'],
  ['two words.txt', 'attachment; filename="two words.txt"'],
  ['übung.pdf', `attachment; filename="ubung.pdf"; filename*=UTF-8''%C3%BCbung.pdf`],
  ['日本.pdf', `attachment; filename="__.pdf"; filename*=UTF-8''%E6%97%A5%E6%9C%AC.pdf`],
  ['100%.csv', `attachment; filename="100_.csv"; filename*=UTF-8''100%25.csv`],
  ["it's (1)*.txt", `attachment; filename="it's (1)_.txt"`],
  ["é's (1).txt", `attachment; filename="e's (1).txt"; filename*=UTF-8''%C3%A9%27s%20%281%29.txt`],
  ['a"; filename="b.exe', 'attachment; filename="a_; filename=_b.exe"'],
  ['a\r\nSet-Cookie: x=1', 'attachment; filename="a__Set-Cookie_ x=1"'],
  ['../../etc/passwd', 'attachment; filename="__.._etc_passwd"'],
  ['..\\..\\boot.ini', 'attachment; filename="__.._boot.ini"'],
  ['..', 'attachment; filename="_"'],
  ['.htaccess', 'attachment; filename="_htaccess"'],
  ['a.exe. . ', 'attachment; filename="a.exe_"'],
  ['NUL.txt', 'attachment; filename="_NUL.txt"'],
  ['null.txt', 'attachment; filename="null.txt"'],
  ['gpj.\u202Eexe', 'attachment; filename="gpj._exe"'],
  ['a\u2028b', 'attachment; filename="a_b"'],
  ['\ud800.txt', 'attachment; filename="_.txt"'],
  ['\u0301', `attachment; filename="attachment"; filename*=UTF-8''%CC%81`],
  ['．．／etc', `attachment; filename="__etc"; filename*=UTF-8''%EF%BC%8E%EF%BC%8E%EF%BC%8Fetc`],
  ['', 'attachment; filename="attachment"'],
])('the file name %j is sent as a harmless name', (filename, header) => {
  expect(attachmentDisposition(filename)).toBe(header);
});

test('a long file name keeps its extension in the short form and is complete in the extended one', () => {
  const header = attachmentDisposition(`${'x'.repeat(240)}.pdf`);
  expect(header).toContain(`filename="${'x'.repeat(116)}.pdf"`);
  expect(header).toContain(`filename*=UTF-8''${'x'.repeat(240)}.pdf`);
});
