import { expect, it } from 'vitest';
import { ComposeDialog } from './compose-dialog.ts';

const write = (text = '') => {
  const heard: string[] = [];
  const hear =
    (what: string) =>
    (said: string): void =>
      void heard.push(`${what}: ${said}`);
  const input = { title: 'Answer', head: ['To: ada@example.org'], text };
  const dialog = new ComposeDialog({ ...input, send: hear('send'), keep: hear('keep'), leave: hear('leave') });
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
