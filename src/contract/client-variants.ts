import { resolveRef, type OpenApiDocument, type OperationEntry, type Schema } from './document.ts';
import type { Problem } from './problems.ts';

/**
 * Accepts what official clients send in addition to the documented form: ids of the path repeated in the body or the
 * query, other names of a field (`x-aliases` of its object), null for an omitted field (`x-null-is-absent`), and the
 * bytes of a file as a list instead of base64 (`x-base64`).
 */
export interface ClientVariants {
  /** Removes repeated ids of the path; returns a problem for each that differs from the path. */
  dropPathIds: (path: Record<string, unknown>, fields: unknown, place: 'body' | 'query') => Problem[];
  /** Gives fields their documented names, removes nulls that mean "not given", and writes bytes as base64, in place. */
  normalizeBody: (body: unknown) => void;
}

type Fields = Record<string, unknown>;
type Rewrite = (value: unknown) => void;

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export function createClientVariants(document: OpenApiDocument, entry: OperationEntry): ClientVariants {
  const declared = entry.operation.requestBody?.content['application/json']?.schema;
  const schema = declared && resolveRef<Schema>(document, declared);
  const repeats = listPathIds(entry.path);
  const inQuery = new Set(entry.parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name));
  const rewrite = schema && compileRewrite(document, schema, new Map());
  return {
    dropPathIds(path, fields, place) {
      if (!isFields(fields)) return [];
      // A body with free names may have an `id` of its own.
      if (place === 'body' && schema && schema.additionalProperties !== false) return [];
      const problems: Problem[] = [];
      for (const [name, parameter] of repeats) {
        const isDeclared = place === 'query' ? inQuery.has(name) : schema?.properties?.[name] !== undefined;
        if (isDeclared || !Object.hasOwn(fields, name)) continue;
        if (isAbsent(fields[name]) || isSameId(path[parameter], fields[name])) delete fields[name];
        else problems.push({ kind: 'malformed', path: name, message: describeMismatch(name) });
      }
      return problems;
    },
    normalizeBody: (body) => rewrite?.(body),
  };
}

/** Clients with typed fields send an empty text for an id that they do not use. */
const isAbsent = (value: unknown): boolean => value === null || value === '';

const describeMismatch = (name: string): string => `${name} does not match the path; omit it or send the same value`;

/**
 * Returns the names under which clients repeat each parameter of a path; `id` is the last parameter, the object of the
 * call.
 */
function listPathIds(path: string): Map<string, string> {
  const parameters = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  const names = new Map<string, string>();
  for (const parameter of parameters) {
    names.set(`${parameter.replace(/_id$/, '')}_id`, parameter);
    if (parameter === 'segment') names.set('audience_id', parameter);
    // A contact is identified by its id or by its address.
    if (parameter === 'contact' || parameter === 'contact_id') names.set('email', parameter);
  }
  const last = parameters.at(-1);
  if (last !== undefined) names.set('id', last);
  return names;
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

function isSameId(inPath: unknown, repeated: unknown): boolean {
  if (typeof inPath !== 'string' || typeof repeated !== 'string') return false;
  if (inPath === repeated) return true;
  // UUIDs and addresses of contacts are matched in any letter case; other ids are not.
  const isCaseless = UUID.test(inPath) || inPath.includes('@');
  return isCaseless && inPath.toLowerCase() === repeated.toLowerCase();
}

/** Returns undefined for a schema with nothing to rewrite, so that most bodies are not walked. */
function compileRewrite(
  document: OpenApiDocument,
  schema: Schema,
  compiled: Map<Schema, Rewrite | undefined>,
): Rewrite | undefined {
  if (compiled.has(schema)) return compiled.get(schema);
  // A schema that contains itself has no aliases below the second level.
  compiled.set(schema, undefined);
  const inside = (part: NonNullable<Schema['items']>) =>
    compileRewrite(document, resolveRef<Schema>(document, part), compiled);
  const rewrites: Rewrite[] = [];
  const { 'x-aliases': aliases, 'x-null-is-absent': nullIsAbsent } = schema;
  if (aliases) rewrites.push((value) => renameFields(value, aliases));
  const nullable = nullIsAbsent ? Object.keys(schema.properties ?? {}) : [];
  if (nullIsAbsent) rewrites.push((value) => removeNulls(value, nullable));
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const rewrite = inside(property);
    if (rewrite) rewrites.push((value) => void (isFields(value) && rewrite(value[name])));
    if (resolveRef<Schema>(document, property)['x-base64']) rewrites.push((value) => packBytes(value, name));
  }
  const items = schema.items && inside(schema.items);
  if (items) rewrites.push((value) => void (Array.isArray(value) && value.forEach(items)));
  for (const branch of schema.anyOf ?? []) {
    const rewrite = inside(branch);
    if (rewrite) rewrites.push(rewrite);
  }
  const all = rewrites.length === 0 ? undefined : (value: unknown) => rewrites.forEach((rewrite) => rewrite(value));
  compiled.set(schema, all);
  return all;
}

function renameFields(value: unknown, aliases: Readonly<Record<string, string>>): void {
  if (!isFields(value)) return;
  for (const [alias, name] of Object.entries(aliases)) {
    if (!Object.hasOwn(value, alias)) continue;
    value[name] ??= value[alias];
    // An alias with another value stays, and `describeProblems` rejects it.
    if (value[alias] === value[name] || value[alias] === null) delete value[alias];
  }
}

/**
 * Converts a field that is a list of bytes to base64, also within a serialized Buffer; lists with other values are left
 * to the checks.
 */
function packBytes(value: unknown, name: string): void {
  if (!isFields(value)) return;
  const given = value[name];
  const isSerialized = isFields(given) && given.type === 'Buffer' && Object.keys(given).length === 2;
  const list = isSerialized ? given.data : given;
  const isPacked = Buffer.isBuffer(list);
  if (!isPacked && !Array.isArray(list)) return;
  if (isPacked || list.every((byte) => Number.isInteger(byte) && byte >= 0 && byte <= 255)) {
    value[name] = Buffer.from(list as Buffer).toString('base64');
  }
}

/** Removes the named fields that are null; an unknown field stays, and is rejected. */
function removeNulls(value: unknown, names: readonly string[]): void {
  if (!isFields(value)) return;
  for (const name of names) if (value[name] === null) delete value[name];
}
