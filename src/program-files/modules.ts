import { readFileSync } from 'node:fs';
import { isBuiltin, registerHooks } from 'node:module';
import { isSingleFile } from './places.ts';

const sea = process.getBuiltinModule('node:sea');

/** Below a file there can be no folder: whatever the disk holds, nothing of it is found under this address. */
const BASE = 'file:///proc/self/exe/';
const ASSETS = 'app/';

export const moduleUrl = (name: string): string => `${BASE}${ASSETS}${name}`;

/** Which lines of the sources a compiled module was made of. */
export const readModuleMap = (url: string): string =>
  isSingleFile ? sea.getAsset(`${url.slice(BASE.length)}.map`, 'utf8') : readFileSync(new URL(`${url}.map`), 'utf8');

/** From here on the modules of a single file are read out of it, and no other than these and Node's own are to be had. */
export function serveModules(): void {
  registerHooks({
    resolve(specifier, context, next) {
      if (isBuiltin(specifier)) return next(specifier, context);
      const isOurs = specifier.startsWith(BASE) || (specifier.startsWith('./') && context.parentURL?.startsWith(BASE));
      if (!isOurs) throw notCarried(specifier);
      return { url: new URL(specifier, context.parentURL ?? BASE).href, format: 'module', shortCircuit: true };
    },
    load(url, context, next) {
      if (!url.startsWith(BASE)) return next(url, context);
      return { format: 'module', source: sea.getAsset(url.slice(BASE.length), 'utf8'), shortCircuit: true };
    },
  });
}

function notCarried(specifier: string): Error {
  const error = new Error(`${specifier} is not a part of the single file`);
  return Object.assign(error, { code: 'ERR_MODULE_NOT_FOUND' });
}
