import { expect, it } from 'vitest';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { unstyled } from '../draw/text.ts';
import { ComposeDialog, completePath, EMPTY_EMAIL, type WrittenEmail } from './compose-dialog.ts';

const REPLY = ['cc', 'bcc', 'subject', 'files'] as const;

const write = (text = '', fields: readonly ('to' | (typeof REPLY)[number])[] = REPLY) => {
  const heard: string[] = [];
  const hear =
    (what: string) =>
    ({ text, ...more }: WrittenEmail): void => {
      const fields = Object.entries(more).filter(([, value]) => value !== '');
      heard.push([`${what}: ${text}`, ...fields.map(([name, value]) => `${name}=${value}`)].join(' '));
    };
  const head = (): string[] => ['To: ada@example.org'];
  const below = ['-- ', 'Grace', '> Where is it?'];
  const input = {
    title: 'Answer',
    head,
    below,
    subject: 'Re: Where is it?',
    fields,
    written: { ...EMPTY_EMAIL, text },
  };
  const dialog = new ComposeDialog({
    ...input,
    send: hear('send'),
    ...(fields.includes('to') ? {} : { keep: hear('keep') }),
    leave: hear('leave'),
    edit: ({ text }) => heard.push(`edit: ${text}`),
    offer: () => heard.push('offer'),
  });
  const type = (...keys: string[]): boolean => keys.map((key) => dialog.key(key)).at(-1) ?? true;
  return { dialog, heard, type };
};

it('the editor inserts, splits and joins lines and moves between them', () => {
  const { dialog, type } = write('one');
  type('enter', 't', 'w', 'o', 'up', 'home', 'enter', 'down', 'end', 'backspace');
  expect(dialog.text).toBe('\none\ntw');
  type('ctrl-a', 'backspace', 'delete', 'right', 'ctrl-k');
  expect(dialog.text).toBe('\nonew');
  type('ctrl-u', 'left', 'left', 'ctrl-x', 'pageup');
  expect(dialog.text).toBe('\n');
});

it('pasted text keeps its line breaks, and an emoji of several code points is one character', () => {
  const { dialog, type } = write('ab');
  type('left');
  dialog.paste('1\r\n2👨‍👩‍👧');
  expect(dialog.text).toBe('a1\n2👨‍👩‍👧b');
  type('backspace', 'backspace');
  expect(dialog.text).toBe('a1\nb');
});

it('an empty text is not sent, a text is not sent twice while the first send is under way, and a refused text can be edited and sent again', () => {
  const { dialog, heard, type } = write(' \n');
  expect(type('ctrl-s')).toBe(true);
  expect(heard).toEqual([]);
  expect(dialog.draw(60, 20).join('\n')).toContain('The text is empty');
  type('x', 'ctrl-s', 'ctrl-s', 'y');
  expect(heard).toEqual(['send:  \nx']);
  dialog.refuse('No domain.');
  expect(dialog.draw(60, 20).join('\n')).toContain('No domain.');
  type('y', 'ctrl-d');
  expect(heard.at(-1)).toBe('keep:  \nxy');
});

it('leaving the editor hands over what was written', () => {
  const { heard, type } = write('kept');
  expect(type('esc')).toBe(false);
  expect(heard).toEqual(['leave: kept']);
});

it('no line of the editor is wider than its box, the cursor is visible, and control characters are removed', () => {
  const { dialog } = write(`${'word '.repeat(200)}\n${'請'.repeat(100)}\u001B[2J`);
  const lines = dialog.draw(40, 12);
  expect(lines.join('')).toContain('▏');
  expect(lines.join('')).not.toContain('\u001B[2J');
});

it('tab leads through Cc, Bcc, subject and files back to the text, and each field is handed over', () => {
  const { dialog, heard, type } = write('Hello');
  expect(dialog.draw(60, 40).join('\n')).not.toContain('Bcc:');
  type('tab', 'b', '@', 'c');
  expect(dialog.draw(60, 40).join('\n')).toMatch(/Cc: b@c.*Bcc:.*Subject:.*Files:/s);
  type('enter');
  dialog.paste('d@e,\nf@g');
  type('down', 'N', 'down', 'x', 'shift-tab', 'e', 'down', 'down', '!');
  expect(dialog.text).toBe('Hello!');
  const drawn = dialog.draw(60, 40).join('\n');
  for (const shown of ['b@c', 'd@e, f@g', 'Ne', '-- ', 'Grace', '> Where is it?']) expect(drawn).toContain(shown);
  type('ctrl-s');
  expect(heard).toEqual(['send: Hello! cc=b@c bcc=d@e, f@g subject=Ne files=x']);
});

