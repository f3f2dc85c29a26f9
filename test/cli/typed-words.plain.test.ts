// A command can be typed otherwise than it is declared: another word for a verb, a noun alone, options before the command.
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

describe('a noun without a verb', () => {
  const listed = [
    ...new Set(
      everyFamily.flatMap(({ command, list, get }) =>
        list?.verb === 'list' && Object.keys(list.path).length === 0 && get?.verb !== 'list' ? [command] : [],
      ),
    ),
  ].filter((command) => !['audit', 'queue', 'team'].includes(command));

  it('is supported for most families', () => expect(listed.length).toBeGreaterThan(18));
  it.each(listed)('means the list, with its options: rasket %s', (command) => {
    expect(typed(command)).toBe(`${command} list`);
    expect(typed(`${command} --limit 5`)).toBe(`${command} list --limit 5`);
  });
  it.each(['team', 'billing', 'sso', 'ai'])('means the single object: rasket %s', (command) =>
    expect(typed(command)).toBe(`${command} get`),
  );
  it.each(['teams', 'operators', 'users'])('means the list also for objects of the machine: rasket %s', (command) =>
    expect(typed(command)).toBe(`${command} list`),
  );
  it('keeps its help page and its own behavior', () => {
    for (const line of ['emails --help', 'emails -h', 'queue', 'audit', 'findings', 'usage', 'emails help'])
      expect(typed(line)).toBe(line);
  });
  it('sends the request of the list', async () => {
    const { asked, code } = await speak(['segments', '--json'], () => none);
    expect([code, asked.map(({ path }) => path)]).toEqual([0, ['/segments']]);
  });
});

describe('an alias of a verb', () => {
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

  it.each(families(removed))('makes rm, delete, remove and revoke the same for rasket %s', (command) => {
    for (const word of ['rm', 'delete', 'remove', 'revoke'])
      expect(typed(`${command} ${word} x`)).toBe(
        `${command} ${isNamed(command, word) ? word : first(command, TAKES_AWAY)} x`,
      );
  });
  it.each(families(made))('makes add, create and new the same for rasket %s', (command) => {
    for (const word of ['add', 'create', 'new'])
      expect(typed(`${command} ${word} x`)).toBe(
        `${command} ${isNamed(command, word) ? word : first(command, MAKES)} x`,
      );
  });
  it('exists for most families', () => {
    expect(families(removed).length).toBeGreaterThan(18);
    expect(families(made).length).toBeGreaterThan(13);
  });
  it('also works for subobjects, and for list and get', () => {
    expect(typed('inbox rm-label a b')).toBe('inbox delete-label a b');
    expect(typed('contacts rm-segment a b')).toBe('contacts remove-segment a b');
    expect(typed('emails ls')).toBe('emails list');
    expect(typed('domains show example.com')).toBe('domains get example.com');
  });
  it('sends the request of the verb', async () => {
    const id = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77';
    const { asked } = await speak(['topics', 'rm', id, '--yes'], () => ({ status: 200, body: { id } }));
    expect(asked.at(-1)).toMatchObject({ method: 'DELETE', path: `/topics/${id}` });
  });
});

describe('a name as a word of the command', () => {
  const id = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77';
  const made = () => ({ status: 200, body: { id } });
  const loadBody = async (...words: string[]): Promise<unknown> => (await speak(words, made)).asked.at(-1)?.body;
  const topic = { name: 'Product news', default_subscription: 'opt_in' };

  it.each([
    ['after the verb', ['Product news', '--default-subscription', 'opt_in']],
    ['as an option', ['--name', 'Product news', '--default-subscription', 'opt_in']],
    ['as an option with =', ['--default-subscription', 'opt_in', '--name=Product news']],
  ])('is read %s', async (_, words) => expect(await loadBody('topics', 'create', ...words)).toEqual(topic));

  it('is read the same way for every kind of object, and also when it looks like an option', async () => {
    expect(await loadBody('inbox', 'create-label', id, '--name', 'Billing')).toEqual({ name: 'Billing' });
    expect(await loadBody('inbox', 'create-label', '--name=Billing', id)).toEqual({ name: 'Billing' });
    expect(await loadBody('inbox', 'create-label', id, 'Billing')).toEqual({ name: 'Billing' });
    expect(await loadBody('segments', 'create', '--name', '-5 %')).toEqual({ name: '-5 %' });
  });

  it('can be given only once, and is required', async () => {
    expect((await speak(['segments', 'create', 'A', '--name', 'B'], made)).code).toBe(64);
    const { code, stderr } = await speak(['topics', 'create', '--default-subscription', 'opt_in'], made);
    expect([code, stderr]).toEqual([64, expect.stringContaining("missing required argument 'name'")]);
  });

  it('is an option when a name is changed', () =>
    expect(typed(`topics update ${id} --name News`)).toBe(`topics update ${id} --name News`));
});

