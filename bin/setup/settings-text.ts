/** Changes a TOML text as an operator would: one line for each setting, everything else unchanged. */
import { isDeepStrictEqual } from 'node:util';
import { parse, stringify } from 'smol-toml';
import { OperatorFault } from '../explain.ts';

export type SettingValue = string | number | boolean | readonly (string | number)[];

export interface Edit {
  key: string;
  value: SettingValue;
}

export interface Edited {
  text: string;
  /** The edits that were not in the text already. */
  changed: readonly Edit[];
}

/** `file` is how a fault names the text. */
export function withSettings(text: string, edits: readonly Edit[], file: string): Edited {
  const changed: Edit[] = [];
  let lines = text.split('\n');
  for (const edit of edits) {
    const tree = parseLines(lines, file);
    if (isDeepStrictEqual(valueAt(tree, edit.key), edit.value)) continue;
    const next = withOne(lines, edit);
    if (!isOnlyChange(tree, next, edit)) throw notEditable(file, edit);
    lines = next;
    changed.push(edit);
  }
  return { text: lines.join('\n'), changed };
}

/** Formats a setting as a line of the file. */
export const settingLine = ({ key, value }: Edit): string => `${toName(key)} = ${written(value)}`;

export const toSection = (key: string): string => key.slice(0, key.lastIndexOf('.'));
const toName = (key: string): string => key.slice(key.lastIndexOf('.') + 1);

const written = (value: SettingValue): string =>
  stringify({ value: Array.isArray(value) ? [...value] : value })
    .trim()
    .slice('value = '.length);

function withOne(lines: readonly string[], edit: Edit): string[] {
  const section = findSection(lines, toSection(edit.key));
  if (!section) return withNewSection(lines, edit);
  const name = literally(toName(edit.key));
  const within = lines.slice(section.from, section.to);
  const at = within.findIndex((line) => new RegExp(`^\\s*${name}\\s*=`).test(line));
  if (at >= 0) {
    const from = section.from + at;
    const count = linesOfValue(lines.slice(from, section.to));
    const remark = count === 1 ? findRemark(lines[from] ?? '') : '';
    return lines.toSpliced(from, count, settingLine(edit) + remark);
  }
  // Inserted below the commented example of the setting, or else at the end of the section.
  const example = within.findIndex((line) => new RegExp(`^\\s*#\\s*${name}\\s*=`).test(line));
  const last = example >= 0 ? example : within.findLastIndex((line) => !/^\s*(#|$)/.test(line));
  return lines.toSpliced(section.from + last + 1, 0, settingLine(edit));
}

function withNewSection(lines: readonly string[], edit: Edit): string[] {
  const end = lines.findLastIndex((line) => line.trim() !== '') + 1;
  const gap = end === 0 ? [] : [''];
  return [...lines.slice(0, end), ...gap, `[${toSection(edit.key)}]`, settingLine(edit), ''];
}

/** The lines below a header, up to the next one. */
function findSection(lines: readonly string[], section: string): { from: number; to: number } | undefined {
  const header = new RegExp(`^\\s*\\[\\s*${literally(section)}\\s*\\]\\s*(#.*)?$`);
  const at = lines.findIndex((line) => header.test(line));
  if (at < 0) return undefined;
  const next = lines.findIndex((line, index) => index > at && /^\s*\[{1,2}\s*[\w."' -]+\]{1,2}\s*(#.*)?$/.test(line));
  return { from: at + 1, to: next < 0 ? lines.length : next };
}

/** Counts the lines of an assignment: a list may take several. */
function linesOfValue(lines: readonly string[]): number {
  for (let count = 1; count <= lines.length; count++) {
    try {
      parse(lines.slice(0, count).join('\n'));
      return count;
    } catch {
      // It goes on.
    }
  }
  return 1;
}

/** Returns the comment after a value; a `#` within quotes does not start one. */
const findRemark = (line: string): string => /^(?:[^"'#]|"(?:[^"\\]|\\.)*"|'[^']*')*?(\s*#.*)$/.exec(line)?.[1] ?? '';

function isOnlyChange(before: object, lines: readonly string[], { key, value }: Edit): boolean {
  let after: object;
  try {
    after = parse(lines.join('\n'), { integersAsBigInt: 'asNeeded' });
  } catch {
    return false;
  }
  const expected: Record<string, unknown> = structuredClone(plain(before));
  let table = expected;
  for (const name of toSection(key).split('.')) table = (table[name] ??= {}) as Record<string, unknown>;
  table[toName(key)] = value;
  return isDeepStrictEqual(plain(after), expected);
}

/** Copies without the parser's own prototypes. */
function plain(value: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value).map(([name, part]: [string, unknown]) => [name, isTable(part) ? plain(part) : part]),
  );
}

const isTable = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);

function valueAt(tree: object, key: string): unknown {
  let table: unknown = tree;
  for (const name of key.split('.')) table = isTable(table) ? (table as Record<string, unknown>)[name] : undefined;
  return table;
}

function parseLines(lines: readonly string[], file: string): object {
  try {
    return parse(lines.join('\n'), { integersAsBigInt: 'asNeeded' });
  } catch (error) {
    const [first = ''] = String(error instanceof Error ? error.message : error).split('\n');
    throw new OperatorFault(`${file}: ${first}`);
  }
}

const notEditable = (file: string, edit: Edit): OperatorFault =>
  new OperatorFault(
    `${file} does not write ${toSection(edit.key)} as a [${toSection(edit.key)}] section, so setup does not change it; edit it so that ${toSection(edit.key)} has: ${settingLine(edit)}`,
  );

const literally = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
