import { expect, it } from 'vitest';
import { isContentHarmless, isNameHarmless } from './thread-files.ts';

it.each(['invoice.pdf', 'Photo.JPG', 'a.b.png', 'letter.docx', '__screen.png', '請求書.pdf'])(
  'a file named %s is opened',
  (name) => expect(isNameHarmless(name)).toBe(true),
);

it.each([
  'setup.exe',
  'run.sh',
  'page.html',
  'page.pdf.htm',
  'shop.desktop',
  'invoice.pdf.exe',
  'macro.docm',
  'old.doc',
  'picture.svg',
  'archive.zip',
  'program.jar',
  'link.url',
  'link.lnk',
  'disk.iso',
  'app.AppImage',
  'noextension',
  '.pdf',
  'pdf',
  'invoice.pdf ',
  'invoice.pdf_',
  '',
])('a file named %j is not opened', (name) => expect(isNameHarmless(name)).toBe(false));

it.each([
  ['an ELF program', '\u007FELF\u0002'],
  ['a Windows program', 'MZ\u0090'],
  ['a script', '#!/bin/sh\nrm -rf ~'],
  ['a script after blank lines', '\n\n #!/bin/sh'],
  ['a page', '<!doctype html><script>'],
  ['a page after a mark of its encoding', '\u00EF\u00BB\u00BF<html>'],
  ['an image with scripts', '<svg onload="x">'],
  ['a starter of a program', '# c\n[Desktop Entry]\nExec=sh -c id'],
  ['a PostScript program', '%!PS-Adobe'],
])('content that is %s is not opened', (_, start) =>
  expect(isContentHarmless(Buffer.from(start, 'latin1'))).toBe(false),
);

it.each(['%PDF-1.7', '\u0089PNG\r\n', 'Dear Ada,\n< yes', 'PK\u0003\u0004', ''])(
  'content that begins with %j is opened',
  (start) => expect(isContentHarmless(Buffer.from(start, 'latin1'))).toBe(true),
);
