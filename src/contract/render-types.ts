import openapiTS, { astToString, type OpenAPI3 } from 'openapi-typescript';
import type { OpenApiDocument } from './document.ts';

/** The TypeScript text of types.gen.ts for this document. */
export async function renderTypes(document: OpenApiDocument): Promise<string> {
  // A default does not make a field present: bodies reach the verbs as the caller sent them.
  const nodes = await openapiTS(structuredClone(document) as unknown as OpenAPI3, { defaultNonNullable: false });
  return astToString(nodes);
}
