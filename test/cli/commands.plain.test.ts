import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { addClientCommands } from '../../cli/index.ts';
import * as exported from '../../cli/families/index.ts';
import { withRemaining } from '../../cli/families/family.ts';
import { takeCommands } from '../../src/contract/describe-commands.ts';
import { listOperations, loadCommands, loadContract, type OpenApiDocument } from '../../src/contract/index.ts';

const program = new Command('rasket').exitOverride();
addClientCommands(program);
const families = Object.values(exported).filter((family) => typeof family === 'object') as exported.Family[];
const declared = families.flatMap(({ list, get, report, actions = [] }) =>
  [list, get, report, ...actions].flatMap((one) => (one ? [one] : [])),
);
const commands = Object.entries(loadCommands()).flatMap(([id, { also = [], ...command }]) =>
  [command, ...also].map((one) => [one.command, id, one] as const),
);

const find = (words: string): Command | undefined =>
  words
    .split(' ')
    .reduce<Command | undefined>((command, word) => command?.commands.find((one) => one.name() === word), program);

describe('the commands of the contract', () => {
  it.each(commands)('include “%s” with every word and flag of %s', (words, id, { path, flags }) => {
    const command = find(words);
    expect(command, `no command calls ${id}`).toBeDefined();
    // Commands that only a file declares have options of their own, and so do commands that name several things.
    if (!declared.some(({ operation }) => operation === id)) return;
    const known = [
      ...(command?.options ?? []).map(({ long }) => long),
      ...(command?.registeredArguments ?? []).map((argument) => argument.name()),
    ];
    const typed = Object.entries(flags)
      .filter(([, { place }]) => place !== 'form')
      .map(([field, flag]) =>
        flag.isWord ? flag.value?.replaceAll(/[<>[\]]/g, '') : `--${exported.toOptionName(field, flag)}`,
      );
    expect(known).toEqual(expect.arrayContaining([...Object.values(path).map(({ word }) => word), ...typed]));
  });

  it('include an operation that its family does not declare', () => {
    const { actions: _, ...rest } = exported.topics as exported.Family;
    const { actions = [] }: exported.Family = withRemaining(rest);
    expect(actions.map(({ operation, verb }) => [operation, verb])).toEqual([
      ['createTopic', 'create'],
      ['updateTopic', 'update'],
      ['deleteTopic', 'delete'],
    ]);
  });

  it('are not part of the served document', () => expect(JSON.stringify(loadContract())).not.toContain('"x-cli"'));
});

describe('a command derived from an operation', () => {
  it('has a word or a flag for each field, with its type and the help of its description', () => {
    const { flags, example } = describeOne({
      colour: { type: 'string', enum: ['red', 'blue'], description: 'The color of it; none unless said otherwise.' },
      size: { type: ['integer', 'null'], description: 'How large it is.' },
      name: { type: 'string', description: 'What people call it.' },
      tags: { type: 'array', items: { type: 'string' } },
      secret: { type: 'string', 'x-cli': 'it is set by another command' },
    });
    expect(flags).toEqual({
      name: { value: '<name>', says: 'what people call it', isRequired: true, isWord: true },
      colour: { value: '<colour>', says: 'the color of it; none unless said otherwise', choices: ['red', 'blue'] },
      size: { value: '<n>', says: 'how large it is', isNumber: true, isClearable: true },
      tags: { value: '<text>', says: 'tags', isRepeatable: true },
    });
    expect(example).toBe("things create 'My thing'");
  });

  it('is required before the contract merges, or a reason for having none', () => {
    const document = makeDocument({});
    delete document.paths['/things']?.post?.['x-cli'];
    expect(() => takeCommands(document)).toThrow('createThing has no x-cli');
  });
});

type Properties = Record<string, object>;

function makeDocument(properties: Properties): OpenApiDocument {
  const post = {
    operationId: 'createThing',
    tags: ['things'],
    summary: 'Create a thing',
    description: '',
    'x-cli': { command: 'things create', words: ['name'] },
    requestBody: {
      content: {
        'application/json': {
          schema: { type: 'object', required: ['name'], properties },
          example: { name: 'My thing', colour: 'red' },
        },
      },
    },
    responses: {},
  };
  return { paths: { '/things': { post } }, components: { schemas: {} } } as unknown as OpenApiDocument;
}

function describeOne(properties: Properties) {
  const document = makeDocument(properties);
  takeCommands(document);
  const [command] = Object.values(document['x-commands']);
  if (!command || listOperations(document).length !== 1) throw new Error('no command was made for the operation');
  return command;
}
