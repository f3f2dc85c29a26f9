// rasket automations init and why, and automations that are written from files
import fs from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Desk } from './desk.ts';

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

let desk: Desk;
beforeAll(async () => {
  desk = new Desk();
  await desk.serve(['dev', '--data', 'data']);
});
afterAll(() => desk.clear());

const rasket = (...words: string[]) => desk.rasket([...words, '--data', 'data']);
const must = async (...words: string[]): Promise<string> => {
  const { code, stdout, stderr } = await rasket(...words);
  expect([words, code, stderr]).toEqual([words, 0, expect.any(String)]);
  return stdout;
};
const json = async (...words: string[]) => JSON.parse(await must(...words, '--json'));

const STEPS = `- { key: start, type: trigger, config: { event_name: "rasket:contact.updated" } }
- key: wait # a comment
  type: delay
  config:
    duration: 1 day
`;
const CONNECTIONS = '- { from: start, to: wait }\n';

const KINDS = {
  welcome: { name: 'Welcome', sends: 2 },
  cart: { name: 'Cart', sends: 2 },
  'win-back': { name: 'Win back', sends: 1 },
  birthday: { name: 'Birthday', sends: 1 },
} as const;

/** Returns the commands in the comments of a starting file. */
const commandsIn = (text: string): string[] =>
  text.split('\n').flatMap((line) => /^#   (rasket .+)$/.exec(line)?.slice(1) ?? []);

describe('rasket automations init', () => {
  it.each(Object.entries(KINDS))(
    'writes a file for %s whose commands create an automation that can be tried and enabled',
    async (kind, { name, sends }) => {
      expect(await must('automations', 'init', kind)).toBe(`${kind}.yaml\n`);
      const text = fs.readFileSync(desk.at(`${kind}.yaml`), 'utf8');
      await rasket('contacts', 'create', 'ada@example.com');
      await rasket('contact-properties', 'create', 'last_order_on', '--type', 'string');
      const commands = commandsIn(text);
      expect(commands.length).toBeGreaterThanOrEqual(5);
      for (const command of commands) {
        const { code, stderr } = await desk.type(
          `${command.replace('@example.com>', '@playground.test>')} --data data`,
        );
        // Two of the files need the same event or property.
        if (!/already (exists|declared)/.test(stderr))
          expect([command, code, stderr]).toEqual([command, 0, expect.any(String)]);
      }
      const automation = await json('automations', 'get', name);
      expect(automation).toMatchObject({ name, status: 'enabled' });
      const dry = await json(
        'automations',
        'dry-run',
        name,
        '--contact',
        'ada@example.com',
        '--payload',
        PAYLOADS[kind] ?? '{}',
      );
      expect(dry).toMatchObject({ status: 'completed', obstacles: [] });
      const outcomes = (dry.steps as { outcome: string; stream: string | null }[]).filter(
        ({ outcome }) => outcome === 'sends',
      );
      expect(outcomes.map(({ stream }) => stream)).toEqual(Array.from({ length: sends }, () => 'marketing'));
    },
  );

  it('keeps a file that exists, and writes to a given name or to standard output', async () => {
    desk.write('mine.yaml', 'mine');
    const refused = await rasket('automations', 'init', 'cart', 'mine.yaml');
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('mine.yaml')]);
    expect(fs.readFileSync(desk.at('mine.yaml'), 'utf8')).toBe('mine');
    await must('automations', 'init', 'cart', 'mine.yaml', '--force');
    const text = fs.readFileSync(desk.at('mine.yaml'), 'utf8');
    expect(text).toContain('name: Cart');
    expect(await must('automations', 'init', 'cart', '-')).toBe(text);
  });

  it('names the kinds for an unknown one', async () => {
    const { code, stderr } = await rasket('automations', 'init', 'nothing');
    expect([code, stderr]).toEqual([
      64,
      expect.stringContaining('kind must be one of welcome, cart, win-back, birthday'),
    ]);
  });
});

