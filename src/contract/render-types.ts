import openapiTS, { astToString, type OpenAPI3 } from 'openapi-typescript';
import { readRequirement, toCallerKind, type CallerKind } from './access.ts';
import { listOperations, type OpenApiDocument } from './document.ts';

/** Renders the TypeScript text of types.gen.ts for this document. */
export async function renderTypes(document: OpenApiDocument): Promise<string> {
  // A default does not make a field present: handlers receive bodies as the caller sent them.
  const nodes = await openapiTS(structuredClone(document) as unknown as OpenAPI3, { defaultNonNullable: false });
  return `${astToString(nodes)}${renderCallers(document)}`;
}

/** Renders the operations of each kind of caller, as marked in the contract. */
function renderCallers(document: OpenApiDocument): string {
  const ids: Record<CallerKind, string[]> = { team: [], user: [], operator: [], nobody: [] };
  for (const { operationId, operation } of listOperations(document)) {
    ids[toCallerKind(readRequirement(operation))].push(`"${operationId}"`);
  }
  const rows = Object.entries(ids).map(([kind, of]) => `    ${kind}: ${of.join(' | ') || 'never'};\n`);
  return `export interface operationsOf {\n${rows.join('')}}\n`;
}
