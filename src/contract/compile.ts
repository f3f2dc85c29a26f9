import type { OpenApiDocument } from './document.ts';
import type { Validators } from './validators.ts';

const known = new WeakMap<OpenApiDocument, Promise<Validators>>();

/**
 * Compiles lazily, and each document once: a second server in one process shares what the first has compiled. The
 * compiler itself is only loaded here, because a client of the API has no use for it.
 */
export function compileValidators(document: OpenApiDocument): Promise<Validators> {
  const made = known.get(document) ?? compile(document);
  known.set(document, made);
  return made;
}

async function compile(document: OpenApiDocument): Promise<Validators> {
  const validators = await import('./validators.ts');
  return validators.compileValidators(document);
}