describe('rasket automations why', () => {
  it('shows whether a contact may enter an automation, by the address of the contact', async () => {
    await must('contacts', 'create', 'grace@example.com');
    desk.write('why.yaml', `name: Asked\nsteps:\n${STEPS}connections:\n${CONNECTIONS}`);
    await must('automations', 'create', '--file', 'why.yaml');
    const refused = await must('automations', 'why', 'Asked', '--contact', 'grace@example.com');
    expect(refused).toContain('No run can be started: The automation is disabled');
    await must('automations', 'update', 'Asked', '--status', 'enabled');
    const allowed = await must('automations', 'why', 'Asked', '--contact', 'grace@example.com');
    expect(allowed).toContain('A run can be started for this contact.');
  });
});

const PAYLOADS: Readonly<Record<string, string>> = { cart: '{"product": "Tea", "url": "https://example.com"}' };

describe('an automation from files', () => {
  it('is created from YAML and from JSON alike', async () => {
    desk.write('steps.yaml', STEPS);
    desk.write('connections.yml', CONNECTIONS);
    const graph = ['--steps-file', 'steps.yaml', '--connections-file', 'connections.yml'];
    const { id } = await json('automations', 'create', 'From YAML', ...graph);
    const written = await json('automations', 'get', id);
    expect(written.steps[1]).toEqual({ key: 'wait', type: 'delay', config: { duration: '1 day' } });
    desk.write('steps.json', JSON.stringify(written.steps));
    const other = await json(
      'automations',
      'create',
      'From JSON',
      '--steps-file',
      'steps.json',
      '--connections',
      JSON.stringify(written.connections),
    );
    expect((await json('automations', 'get', other.id)).steps).toEqual(written.steps);
  });

  it('is created and changed by one file, whose fields the options replace', async () => {
    desk.write('whole.yaml', `name: Whole\nreentry: never\nexit_on: []\nsteps:\n${STEPS}connections:\n${CONNECTIONS}`);
    const { id } = await json('automations', 'create', '--file', 'whole.yaml', '--reentry', 'when_ended');
    expect(await json('automations', 'get', id)).toMatchObject({ name: 'Whole', reentry: 'when_ended', exit_on: [] });
    await must('automations', 'update', id, '--file', 'whole.yaml', '--name', 'Changed');
    expect(await json('automations', 'get', id)).toMatchObject({ name: 'Changed', reentry: 'never' });
    const named = await json('automations', 'create', 'Typed', '--file', 'whole.yaml');
    expect(await json('automations', 'get', named.id)).toMatchObject({ name: 'Typed' });
  });

  it.each([
    ['steps: [', 'the automation is not valid YAML'],
    ['- a list', 'must contain one automation with steps and connections'],
    ['name: A\nstepz: []', 'has unknown fields: stepz; known are name'],
    ['steps: []\nconnections: []', 'has no name; add one, or type it'],
  ])('is refused by %j before a server is called', async (text, message) => {
    desk.write('wrong.yaml', text);
    const { code, stderr } = await rasket('automations', 'create', '--file', 'wrong.yaml');
    expect([code, stderr]).toEqual([64, expect.stringContaining(message)]);
  });

  it('is refused without a name and a file', async () => {
    const { code, stderr } = await rasket('automations', 'create', '--steps', '[]', '--connections', '[]');
    expect([code, stderr]).toEqual([64, expect.stringContaining("missing required argument 'name', or --file")]);
  });

  it('reports a YAML error in a file of steps with its kind', async () => {
    desk.write('steps.yaml', 'a: b: c');
    const { code, stderr } = await rasket(
      'automations',
      'create',
      'A',
      '--steps-file',
      'steps.yaml',
      '--connections',
      '[]',
    );
    expect([code, stderr]).toEqual([64, expect.stringContaining('the steps is not valid YAML')]);
  });
});
