import { readFileSync } from 'node:fs';
import { isBuiltin, registerHooks } from 'node:module';
import { isSingleFile } from './places.ts';

const sea = process.getBuiltinModule('node:sea');

/** A path below a file cannot exist: whatever is on the disk, none of it is found under this address. */
const BASE = 'file:///proc/self/exe/';
const ASSETS = 'app/';

export const moduleUrl = (name: string): string => `${BASE}${ASSETS}${name}`;

/** Returns the source map of a compiled module. */
export const readModuleMap = (url: string): string =>
  isSingleFile ? sea.getAsset(`${url.slice(BASE.length)}.map`, 'utf8') : readFileSync(new URL(`${url}.map`), 'utf8');

/**
 * Installs the hooks of a single-file executable: its modules are read from it, and only these and Node's own can be
 * imported.
 */
export function serveModules(): void {
  registerHooks({
    resolve(specifier, context, next) {
      if (isBuiltin(specifier)) return next(specifier, context);
      const isOurs = specifier.startsWith(BASE) || (specifier.startsWith('./') && context.parentURL?.startsWith(BASE));
      if (!isOurs) throw notEmbedded(specifier);
      return { url: new URL(specifier, context.parentURL ?? BASE).href, format: 'module', shortCircuit: true };
    },
    load(url, context, next) {
      if (!url.startsWith(BASE)) return next(url, context);
      return { format: 'module', source: sea.getAsset(url.slice(BASE.length), 'utf8'), shortCircuit: true };
    },
  });
}

function notEmbedded(specifier: string): Error {
  const error = new Error(`${specifier} is not a part of the single file`);
  return Object.assign(error, { code: 'ERR_MODULE_NOT_FOUND' });
}
