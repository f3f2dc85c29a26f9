import { readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { clean, measureWidth, shorten } from '../../cli/output/index.ts';
import { faint, wrap } from '../draw/text.ts';
import { inOneLine, type Dialog } from './dialog.ts';
import { LineEdit } from './line-edit.ts';

const LABELS = { to: 'To', cc: 'Cc', bcc: 'Bcc', subject: 'Subject', files: 'Files' } as const;
/** A field of an email besides its text; those that stay empty are chosen by the server. */
type Field = keyof typeof LABELS;

export type WrittenEmail = Readonly<Record<Field | 'text', string>>;

export const EMPTY_EMAIL: WrittenEmail = { text: '', to: '', cc: '', bcc: '', subject: '', files: '' };

/** A composer that work on its text is done in, such as an editor. */
export interface Composer {
  readonly text: string;
  /** Shows what is under way; until `release` or `refuse`, keys do nothing. */
  wait: (says: string) => void;
  release: () => void;
  replace: (text: string) => void;
  insert: (text: string) => void;
  refuse: (fault: string) => void;
}

interface Compose {
  title: string;
  /** Returns the lines about its recipients and about others who write one too. */
  head: () => readonly string[];
  /** The signature and the quote, which the server puts below the text. */
  below: readonly string[];
  /** The subject that the server chooses if none is typed. */
  subject: string;
  /** The fields in their order. Recipients are typed first if `to` is one of them. */
  fields: readonly Field[];
  written: WrittenEmail;
  send: (written: WrittenEmail) => void;
  /** Saves it as a draft, if it can be one. */
  keep?: (written: WrittenEmail) => void;
  /** Receives what was written when it is left unsent. */
  leave: (written: WrittenEmail) => void;
  /** Opens the text in the user's editor. */
  edit: (composer: Composer) => void;
  /** Offers templates to insert. */
  offer: (composer: Composer) => void;
}

const SHARE = 0.6;
/** The part of the box that the signature and the quote may take, and the least number of lines that they need. */
const ADDED_SHARE = 6;
const ADDED_MIN = 3;

const segments = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
const graphemes = (text: string): string[] => [...segments.segment(text)].map(({ segment }) => segment);

/**
 * An editor for a text of several lines, below the email it answers. The text is handed out however the dialog is left.
 */
export class ComposeDialog implements Dialog, Composer {
  readonly title: string;
  readonly #input: Compose;
  readonly #edits: Readonly<Record<Field, LineEdit>>;
  /** The field that keys are for; none for the text. */
  #field: Field | undefined;
  #lines: string[][];
  #row = 0;
  #column = 0;
  #fault = '';
  /** What is under way; keys do nothing until it is done. */
  #doing = '';
  /** True while the draft that it continues is being loaded. */
  isAsking = false;

  constructor(input: Compose) {
    this.title = input.title;
    this.#input = input;
    const { written } = input;
    if (input.fields.includes('to') && written.to === '') this.#field = 'to';
    this.#edits = {
      to: new LineEdit(written.to),
      cc: new LineEdit(written.cc),
      bcc: new LineEdit(written.bcc),
      subject: new LineEdit(written.subject),
      files: new LineEdit(written.files),
    };
    this.#lines = [[]];
    this.replace(written.text);
  }

  /** Fills in what is continued, once it is loaded. */
  begin(written: WrittenEmail): void {
    this.isAsking = false;
    for (const field of this.#input.fields) this.#edits[field].set(written[field]);
    this.replace(written.text);
  }

  get #line(): string[] {
    return this.#lines[this.#row] ?? [];
  }

  get text(): string {
    return this.#lines.map((line) => line.join('')).join('\n');
  }

  get keys(): string {
    if (this.isAsking) return 'esc cancel';
    const draft = this.#input.keep ? ['ctrl-d draft'] : [];
    if (this.#field === 'files') return 'tab complete the path   ↑↓ other fields   ctrl-s send   esc set aside';
    if (this.#field !== undefined) return ['tab ↑↓ other fields', 'ctrl-s send', ...draft, 'esc set aside'].join('   ');
    const others = `tab ${LABELS[this.#input.fields[0] ?? 'cc']} … files`;
    return ['ctrl-s send', others, 'ctrl-t template', ...draft, 'ctrl-x editor', 'esc set aside'].join('   ');
  }

  get written(): WrittenEmail {
    const { to, cc, bcc, subject, files } = this.#edits;
    return {
      text: this.text,
      to: to.text.trim(),
      cc: cc.text.trim(),
      bcc: bcc.text.trim(),
      subject: subject.text.trim(),
      files: files.text.trim(),
    };
  }

  wait(says: string): void {
    this.#doing = says;
  }

  release(): void {
    this.#doing = '';
  }

  /** Shows why the text was not sent or changed; it can be sent again. */
  refuse(fault: string): void {
    this.#doing = '';
    this.#fault = fault;
  }

  /** Replaces the text; the cursor is at its end. */
  replace(text: string): void {
    this.#lines = text.replaceAll(/\r\n?/g, '\n').split('\n').map(graphemes);
    this.#row = this.#lines.length - 1;
    this.#column = this.#line.length;
  }

  /** Inserts into the text where the cursor is. */
  insert(text: string): void {
    const behind = this.#line.splice(this.#column);
    const [first = '', ...more] = text.replaceAll(/\r\n?/g, '\n').split('\n');
    this.#line.push(...graphemes(first));
    if (more.length > 0) this.#lines.splice(this.#row + 1, 0, ...more.map(graphemes));
    this.#row += more.length;
    this.#column = this.#line.length;
    this.#line.push(...behind);
  }

  draw(width: number, height: number): string[] {
    if (this.isAsking) return [faint('Loading the draft …')];
    const head = [...this.#input.head().flatMap((line) => wrap(faint(clean(line)), width)), ...this.#drawFields(width)];
    const added = this.#drawAdded(width, Math.floor(height / ADDED_SHARE));
    const said = this.#doing !== '' ? wrap(this.#doing, width) : this.#fault === '' ? [] : wrap(this.#fault, width);
    // The email that is answered stays visible above it.
    const below = [...added, ...said];
    const space = Math.max(3, Math.floor(height * SHARE) - head.length - below.length - 1);
    const { drawn, at } = this.#drawn(width);
    const top = Math.max(0, Math.min(at - space + 1, drawn.length - space));
    const seen = drawn.slice(top, top + space);
    // The box keeps its size while the user writes.
    const fill = Array.from({ length: Math.max(0, space - seen.length) }, () => '');
    return [...head, '', ...seen, ...fill, ...below];
  }

  /** Shows all fields while one of them is edited, and otherwise those that have a value. */
  #drawFields(width: number): string[] {
    return this.#input.fields
      .filter((field) => this.#field !== undefined || this.#edits[field].text !== '')
      .map((field) => {
        const edit = this.#edits[field];
        const label = `${LABELS[field]}: `;
        const room = width - label.length;
        if (field === 'subject' && edit.text === '') {
          const shown = faint(shorten(clean(this.#input.subject), room - 1));
          return `${label}${field === this.#field ? edit.draw(1) : ''}${shown}`;
        }
        return field === this.#field ? label + edit.draw(room) : faint(label) + edit.drawAway(room);
      });
  }

  /** Shows what the server adds, as far as there is room for it. */
  #drawAdded(width: number, most: number): string[] {
    const lines = this.#input.below.flatMap((line) => wrap(clean(line), width));
    const shown = lines.length > most ? [...lines.slice(0, Math.max(0, most - 1)), '…'] : lines;
    return most < ADDED_MIN ? [] : shown.map(faint);
  }

  /** The lines as they are broken, and which of them the cursor is on. */
  #drawn(width: number): { drawn: string[]; at: number } {
    const drawn: string[] = [];
    let at = 0;
    for (const [row, line] of this.#lines.entries()) {
      const shown = line.map((one) => (one === '\t' ? '  ' : clean(one)));
      const isHere = row === this.#row && this.#field === undefined;
      if (isHere) shown.splice(this.#column, 0, '▏');
      const broken = broke(shown, Math.max(8, width - 1));
      if (row === this.#row) {
        at = drawn.length + Math.max(0, isHere ? broken.findIndex((part) => part.includes('▏')) : 0);
      }
      drawn.push(...broken);
    }
    return { drawn, at };
  }

  key(key: string): boolean {
    if (this.#doing !== '') return true;
    this.#fault = '';
    if (key === 'esc') {
      this.#input.leave(this.written);
      return false;
    }
    if (this.isAsking) return true;
    if (key === 'ctrl-x') this.#input.edit(this);
    else if (key === 'ctrl-t') this.#input.offer(this);
    else if (key === 'ctrl-s') this.#finish(this.#input.send, 'Sending …');
    else if (key === 'ctrl-d') this.#finish(this.#input.keep, 'Saving …');
    else if (this.#field !== undefined) this.#keyOfField(this.#field, key);
    else if (key === 'tab' || key === 'shift-tab') this.#turn(key === 'tab' ? 1 : -1);
    else if (!this.#move(key)) this.#type(key);
    return true;
  }

  #finish(work: Compose['keep'], says: string): void {
    if (!work) return this.refuse('This email cannot be saved as a draft; esc sets it aside.');
    const hasRecipients = this.#input.fields.includes('to');
    if (hasRecipients && this.#edits.to.text.trim() === '') {
      this.#field = 'to';
      return this.refuse('To is empty; type an address.');
    }
    if (!hasRecipients && this.text.trim() === '') return this.refuse('The text is empty; there is nothing to send.');
    this.wait(says);
    work(this.written);
  }

  #keyOfField(field: Field, key: string): void {
    const edit = this.#edits[field];
    if (key === 'tab' && field === 'files') {
      const completed = completePath(edit.text);
      if (completed !== edit.text) return edit.set(completed);
    }
    if (key === 'tab' || key === 'down' || key === 'enter') this.#turn(1);
    else if (key === 'shift-tab' || key === 'up') this.#turn(-1);
    else edit.key(key);
  }

  /** Goes to the next or previous field; the text is before the first and after the last of them. */
  #turn(step: 1 | -1): void {
    const places = [undefined, ...this.#input.fields];
    this.#field = places[(places.indexOf(this.#field) + step + places.length) % places.length];
  }

  #move(key: string): boolean {
    const last = this.#lines.length - 1;
    if (key === 'up') this.#row = Math.max(0, this.#row - 1);
    else if (key === 'down') this.#row = Math.min(last, this.#row + 1);
    else if (key === 'left' && this.#column > 0) this.#column--;
    else if (key === 'left' && this.#row > 0) [this.#row, this.#column] = [this.#row - 1, Infinity];
    else if (key === 'right' && this.#column < this.#line.length) this.#column++;
    else if (key === 'right' && this.#row < last) [this.#row, this.#column] = [this.#row + 1, 0];
    else if (key === 'home' || key === 'ctrl-a') this.#column = 0;
    else if (key === 'end' || key === 'ctrl-e') this.#column = Infinity;
    else if (!['left', 'right'].includes(key)) return false;
    this.#column = Math.min(this.#column, this.#line.length);
    return true;
  }

  #type(key: string): void {
    if (key === 'enter') this.insert('\n');
    else if (key === 'backspace') this.#erase();
    else if (key === 'delete') {
      const row = this.#row;
      const column = this.#column;
      this.#move('right');
      if (row !== this.#row || column !== this.#column) this.#erase();
    } else if (key === 'ctrl-u') this.#lines[this.#row] = this.#line.slice(this.#column);
    else if (key === 'ctrl-k') this.#lines[this.#row] = this.#line.slice(0, this.#column);
    else if (graphemes(key).length === 1) this.insert(key);
    if (key === 'ctrl-u') this.#column = 0;
  }

  #erase(): void {
    if (this.#column > 0) this.#line.splice(--this.#column, 1);
    else if (this.#row > 0) {
      const [line = []] = this.#lines.splice(this.#row--, 1);
      this.#column = this.#line.length;
      this.#line.push(...line);
    }
  }

  paste(text: string): void {
    if (this.#doing !== '' || this.isAsking) return;
    if (this.#field === undefined) this.insert(text);
    else this.#edits[this.#field].insert(inOneLine(text));
  }
}

/** Completes the last of several paths, as far as all files that begin so agree. */
export function completePath(text: string): string {
  const [, before = '', typed = ''] = /^(.*,\s*)?(.*)$/s.exec(text) ?? [];
  const slash = typed.lastIndexOf('/') + 1;
  const start = typed.slice(slash);
  const folder = typed.slice(0, slash);
  try {
    const found = readdirSync(path.resolve(folder.replace(/^~(?=\/)/, homedir())), { withFileTypes: true })
      .filter(({ name }) => name.startsWith(start) && (start !== '' || !name.startsWith('.')))
      .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name));
    const [first] = found;
    if (first === undefined) return text;
    let length = first.length;
    for (const name of found) while (!name.startsWith(first.slice(0, length))) length--;
    return length > start.length ? `${before}${folder}${first.slice(0, length)}` : text;
  } catch {
    // A folder that cannot be read has nothing to offer.
    return text;
  }
}

/** Returns the paths of files that were typed, with the home folder in place of `~`. */
export const readPaths = (files: string): string[] =>
  files
    .split(/\s*,\s*/)
    .filter((file) => file !== '')
    .map((file) => file.replace(/^~(?=\/)/, homedir()));

/** Broken after the last blank for which there is room. */
function broke(shown: readonly string[], width: number): string[] {
  const lines: string[] = [];
  let now: string[] = [];
  let used = 0;
  for (const one of shown) {
    const wide = measureWidth(one);
    if (used + wide > width) {
      const blank = now.lastIndexOf(' ');
      const next = blank > 0 ? now.splice(blank + 1) : [];
      lines.push(now.join(''));
      now = next;
      used = now.reduce((sum, part) => sum + measureWidth(part), 0);
    }
    now.push(one);
    used += wide;
  }
  return [...lines, now.join('')];
}
