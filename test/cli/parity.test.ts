import { Command } from 'commander';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { addClientCommands } from '../../cli/index.ts';
import {
  compileValidators,
  listOperations,
  loadContract,
  resolveRef,
  type OpenApiDocument,
  type Operation,
  type OperationEntry,
  type Schema,
} from '../../src/contract/index.ts';
import { startAnswering, type Reply } from './contract-server.ts';
import { commandOf, deriveLine, type DerivedLine } from './derived-line.ts';
import { Desk } from './desk.ts';
import { commandless, exceptions } from './parity-exceptions.ts';

const contract = loadContract();
const validators = await compileValidators(contract);
const all = listOperations(contract);
const entries = all.filter(({ operationId }) => !(operationId in commandless));
/** To look commands up in; whoever runs one makes a program of their own, which keeps what it was given. */
const known = program();
const forms = new Map(
  entries.map((entry) => [entry, new RegExp(`^${entry.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`)] as const),
);
const named = entries.map((entry) => [entry.operationId, entry] as const);
/** They have a command, and a body that is no JSON. */
const UPLOADS = ['createContactImport', 'createImage'];
const BATCH = [{ from: 'a@example.com', to: 'b@example.com', subject: 'S', text: 'T' }];

describe('the command line and the contract', () => {
  it('every operation has a command or a reason', () => expect(uncommanded(contract)).toEqual([]));

  it('what is said of exceptions is of operations and fields that there are, and of no operation with a command', () => {
    const ids = new Set(all.map(({ operationId }) => operationId));
    const stale = [...Object.keys(exceptions), ...Object.keys(commandless)].filter((id) => !ids.has(id));
    const idle = Object.keys(commandless).filter((id) => !UPLOADS.includes(id) && commandOf(known, id));
    const strays = entries.flatMap((entry) => {
      const { given = {}, without = {} } = exceptions[entry.operationId] ?? {};
      const fields = [...entry.parameters.map(({ name }) => name), ...Object.keys(bodyFields(contract, entry))];
      return Object.keys({ ...given, ...without }).filter((field) => !fields.includes(field));
    });
    expect([...stale, ...idle, ...strays]).toEqual([]);
  });

  it.each(named)('%s: every field has an option, and every option a field', (_, entry) => {
    const { unreachable, fieldless } = lineOf(contract, entry);
    const { beside = {} } = exceptions[entry.operationId] ?? {};
    expect({ unreachable, fieldless: fieldless.sort() }).toEqual({
      unreachable: [],
      fieldless: Object.keys(beside).sort(),
    });
  });

  describe('on the wire', () => {
    let desk: Desk;
    beforeEach(() => {
      desk = new Desk();
      vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    });
    afterEach(async () => {
      vi.restoreAllMocks();
      vi.unstubAllEnvs();
      await desk.clear();
    });

    it.each(named)('%s: every field arrives', async (_, entry) => {
      const line = lineOf(contract, entry);
      const negated = lineOf(contract, entry, true);
      await tryLine(desk, entry, line);
      if (negated.words.join() !== line.words.join()) await tryLine(desk, entry, negated);
    });

    it('a call of another path is told', async () => {
      const [, entry] = named.find(([id]) => id === 'getTopic') ?? [];
      if (!entry) throw new Error('There is no getTopic.');
      const moved = { ...entry, path: '/subjects/{topic_id}' };
      await expect(tryLine(desk, moved, lineOf(contract, moved))).rejects.toThrow(
        /^topics get .* never called get \/subjects/,
      );
    });
  });

  it('an operation without a command is told', () => {
    const planted = structuredClone(contract);
    planted.paths['/planted'] = { get: { ...operationIn(planted, 'getTeam'), operationId: 'getPlanted' } };
    expect(uncommanded(planted)).toEqual(['getPlanted']);
  });

  it('a field without an option is told, of a body and of a query', () => {
    const planted = structuredClone(contract);
    const schema = planted.components.schemas['CreateTopicRequest'];
    Object.assign(schema?.properties ?? {}, { colour: { type: 'string' } });
    operationIn(planted, 'listTopics').parameters?.push({ name: 'colour', in: 'query', schema: { type: 'string' } });
    for (const id of ['createTopic', 'listTopics']) {
      const entry = listOperations(planted).find(({ operationId }) => operationId === id);
      expect(entry && lineOf(planted, entry).unreachable).toEqual(['colour']);
    }
  });

  it('an attachment is complete too', () => {
    const { properties } = contract.components.schemas['SendEmailAttachment'] ?? {};
    expect(Object.keys(properties ?? {}).sort()).toEqual(['content', 'content_id', 'content_type', 'filename', 'path']);
  });
});

