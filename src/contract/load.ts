import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OpenApiDocument } from './document.ts';

export const CONTRACT_FILE = 'openapi.gen.json';

/** The whole document, merged beforehand from the YAML files: parsing those takes a tenth of a second and 25 MB. */
export function loadContract(): OpenApiDocument {
  return JSON.parse(readFileSync(join(import.meta.dirname, CONTRACT_FILE), 'utf8')) as OpenApiDocument;
}

/** The document as YAML in one piece, without anchors, so that any reader understands it. */
export async function formatContractYaml(document: OpenApiDocument): Promise<string> {
  const { stringify } = await import('yaml');
  return stringify(document, { aliasDuplicateObjects: false, lineWidth: 120 });
}
