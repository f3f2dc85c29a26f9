// What is typed need not be what is declared: another word for a verb, a noun alone, options before the command.
import type { Command } from 'commander';
import { beforeAll, beforeEach, afterEach, describe, expect, it } from 'vitest';
import { commandWord, typedWords } from '../../cli/commands/typed-words.ts';
import { everyFamily } from '../../cli/output/index.ts';
import { makeProgram } from '../../bin/program.ts';
import { Desk, expectOneLine } from './desk.ts';
import { speak } from './spoken.ts';

let program: Command;
beforeAll(async () => {
  program = await makeProgram('9.9.9');
});

const typed = (line: string): string => typedWords(program, line.split(' ')).join(' ');
const none = { status: 200, body: { object: 'list', has_more: false, data: [] } };

describe('a noun alone', () => {
  const listed = [
    ...new Set(
      everyFamily.flatMap(({ command, list, get }) =>
        list?.verb === 'list' && Object.keys(list.path).length === 0 && get?.verb !== 'list' ? [command] : [],
      ),
    ),
  ].filter((command) => !['audit', 'queue', 'team'].includes(command));

  it('there are many', () => expect(listed.length).toBeGreaterThan(18));
  it.each(listed)('%s is its list, with the options of the list', (command) => {
    expect(typed(command)).toBe(`${command} list`);
    expect(typed(`${command} --limit 5`)).toBe(`${command} list --limit 5`);
  });
  it.each(['team', 'billing', 'sso', 'ai'])('%s is the one there is', (command) =>
    expect(typed(command)).toBe(`${command} get`),
  );
  it.each(['teams', 'operators', 'users'])('%s of the machine is its list too', (command) =>
    expect(typed(command)).toBe(`${command} list`),
  );
  it('has its page of help, and does by itself what it did', () => {
    for (const line of ['emails --help', 'emails -h', 'queue', 'audit', 'findings', 'usage', 'emails help'])
      expect(typed(line)).toBe(line);
  });
  it('is asked of the server', async () => {
    const { asked, code } = await speak(['segments', '--json'], () => none);
    expect([code, asked.map(({ path }) => path)]).toEqual([0, ['/segments']]);
  });
});

describe('another word for a verb', () => {
  const actions = everyFamily.flatMap(({ command, actions: all = [] }) =>
    all.map((action) => ({ command, ...action })),
  );
  const isNamed = (command: string, word: string): boolean =>
    program.commands.find((one) => one.name() === command)?.commands.some((one) => one.name() === word) ?? false;
  const REMOVE = /^(?:delete|remove|revoke|end)[A-Z]/;
  const CREATE = /^(?:create)[A-Z]/;
  const TAKES_AWAY = ['delete', 'remove', 'revoke', 'withdraw', 'end', 'discard'];
  const MAKES = ['create', 'add', 'upload'];
  /** The action that a family has of the kind, by the order in which a word stands for them. */
  const first = (command: string, verbs: readonly string[]): string =>
    verbs.find((verb) => actions.some((action) => action.command === command && action.verb === verb)) ?? '';

  const removed = actions.filter(({ operation, verb }) => REMOVE.test(operation) && TAKES_AWAY.includes(verb));
  const made = actions.filter(({ operation, verb }) => CREATE.test(operation) && MAKES.includes(verb));
  const families = (of: typeof actions): string[] => [...new Set(of.map(({ command }) => command))];

  it.each(families(removed))('%s: rm, delete, remove and revoke take away', (command) => {
    for (const word of ['rm', 'delete', 'remove', 'revoke'])
      expect(typed(`${command} ${word} x`)).toBe(
        `${command} ${isNamed(command, word) ? word : first(command, TAKES_AWAY)} x`,
      );
  });
  it.each(families(made))('%s: add, create and new make one', (command) => {
    for (const word of ['add', 'create', 'new'])
      expect(typed(`${command} ${word} x`)).toBe(
        `${command} ${isNamed(command, word) ? word : first(command, MAKES)} x`,
      );
  });
  it('is there for most families', () => {
    expect(families(removed).length).toBeGreaterThan(18);
    expect(families(made).length).toBeGreaterThan(13);
  });
  it('is understood of a part, and for what lists and shows', () => {
    expect(typed('inbox rm-label a b')).toBe('inbox delete-label a b');
    expect(typed('contacts rm-segment a b')).toBe('contacts remove-segment a b');
    expect(typed('emails ls')).toBe('emails list');
    expect(typed('domains show example.com')).toBe('domains get example.com');
  });
  it('reaches the server', async () => {
    const id = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77';
    const { asked } = await speak(['topics', 'rm', id, '--yes'], () => ({ status: 200, body: { id } }));
    expect(asked.at(-1)).toMatchObject({ method: 'DELETE', path: `/topics/${id}` });
  });
});

