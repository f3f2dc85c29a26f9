import type { ReadResourceResult, Resource, ResourceTemplateType } from '@modelcontextprotocol/server';
import type { OperationValidators } from '../../../contract/index.ts';
import type { Assistant } from './call-operation.ts';
import { annotationsOf } from './operation-tool.ts';
import type { Tools } from './tools.ts';

const LIST = 'rasket://operations';

/** What an assistant reads of the API before it calls it: little enough for a model, where the whole contract is far too much. */
export const RESOURCES: readonly Resource[] = [
  {
    uri: LIST,
    name: 'operations',
    title: 'All operations that this access reaches',
    description: 'The ids and summaries of all operations, by family, one a line.',
    mimeType: 'text/markdown',
  },
];

export const RESOURCE_TEMPLATES: readonly ResourceTemplateType[] = [
  {
    uriTemplate: `${LIST}/{operation_id}`,
    name: 'operation',
    title: 'One operation',
    description: 'What it does, the schema of its arguments, and whether it changes anything.',
    mimeType: 'application/json',
  },
];

/** Undefined where there is none by this address, for this grant. An address is compared as it stands, and never resolved. */
export function readResource(tools: Tools, assistant: Assistant, uri: string): ReadResourceResult | undefined {
  const reached = tools.reached(assistant);
  if (uri === LIST) return { contents: [{ uri, mimeType: 'text/markdown', text: listOf(reached) }] };
  const operation = reached.find(({ operationId }) => uri === `${LIST}/${operationId}`);
  if (!operation) return undefined;
  const text = JSON.stringify(described(tools, operation), null, 2);
  return { contents: [{ uri, mimeType: 'application/json', text }] };
}

const HEAD = `One operation a line: its id, what calling it means ([read] changes nothing; [destructive] overwrites, deletes, or cannot be taken back), and what it does. ${LIST}/{operation_id} has the schema of its arguments. Call it by the tool of its name where there is one, else with call_operation.`;

function listOf(operations: readonly OperationValidators[]): string {
  const families = Map.groupBy(operations, ({ operation }) => operation.tags[0] ?? '');
  const texts = [...families].map(([family, all]) => `## ${family}\n${all.map(lineOf).join('\n')}`);
  return [HEAD, ...texts].join('\n\n');
}

const lineOf = (operation: OperationValidators): string =>
  `- ${operation.operationId} [${kindOf(operation)}]: ${operation.operation.summary}`;

function kindOf(operation: OperationValidators): 'read' | 'destructive' | 'write' {
  const { readOnlyHint, destructiveHint } = annotationsOf(operation);
  return readOnlyHint ? 'read' : destructiveHint ? 'destructive' : 'write';
}

function described(tools: Tools, operation: OperationValidators): object {
  const { name, title, inputSchema } = tools.describe(operation);
  const { description } = operation.operation;
  return { operation_id: name, title, kind: kindOf(operation), description, arguments: inputSchema };
}
