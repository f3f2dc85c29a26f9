import { createRequire } from 'node:module';

type Undici = typeof import('undici');

let loaded: Undici | undefined;

/** Loaded by the first webhook, because it would take a twentieth of a start, and many installations send none. */
export const undici = (): Undici => (loaded ??= createRequire(import.meta.url)('undici') as Undici);
