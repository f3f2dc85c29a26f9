// A row of a list is one line of the terminal, whatever its values are; `--wide` and a pipe have them whole.
import { describe, expect, it } from 'vitest';
import { everyFamily, measureWidth } from '../../cli/output/index.ts';
import { NAMED } from '../../cli/families/named.ts';
import { listOperations, loadContract, resolveRef } from '../../src/contract/index.ts';
import { speak } from './spoken.ts';

const contract = loadContract();
const operations = new Map(listOperations(contract).map((entry) => [entry.operationId as string, entry]));

interface Item extends Record<string, unknown> {
  id: string;
}

const buildItem = (operation: string): Item => {
  const [, response] = Object.entries(operations.get(operation)?.operation.responses ?? {})[0] ?? [];
  const content = response && resolveRef(contract, response).content?.['application/json'];
  const { data = [] } = (content as { example?: { data?: Item[] } } | undefined)?.example ?? {};
  const [first] = data;
  if (!first) throw new Error(`${operation} has no example of an item`);
  return first;
};

/** Texts that say more than there is space for; what has a form of its own keeps it. */
const stretched = (value: unknown, name: string): unknown => {
  if (Array.isArray(value)) return value.map((one) => stretched(one, name));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, stretched(one, key)]));
  if (typeof value !== 'string' || /(?:^|_)id$|_at$|^object$|since|until|time|month|status|state/.test(name))
    return value;
  if (name === 'address') return '2001:0db8:0000:0000:0000:ff00:0042:8329';
  return value.length > 3 && !/^(?:[a-z_]+|[A-Z]+)$/.test(value) ? `${value} and so on ${'x'.repeat(60)}` : value;
};

const ID = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e99';
const lists = everyFamily.flatMap(({ command, list, isOperators }) =>
  list ? [[`${command} ${list.verb}`, { command, list, isOperators }] as const] : [],
);

const shown = async (words: string, columns: number | undefined, more: string[] = []) => {
  const [, one] = lists.find(([name]) => name === words) ?? [];
  if (!one) throw new Error(words);
  const { list } = one;
  const item = buildItem(list.operation);
  const rows = [
    item,
    stretched(item, '') as Item,
    { ...(stretched(item, '') as Item), subject: '\u65e5\u672c'.repeat(40) },
  ];
  const typed = Object.keys(list.path).map((parameter) => (NAMED[parameter]?.taken ? 'a@example.org' : ID));
  const body = { object: 'list', has_more: false, data: rows };
  const reply = (path: string) =>
    path === '/auth/session' ? { object: 'session', user: {}, current_team: { id: ID } } : body;
  const heard = await speak(
    [...words.split(' '), ...typed, ...more],
    ({ path }) => ({ status: 200, body: reply(path) }),
    {
      ...(columns === undefined ? {} : { columns }),
    },
  );
  const plain = heard.stdout.replaceAll(/\u001B\[\d+m/g, '');
  return { ...heard, lines: plain.split('\n').slice(0, -1), item };
};

describe('a list at a terminal', () => {
  it('is tested for more than forty commands', () => expect(lists.length).toBeGreaterThan(40));

  it.each(lists.map(([words]) => words))(
    'has one line for each row at 40, 80 and 132 columns: rasket %s',
    async (words) => {
      for (const columns of [80, 40, 132]) {
        const { lines, stderr } = await shown(words, columns);
        expect(lines, stderr).toHaveLength(1 + 3);
        expect(Math.max(...lines.map(measureWidth)), lines.join('\n')).toBeLessThanOrEqual(columns);
        for (const line of lines) expect(line).not.toMatch(/^ /);
      }
    },
  );

  it.each(lists.map(([words]) => words))(
    'shows the end of an id, and the whole id with --wide and in a pipe: rasket %s',
    async (words) => {
      const [, one] = lists.find(([name]) => name === words) ?? [];
      const isShown = one?.list.columns.some(
        ({ name, kind, shown: where }) => name === 'id' && kind === 'id' && !where,
      );
      const isWide = one?.list.columns.some(({ name, shown: where }) => name === 'id' && where !== 'asked');
      const { lines, item } = await shown(words, 80);
      if (isShown) expect(lines[1]).toContain(item.id.slice(-8));
      if (item.id.length > 16) expect(lines.join('\n')).not.toContain(item.id);
      const wide = await shown(words, 80, ['--wide']);
      if (isWide) expect(wide.stdout).toContain(item.id);
      const piped = await shown(words, undefined);
      if (isShown) expect(piped.stdout).toContain(item.id);
    },
  );
});

describe('a table of five columns at 80 columns', () => {
  it('shows all columns of emails and requests, and who made each entry of the audit log', async () => {
    for (const [words, titles] of [
      ['emails list', /^ID +CREATED +STATE +TO +SUBJECT$/],
      ['logs list', /^ID +RECEIVED +STATUS +METHOD +ENDPOINT$/],
      ['audit list', /^WHEN .*WHO/],
    ] as const) {
      expect((await shown(words, 80)).lines[0]).toMatch(titles);
    }
  });
});