it('the path of a file is completed as far as it is certain, the last of several alone', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'rasket-compose-'));
  try {
    await mkdir(path.join(folder, 'invoices'));
    for (const name of ['report-1.pdf', 'report-2.pdf', '.hidden']) await writeFile(path.join(folder, name), '');
    expect(completePath(`${folder}/inv`)).toBe(`${folder}/invoices/`);
    expect(completePath(`a.txt, ${folder}/rep`)).toBe(`a.txt, ${folder}/report-`);
    expect(completePath(`${folder}/report-2`)).toBe(`${folder}/report-2.pdf`);
    for (const same of [`${folder}/report-`, `${folder}/none`, `${folder}/none/x`, `${folder}/`, `${folder}/invoices/`])
      expect(completePath(same)).toBe(same);
    expect(completePath(`${folder}/.h`)).toBe(`${folder}/.hidden`);
  } finally {
    await rm(folder, { recursive: true });
  }
});

it('a forward begins with its recipient, needs one and no text, and is no draft', () => {
  const { dialog, heard, type } = write('', ['to', ...REPLY]);
  expect(dialog.draw(60, 40).join('\n')).toMatch(/To: .*Cc:.*Bcc:.*Subject:.*Files:/s);
  expect(dialog.keys).not.toContain('draft');
  type('ctrl-d');
  expect(dialog.draw(60, 40).join('\n')).toContain('cannot be saved as a draft');
  type('ctrl-s');
  expect(dialog.draw(60, 40).join('\n')).toContain('To is empty');
  expect(heard).toEqual([]);
  type('b', '@', 'c', 'ctrl-s');
  expect(heard).toEqual(['send:  to=b@c']);
});

it('the editor and the templates get the composer, which does nothing with keys meanwhile, and text is inserted at the cursor', () => {
  const { dialog, heard, type } = write('ab\ncd');
  type('ctrl-x', 'ctrl-t');
  expect(heard).toEqual(['edit: ab\ncd', 'offer']);
  dialog.wait('The editor is open …');
  type('x', 'ctrl-s', 'esc');
  dialog.paste('y');
  expect(dialog.text).toBe('ab\ncd');
  expect(dialog.draw(60, 40).join('\n')).toContain('The editor is open …');
  dialog.release();
  type('up', 'left');
  dialog.insert('1\r\n2');
  type('3');
  expect(dialog.text).toBe('a1\n23b\ncd');
  dialog.replace('new\ntext');
  type('!');
  expect(dialog.text).toBe('new\ntext!');
});

it('the editor shows the subject that is sent if none is typed, and says at 80 columns how to save a draft', () => {
  const { dialog, type } = write('Hello.');
  type('tab');
  expect(dialog.draw(60, 30).map(unstyled)).toContain('Subject: Re: Where is it?');
  type('tab', 'tab', 'x');
  expect(dialog.draw(60, 30).map((line) => unstyled(line).trimEnd())).toContain('Subject: x');
  type('tab', 'tab');
  const [first, second, third, draft] = dialog.keys.split('   ');
  expect(draft).toBe('ctrl-d draft');
  expect([first, second, third, draft, 'esc set aside'].join('   ').length).toBeLessThan(79);
});

it('the editor takes no keys while a draft is loaded, and continues it then', () => {
  const { dialog, heard, type } = write();
  dialog.isAsking = true;
  type('x');
  dialog.paste('y');
  expect(dialog.draw(60, 30).map(unstyled)).toEqual(['Loading the draft …']);
  dialog.begin({ ...EMPTY_EMAIL, text: 'Later.', cc: 'bob@example.org' });
  type('!', 'ctrl-d');
  expect(heard).toEqual(['keep: Later.! cc=bob@example.org']);
});
