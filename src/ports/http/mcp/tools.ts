import type { CallToolResult, Tool } from '@modelcontextprotocol/server';
import {
  accessOf,
  reachOf,
  scopeOfFields,
  scopesLacking,
  type OpenApiDocument,
  type OperationValidators,
  type Validators,
} from '../../../contract/index.ts';
import { operations as verbs } from '../../../operations/index.ts';
import { notFound, refuse, Refusal } from '../../../platform/refusal/index.ts';
import { admissionOf, leastEffectOf, mustReach } from '../../../tenancy/access/index.ts';
import { answerText, isOfOthers, partsOf, partText, type Showing } from './answer-text.ts';
import { CURATED } from './curated.ts';
import type { Assistant, CallOperation } from './call-operation.ts';
import { annotationsOf, toolOf } from './operation-tool.ts';
import { refusalText } from './refusal-text.ts';
import { bestMatches } from './search.ts';

const SEARCH = 'search_operations';
const CALL = 'call_operation';
const MATCHES_MAX = 10;

const GENERAL: Tool[] = [
  {
    name: SEARCH,
    title: 'Search all operations',
    description:
      'Finds what this service can do beyond the tools that are listed, by words such as "delete contact". Answers ids with the schema of their arguments, for call_operation.',
    inputSchema: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'a few words: what to do, and with what', minLength: 1, maxLength: 200 },
        limit: { type: 'integer', description: 'how many to show', minimum: 1, maximum: MATCHES_MAX, default: 5 },
      },
      required: ['query'],
      additionalProperties: false,
    },
    annotations: { title: 'Search all operations', readOnlyHint: true, idempotentHint: true, openWorldHint: false },
  },
  {
    name: CALL,
    title: 'Call any operation',
    description:
      'Calls an operation that search_operations has found, with arguments by the schema that it showed. It may change or delete things, or send mail.',
    inputSchema: {
      type: 'object',
      properties: {
        operation_id: { type: 'string', description: 'an id that search_operations answered' },
        arguments: { type: 'object', description: 'by the schema that search_operations showed' },
        part: {
          type: 'integer',
          description:
            'which part of a long answer to read, where one says that it was trimmed; for operations that only read',
          minimum: 1,
        },
      },
      required: ['operation_id'],
      additionalProperties: false,
    },
    annotations: { title: 'Call any operation', readOnlyHint: false, destructiveHint: true, openWorldHint: true },
  },
];

export interface ToolCall {
  name: string;
  arguments: Record<string, unknown>;
}

export interface ToolParts {
  document: OpenApiDocument;
  validators: Validators;
  callOperation: CallOperation;
  /** A text that cannot be guessed. */
  newMark: () => string;
  /** What any error is for the caller. */
  refusalOf: (error: unknown, assistant: Assistant) => Refusal;
}

/** What an assistant may do: the operations that its grant reaches, as tools. */
export function createTools({ document, validators, callOperation, newMark, refusalOf }: ToolParts) {
  // Files, pages and streams are no tools: a model has no use for their bytes.
  const all = [...validators.operations.values()].filter(
    ({ operationId, operation }) => operation['x-service-scope'] !== null && Object.hasOwn(verbs, operationId),
  );
  const byId = new Map(all.map((operation) => [operation.operationId, operation]));
  const describe = describer(document);

  /** The operation that a call is of, by its own tool or by the general one. */
  const operationIn = ({ name, arguments: given }: ToolCall): OperationValidators | undefined =>
    byId.get(name === CALL ? String(given['operation_id']) : name);

  /** Every operation that the grant reaches, in the order of the contract. */
  const reached = (assistant: Assistant) => all.filter((operation) => reaches(assistant, operation));

  function list(assistant: Assistant): Tool[] {
    const curated = CURATED.flatMap((id) => byId.get(id) ?? []).filter((operation) => reaches(assistant, operation));
    return [...curated.map(describe), ...GENERAL];
  }

  function search(assistant: Assistant, given: Record<string, unknown>): CallToolResult {
    const { query, limit } = readSearch(given);
    const found = bestMatches(reached(assistant), query, limit).map((operation) => foundOf(describe(operation)));
    return { content: texts(found.length === 0 ? [NONE_FOUND] : answerText({ data: found })) };
  }

  async function callOne(
    assistant: Assistant,
    operation: OperationValidators,
    { given, part }: { given: unknown; part?: number | undefined },
  ): Promise<CallToolResult> {
    mustReach(assistant.actor, accessOf(operation.operation));
    const readable = annotationsOf(operation).readOnlyHint ? operation.operationId : undefined;
    if (part !== undefined && readable === undefined) throw bad('part is for operations that only read');
    const answer = await callOperation(assistant, operation, given);
    const mark = isOfOthers(operation.operation.tags[0]) ? newMark() : undefined;
    return resultOf(answer, { mark, readable, part });
  }

  function run(assistant: Assistant, call: ToolCall): CallToolResult | Promise<CallToolResult> {
    if (call.name === SEARCH) return search(assistant, call.arguments);
    const operation = operationIn(call);
    if (call.name !== CALL) {
      if (!operation) throw notFound(`Tool ${JSON.stringify(call.name.slice(0, 100))}`);
      return callOne(assistant, operation, { given: call.arguments });
    }
    const { operation_id: id, arguments: given = {}, part, ...more } = call.arguments;
    refuseMore(more, `${CALL}; those of the operation stand in arguments`);
    if (!operation) return outOfReach(validators, String(id));
    return callOne(assistant, operation, { given, part: readPart(part) });
  }

  return {
    list,
    ...{ describe, reached },
    /** Returns the scopes that the grant lacks for a call, so that its person can be asked for them. */
    lackingScopes({ actor }: Assistant, call: ToolCall): string[] {
      const operation = operationIn(call)?.operation;
      if (!operation) return [];
      const access = accessOf(operation);
      const reach = reachOf(actor, access);
      if (reach === 'lacks_scope') return scopesLacking(access, actor.scopes);
      if (reach !== 'reached') return [];
      const given = call.name === CALL ? call.arguments['arguments'] : call.arguments;
      const lacking = scopeOfFields(operation, given, actor.scopes);
      return lacking ? [lacking.scope] : [];
    },
    async call(assistant: Assistant, call: ToolCall): Promise<CallToolResult> {
      try {
        return await run(assistant, call);
      } catch (error) {
        return { isError: true, content: texts([refusalText(refusalOf(error, assistant))]) };
      }
    },
  };
}

