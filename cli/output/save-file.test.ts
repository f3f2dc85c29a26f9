import { expect, test } from 'vitest';
import { harmlessName } from './save-file.ts';

test.each([
  ['receipt.pdf', 'receipt.pdf'],
  ['Übung 日本.pdf', 'Übung 日本.pdf'],
  ['../../.ssh/authorized_keys', '__.._.ssh_authorized_keys'],
  ['/etc/passwd', '_etc_passwd'],
  ['..\\..\\autoexec.bat', '__.._autoexec.bat'],
  ['C:\\boot.ini', 'C__boot.ini'],
  ['..', '_'],
  ['.', '_'],
  ['', 'attachment'],
  ['.bashrc', '_bashrc'],
  ['-rf', '_rf'],
  ['a\u0000b\n\u001b[31m', 'a_b__[31m'],
  ['gpj.\u202Eexe', 'gpj._exe'],
  ['name. . ', 'name_'],
  ['\ud800', '_'],
  ['👩‍💻.txt', '👩‍💻.txt'],
  [`${'é'.repeat(126)}.pdf`, `${'é'.repeat(98)}.pdf`],
  ['x'.repeat(255), 'x'.repeat(200)],
])('the attachment %j is saved as %j', (filename, name) => {
  expect(harmlessName(filename)).toBe(name);
});