describe('a name that is a word of the command', () => {
  const id = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77';
  const made = () => ({ status: 200, body: { id } });
  const bodyOf = async (...words: string[]): Promise<unknown> => (await speak(words, made)).asked.at(-1)?.body;
  const topic = { name: 'Product news', default_subscription: 'opt_in' };

  it.each([
    ['behind the verb', ['Product news', '--default-subscription', 'opt_in']],
    ['as an option', ['--name', 'Product news', '--default-subscription', 'opt_in']],
    ['as an option with =', ['--default-subscription', 'opt_in', '--name=Product news']],
  ])('is taken %s', async (_, words) => expect(await bodyOf('topics', 'create', ...words)).toEqual(topic));

  it('is taken so for every kind of thing, and one that looks like an option too', async () => {
    expect(await bodyOf('inbox', 'create-label', id, '--name', 'Billing')).toEqual({ name: 'Billing' });
    expect(await bodyOf('inbox', 'create-label', '--name=Billing', id)).toEqual({ name: 'Billing' });
    expect(await bodyOf('inbox', 'create-label', id, 'Billing')).toEqual({ name: 'Billing' });
    expect(await bodyOf('segments', 'create', '--name', '-5 %')).toEqual({ name: '-5 %' });
  });

  it('is given once, and asked for where it is missing', async () => {
    expect((await speak(['segments', 'create', 'A', '--name', 'B'], made)).code).toBe(64);
    const { code, stderr } = await speak(['topics', 'create', '--default-subscription', 'opt_in'], made);
    expect([code, stderr]).toEqual([64, expect.stringContaining("missing required argument 'name'")]);
  });

  it('is an option where a name is changed', () =>
    expect(typed(`topics update ${id} --name News`)).toBe(`topics update ${id} --name News`));
});

describe('options of all commands', () => {
  it('may stand before the command, and between its words', () => {
    expect(typed('--json emails list')).toBe('emails list --json');
    expect(typed('--profile office domains')).toBe('domains list --profile office');
    expect(typed('--url=http://x emails --json get latest')).toBe('emails get --url=http://x --json latest');
    expect(commandWord(['--profile', 'office', '--json', 'domains'])).toBe('domains');
  });
  it('reach the command', async () => {
    const { stdout } = await speak(['--json', 'segments'], () => none);
    expect(JSON.parse(stdout)).toEqual(none.body);
  });
  it('are left where they stand behind a command that is unknown', () =>
    expect(typed('nonsense --json')).toBe('nonsense --json'));
});

describe('rasket use', () => {
  let desk: Desk;
  beforeEach(() => void (desk = new Desk()));
  afterEach(() => desk.clear());
  const env = { RASKET_URL: '', RASKET_API_KEY: '', RASKET_PROFILE: '' };

  it('chooses the server of all later commands, until it is taken back', async () => {
    for (const name of ['office', 'home'])
      desk.write(
        `config/rasket/profiles/${name}.json`,
        JSON.stringify({ url: `http://127.0.0.1:9/${name}`, api_key: 'rk_x' }),
      );
    await desk.sh('chmod 600 config/rasket/profiles/*.json');
    const reached = async (words: string[], more: object = {}): Promise<string | undefined> =>
      /http:\/\/127\.0\.0\.1:\d+(?:\/\w+)?/.exec((await desk.rasket(words, { env: { ...env, ...more } })).stderr)?.[0];
    expect(await desk.rasket(['use', 'office'], { env })).toMatchObject({
      code: 0,
      stdout: 'Later commands use http://127.0.0.1:9/office, with profile office.\n',
    });
    expect(await reached(['emails'])).toBe('http://127.0.0.1:9/office');
    expect(await reached(['emails', '--profile', 'home'])).toBe('http://127.0.0.1:9/home');
    expect(await reached(['emails'], { RASKET_PROFILE: 'home' })).toBe('http://127.0.0.1:9/home');
    const { stdout } = await desk.rasket(['profiles', '--json'], { env });
    expect((JSON.parse(stdout) as { name: string; in_force: boolean }[]).find((one) => one.in_force)?.name).toBe(
      'office',
    );
    expectOneLine(
      await desk.rasket(['use', 'nowhere'], { env }),
      /there is no profile nowhere; the profiles are home, office\./,
      66,
    );
    expect(await reached(['emails'])).toBe('http://127.0.0.1:9/office');
    expect(await desk.rasket(['use', '--none'], { env })).toMatchObject({ code: 0 });
    expect(await reached(['emails'])).not.toMatch(/office|home/);
  });

  it('ends with the login that it chose', async () => {
    desk.write('config/rasket/profiles/office.json', JSON.stringify({ url: 'http://127.0.0.1:9', api_key: 'rk_x' }));
    await desk.sh('chmod 600 config/rasket/profiles/*.json');
    await desk.rasket(['use', 'office'], { env });
    await desk.rasket(['logout', '--profile', 'office'], { env });
    expect((await desk.rasket(['emails'], { env })).stderr).not.toContain('office');
  });
});

describe('segments create --where', () => {
  it('is the filter, with topics by their names', async () => {
    const where = 'properties.plan = pro and topic News = opt_in';
    const topic = { id: '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e32', name: 'News' };
    const { asked } = await speak(['segments', 'create', 'Paying', '--where', where], ({ method }) =>
      method === 'GET'
        ? { status: 200, body: { object: 'list', has_more: false, data: [topic] } }
        : { status: 201, body: { id: topic.id } },
    );
    expect(asked.at(-1)?.body).toEqual({
      name: 'Paying',
      filter: {
        all: [
          { field: 'properties.plan', op: 'eq', value: 'pro' },
          { topic: topic.id, subscription: 'opt_in' },
        ],
      },
    });
  });
  it('tells where it cannot be read, before anything is asked', async () => {
    const { asked, code, stderr } = await speak(['segments', 'preview', '--where', 'plan is'], () => none);
    expect({ asked, code }).toEqual({ asked: [], code: 64 });
    expect(stderr).toMatch(/^rasket: --where, at character 8: a value is expected here\n {2}plan is\n {9}\^/);
  });
});
