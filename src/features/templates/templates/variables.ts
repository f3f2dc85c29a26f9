import type { FieldFault } from '../../../platform/refusal/index.ts';

/** A declared variable, as a version stores it. */
export interface Variable {
  id: string;
  key: string;
  type: 'string' | 'number';
  fallback: string | number | null;
  createdAt: number;
  updatedAt: number;
}

export interface VariableInput {
  key: string;
  type: 'string' | 'number';
  fallback_value?: string | number | null;
}

/** Variables that campaigns fill in; templates use them there without declaring them. */
export const BUILT_IN_KEYS: ReadonlySet<string> = new Set([
  'FIRST_NAME',
  'LAST_NAME',
  'EMAIL',
  'UNSUBSCRIBE_URL',
  'PREFERENCES_URL',
]);

/** Variables of the team, filled in by campaigns as well; a template may declare others under these names. */
export const TEAM_KEYS: ReadonlySet<string> = new Set(['SENDER_NAME', 'POSTAL_ADDRESS']);

/** The last two open longer names in the language that templates from elsewhere are written in. */
const RESERVED_KEYS: ReadonlySet<string> = new Set([...BUILT_IN_KEYS, 'contact', 'this']);

/** Rules that the contract's schema cannot say. */
export function variableFaults(variables: readonly VariableInput[]): FieldFault[] {
  const faults: FieldFault[] = [];
  const seen = new Set<string>();
  variables.forEach(({ key, type, fallback_value: fallback }, i) => {
    const at = (field: string, says: string): void => {
      const path = `variables.${i}.${field}`;
      faults.push({ path, message: `${path} ${says}` });
    };
    if (RESERVED_KEYS.has(key))
      at('key', `is ${key}, which is reserved; reserved are ${[...RESERVED_KEYS].join(', ')}.`);
    if (seen.has(key)) at('key', `is ${key}, which is declared already; declare each key once.`);
    seen.add(key);
    const fault = fallback === undefined || fallback === null ? undefined : valueFault(type, fallback);
    if (fault !== undefined) at('fallback_value', fault);
  });
  return faults;
}

export const VALUE_CHARS_MAX = 2000;

/** What is wrong with a value of a variable of this type. */
export function valueFault(type: Variable['type'], value: unknown): string | undefined {
  if (typeof value !== type) return `must be a ${type}, as the variable is declared; got ${kindOf(value)}.`;
  // JSON can spell numbers beyond the range of a double, such as 1e999.
  if (type === 'number' && !Number.isFinite(value)) return 'must be a finite number.';
  const chars = typeof value === 'string' ? charsOf(value) : 0;
  if (chars > VALUE_CHARS_MAX) return `may have at most ${VALUE_CHARS_MAX} characters; got ${chars}.`;
  return undefined;
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** Counts code points, as the contract does, without building an array of millions for a text that is far too long. */
function charsOf(text: string): number {
  let chars = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0xdc00 || unit > 0xdfff) chars++;
  }
  return chars;
}

/** Declares variables anew: a key that was declared before stays the same variable. */
export function declareVariables(
  inputs: readonly VariableInput[],
  before: readonly Variable[],
  { now, newId }: { now: number; newId: () => string },
): Variable[] {
  const known = new Map(before.map((variable) => [variable.key, variable]));
  return inputs.map(({ key, type, fallback_value: given }) => {
    const fallback = given ?? null;
    const old = known.get(key);
    if (old && old.type === type && old.fallback === fallback) return old;
    return { id: old?.id ?? newId(), key, type, fallback, createdAt: old?.createdAt ?? now, updatedAt: now };
  });
}

export const readVariables = (json: string): Variable[] => JSON.parse(json) as Variable[];