/** Runs the line and looks at the call that it made. */
async function tryLine(desk: Desk, entry: OperationEntry, line: DerivedLine): Promise<void> {
  const { operationId: id } = entry;
  const server = await startAnswering(({ method, path }) => inTeam(path, exampleOf(method, path)));
  vi.stubEnv('RASKET_URL', server.url);
  vi.stubEnv('RASKET_API_KEY', 'rk_test');
  const file = desk.write('attached', id === 'sendBatch' ? JSON.stringify(BATCH) : 'content');
  try {
    await program(line.words[0]).parseAsync([
      'node',
      'rasket',
      ...line.words.map((word) => word.replace(/^FILE/, file)),
    ]);
  } finally {
    server.close();
  }
  const { exitCode } = process;
  process.exitCode = undefined;
  const asked = server.asked.find(({ method, path }) => method.toLowerCase() === entry.method && path === line.path);
  if (!asked) throw new Error(`${line.words.join(' ')} never called ${entry.method} ${line.path}`);
  expect(exitCode).toBe(exceptions[id]?.exitCode);
  expect(asked.headers['user-agent']).toBe('rasket-cli/9.9.9');
  expect(asked.headers.authorization).toBe('Bearer rk_test');
  const headers = entry.parameters
    .filter(({ in: place, name }) => place === 'header' && name.toLowerCase() in asked.headers)
    .map(({ name }) => [name, asked.headers[name.toLowerCase()]]);
  const body = id === 'sendBatch' ? {} : (asked.body as object);
  expect({ ...asked.query, ...body, ...Object.fromEntries(headers) }).toEqual(line.sent);
  if (id === 'sendBatch') expect(asked.body).toEqual(BATCH);
  const operation = validators.operations.get(id);
  expect(operation?.checkBody?.(asked.body)).toBeUndefined();
  const parameters = { path: {}, query: { ...asked.query }, header: asked.headers };
  const problems = operation?.checkParameters(parameters) ?? [];
  expect(problems.filter((problem) => !entry.path.includes(`{${String(problem.path)}}`))).toEqual([]);
}

/** Whole, or with what a call by this first word needs, as in `bin/program.ts`. */
function program(first?: string): Command {
  const made = new Command('rasket').version('9.9.9').exitOverride();
  addClientCommands(made, first);
  return made;
}

/** Operations that no command reaches and for which no reason is given. */
function uncommanded(document: OpenApiDocument): string[] {
  return listOperations(document)
    .map(({ operationId }) => operationId)
    .filter((id) => !(id in commandless) && !commandOf(known, id, exceptions[id]));
}

function lineOf(document: OpenApiDocument, entry: OperationEntry, isNegated = false): DerivedLine {
  const exception = exceptions[entry.operationId] ?? {};
  const command = commandOf(known, entry.operationId, exception);
  if (!command) throw new Error(`${entry.operationId} has no command`);
  return deriveLine(document, entry, command, exception, isNegated);
}

function bodyFields(document: OpenApiDocument, { operation }: OperationEntry): NonNullable<Schema['properties']> {
  const schema = operation.requestBody?.content['application/json']?.schema;
  return (schema && resolveRef(document, schema).properties) ?? {};
}

function operationIn(document: OpenApiDocument, id: string): Operation {
  const entry = listOperations(document).find(({ operationId }) => operationId === id);
  if (!entry) throw new Error(`There is no ${id}.`);
  return entry.operation;
}

const isCallOf = (entry: OperationEntry, method: string, path: string): boolean =>
  entry.method === method.toLowerCase() && forms.get(entry)?.test(path) === true;

/** The session works in a team, whose id the client puts into paths. */
function inTeam(path: string, reply: Reply): Reply {
  if (path !== '/auth/session') return reply;
  const team = exampleOf('GET', '/team').body as object;
  const id = contract.components.parameters['TeamId']?.example;
  return { status: 200, body: { object: 'session', user: {}, current_team: { ...team, id } } };
}

function exampleOf(method: string, path: string): Reply {
  // A fixed path goes before one with a parameter: /suppressions/batch/add is no suppression.
  const entry = entries
    .filter((other) => isCallOf(other, method, path))
    .sort((a, b) => a.path.split('{').length - b.path.split('{').length)[0];
  const [status = '', response] = Object.entries(entry?.operation.responses ?? {})[0] ?? [];
  const content = response ? resolveRef(contract, response).content : undefined;
  const plain = content?.['text/plain'];
  if (plain) return { status: Number(status), body: plain.example, headers: { 'content-type': 'text/plain' } };
  return { status: Number(status), body: content?.['application/json']?.example };
}
