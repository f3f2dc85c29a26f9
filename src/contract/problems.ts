import type { ErrorObject } from 'ajv';
import type { Schema } from './document.ts';
import { findNearest } from './nearest-name.ts';

/** One field of a request that violates the contract. */
export interface Problem {
  /** `missing`: required and absent. `unknown`: no such field or parameter. `malformed`: wrong type, length, pattern, value. */
  kind: 'missing' | 'unknown' | 'malformed';
  /** Path of the field, without the part of the request: `to`, `tags.0.name`, `limit`; empty for the body itself. */
  path: string;
  /** The valid form, and what was sent instead. */
  message: string;
}

/**
 * Converts Ajv's errors to one problem per field. Missing fields come first, in the order of the schema. `noun`
 * completes the message for an unknown name, such as "a field of this body".
 */
export function describeProblems(errors: readonly ErrorObject[], noun: string): Problem[] {
  const faults = faultsInUnions(errors);
  const byPath = new Map<string, Problem>();
  for (const error of errors) {
    // This error only reports that a branch of a condition failed; the errors of the branch are listed separately.
    if (error.keyword === 'if') continue;
    // Every branch of a union reports errors; only the union's own message states what is valid.
    if (error.keyword !== 'anyOf' && unionAround(error.instancePath, faults) !== undefined) continue;
    const problem = describe(error, noun, faults.get(error.instancePath) ?? error);
    if (!byPath.has(problem.path)) byPath.set(problem.path, problem);
  }
  const problems = [...byPath.values()];
  return [...problems.filter(({ kind }) => kind === 'missing'), ...problems.filter(({ kind }) => kind !== 'missing')];
}

/**
 * Returns each union that failed, with the first invalid element inside it, or with its own error if the value is not a
 * list.
 */
function faultsInUnions(errors: readonly ErrorObject[]): Map<string, ErrorObject> {
  const faults = new Map(
    errors.filter(({ keyword }) => keyword === 'anyOf').map((error) => [error.instancePath, error]),
  );
  for (const error of errors) {
    const union = unionAround(error.instancePath, faults);
    if (union === undefined || union === error.instancePath) continue;
    if (faults.get(union)?.keyword === 'anyOf') faults.set(union, error);
  }
  return faults;
}

/** Look up the few ancestors of the path instead of all unions: a hostile body can fail thousands of them. */
function unionAround(path: string, unions: ReadonlyMap<string, ErrorObject>): string | undefined {
  for (let at = path; at !== ''; at = at.slice(0, at.lastIndexOf('/'))) if (unions.has(at)) return at;
  return undefined;
}

function describe(error: ErrorObject, noun: string, fault: ErrorObject): Problem {
  const at = fieldPath(error.instancePath);
  const inside = (name: string) => (at ? `${at}.${name}` : name);
  if (error.keyword === 'required') {
    const path = inside((error.params as { missingProperty: string }).missingProperty);
    return { kind: 'missing', path, message: `${path} is required` };
  }
  if (error.keyword === 'additionalProperties') {
    const name = (error.params as { additionalProperty: string }).additionalProperty;
    const path = inside(name);
    const parent = error.parentSchema as Schema | undefined;
    const aliases = parent?.['x-aliases'] ?? {};
    const message = Object.hasOwn(aliases, name)
      ? `${path} is another name of ${aliases[name]}, which has a different value; send one of them`
      : `${path} is not ${noun}${suggestName(name, parent)}`;
    return { kind: 'unknown', path, message };
  }
  const stated = (error.parentSchema as Schema | undefined)?.['x-message'];
  const rule = stated ?? (at ? `${at} ${error.message ?? 'is malformed'}` : 'the body must be a JSON object');
  // The message is stored in the log of requests, which must contain no secret, even an invalid one.
  if (isSecret(error.parentSchema) || isSecret(fault.parentSchema)) {
    return { kind: 'malformed', path: at, message: `${rule}; got ${withoutValue(fault.data)}` };
  }
  const came =
    fault === error ? `got ${briefly(error.data)}` : `${fieldPath(fault.instancePath)} is ${briefly(fault.data)}`;
  return { kind: 'malformed', path: at, message: `${rule}; ${came}` };
}

const isSecret = (schema: unknown): boolean => (schema as { writeOnly?: boolean } | undefined)?.writeOnly === true;

const withoutValue = (value: unknown): string =>
  typeof value === 'string' ? `${value.length} characters, which are not repeated here` : 'no text';

/** `/requestBody/tags/0/name` becomes `tags.0.name`: the first segment names the part of the request. */
function fieldPath(instancePath: string): string {
  const segments = instancePath.split('/').slice(2);
  return segments.map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~')).join('.');
}

function suggestName(given: string, schema: Schema | undefined): string {
  const names = Object.keys(schema?.properties ?? {});
  if (names.length === 0) return '';
  // Clients in other languages write replyTo or ReplyTo.
  const inSnakeCase = given
    .slice(0, 100)
    .replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, '_')
    .toLowerCase();
  const nearest = names.includes(inSnakeCase) ? inSnakeCase : findNearest(inSnakeCase, names);
  const known = `nown are ${names.join(', ')}`;
  return nearest === undefined ? `; k${known}` : `; did you mean ${nearest}? K${known}`;
}

/** Describes a value without repeating a whole body: long strings are cut, lists and objects are only named. */
function briefly(value: unknown): string {
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === 'object' && value !== null) return 'an object';
  const isLong = typeof value === 'string' && value.length > 60;
  if (isLong) return `${JSON.stringify(value.slice(0, 60))}… (${value.length} characters)`;
  return JSON.stringify(value) ?? 'nothing';
}