const foundOf = ({ name, description, inputSchema, annotations }: Tool) => ({
  ...{ operation_id: name, description, is_read_only: annotations?.readOnlyHint, arguments: inputSchema },
});

function resultOf(answer: unknown, { part, ...showing }: Showing & { part: number | undefined }): CallToolResult {
  if (part === undefined) return { content: texts(answerText(answer, showing)) };
  mustBeIn(part, partsOf(answer));
  return { content: texts(partText(answer, part, showing)) };
}

/** What a limit refuses whatever it is called with is not offered; what may be approved is. */
const reaches = ({ actor }: Assistant, operation: OperationValidators): boolean =>
  reachOf(actor, accessOf(operation.operation)) === 'reached' &&
  !(admissionOf(actor.limits, leastEffectOf(operation)) instanceof Refusal);

/** Makes each tool once. */
function describer(document: OpenApiDocument): (operation: OperationValidators) => Tool {
  const known = new Map<string, Tool>();
  return (operation) => {
    const tool = known.get(operation.operationId) ?? toolOf(document, operation);
    known.set(operation.operationId, tool);
    return tool;
  };
}

const NONE_FOUND =
  'No operation that this access reaches has these words. Others may need a scope that the person did not allow.';

function readSearch({ query, limit = 5, ...more }: Record<string, unknown>): { query: string; limit: number } {
  refuseMore(more, SEARCH);
  if (typeof query !== 'string' || query.trim() === '' || query.length > 200) {
    throw bad('query must be a text of 1 to 200 characters');
  }
  if (typeof limit !== 'number' || !Number.isInteger(limit) || limit < 1 || limit > MATCHES_MAX) {
    throw bad(`limit must be a whole number from 1 to ${MATCHES_MAX}`);
  }
  return { query, limit };
}

function readPart(part: unknown): number | undefined {
  if (part === undefined || (typeof part === 'number' && Number.isInteger(part) && part >= 1)) return part;
  throw bad('part must be a whole number from 1');
}

function mustBeIn(part: number, count: number): void {
  if (part <= count) return;
  throw bad(
    count === 1 ? 'part must be 1: the answer has 1 part' : `part must be 1 to ${count}, the parts of the answer`,
  );
}

function refuseMore(more: object, tool: string): void {
  const [unknown] = Object.keys(more);
  if (unknown !== undefined) throw bad(`${unknown} is not an argument of ${tool}`);
}

export type Tools = ReturnType<typeof createTools>;

function outOfReach({ operations }: Validators, id: string): CallToolResult {
  if (operations.has(id)) return OF_NO_APP;
  throw notFound(`Operation ${JSON.stringify(id.slice(0, 100))}`);
}

/** What no scope reaches: keys, domains and people of the team among it. */
const OF_NO_APP = {
  isError: true,
  content: [
    {
      type: 'text' as const,
      text: 'invalid_permission: No app reaches this operation, whatever is allowed; a person who is signed in, an API key or an operator does.\nWhat to do: do not call it again. Tell the person what is to be done, so that they do it themselves.',
    },
  ],
};

const texts = (all: readonly string[]): { type: 'text'; text: string }[] => all.map((text) => ({ type: 'text', text }));
const bad = (say: string): Refusal => refuse('validation_error', { status: 400, say: `${say}.` });