describe('a global option', () => {
  it('may stand before the command and between its words', () => {
    expect(typed('--json emails list')).toBe('emails list --json');
    expect(typed('--profile office domains')).toBe('domains list --profile office');
    expect(typed('--url=http://x emails --json get latest')).toBe('emails get --url=http://x --json latest');
    expect(commandWord(['--profile', 'office', '--json', 'domains'])).toBe('domains');
  });
  it('reaches the command', async () => {
    const { stdout } = await speak(['--json', 'segments'], () => none);
    expect(JSON.parse(stdout)).toEqual(none.body);
  });
  it('is not moved when the command is unknown', () => expect(typed('nonsense --json')).toBe('nonsense --json'));
});

describe('rasket use', () => {
  let desk: Desk;
  beforeEach(() => void (desk = new Desk()));
  afterEach(() => desk.clear());
  const env = { RASKET_URL: '', RASKET_API_KEY: '', RASKET_PROFILE: '' };

  it('chooses the server of all later commands until it is reset', async () => {
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

  it('ends with the login it chose', async () => {
    desk.write('config/rasket/profiles/office.json', JSON.stringify({ url: 'http://127.0.0.1:9', api_key: 'rk_x' }));
    await desk.sh('chmod 600 config/rasket/profiles/*.json');
    await desk.rasket(['use', 'office'], { env });
    await desk.rasket(['logout', '--profile', 'office'], { env });
    expect((await desk.rasket(['emails'], { env })).stderr).not.toContain('office');
  });
});

describe('rasket segments create --where', () => {
  it('becomes the filter, with topics by their names', async () => {
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
  it('is refused with the position of the mistake before any request', async () => {
    const { asked, code, stderr } = await speak(['segments', 'preview', '--where', 'plan is'], () => none);
    expect({ asked, code }).toEqual({ asked: [], code: 64 });
    expect(stderr).toMatch(/^rasket: --where, at character 8: a value is expected here\n {2}plan is\n {9}\^/);
  });
});

describe('a field that may be set to null', () => {
  const id = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e31';

  it('rasket topics update --clear description sets the description to null', async () => {
    const words = ['topics', 'update', id, '--clear', 'description', '--clear', 'confirmation_template_id', '--json'];
    const { asked, code } = await speak(words, () => ({ status: 200, body: { object: 'topic', id } }));
    expect(code).toBe(0);
    expect(asked.find(({ method }) => method === 'PATCH')).toMatchObject({
      path: `/topics/${id}`,
      body: { description: null, confirmation_template_id: null },
    });
  });

  it('every field that may be set to null can be cleared by the commands that change it', () => {
    const stuck = everyFamily.flatMap(({ command, actions = [] }) =>
      actions
        .filter(({ verb }) => verb.startsWith('update') || verb.startsWith('set'))
        .flatMap(({ verb, flags, clears = [] }) =>
          Object.entries(flags)
            .filter(
              ([field, flag]) => flag.isClearable && !field.includes('.') && flag.place !== 'form' && !flag.isWord,
            )
            .filter(([field, flag]) => !flag.clear && flag.isEmptied !== true && !clears.includes(field))
            .map(([field]) => `${command} ${verb}: ${field}`),
        ),
    );
    expect(stuck).toEqual([]);
  });
});

describe('help for a word that is no command', () => {
  it.each([
    [['help', 'nosuch'], 'nosuch'],
    [['help', 'emails', 'nosuch'], 'nosuch'],
  ])('names the word: rasket %j', async (words, word) => {
    const { code, stderr } = await speak(words, () => none);
    expect([code, stderr]).toEqual([
      64,
      `rasket: unknown command '${word}'\nList all commands with: rasket help --all\n`,
    ]);
  });
});
