import { isScope, type Scope } from '../../../contract/index.ts';
import { oauthRefusal } from './oauth-refusal.ts';

/** What a form, a query or a JSON body holds; a parameter that is there twice is a list. */
export type Fields = Readonly<Record<string, unknown>>;

/** RFC 6749 §3.1: one without a value is as if it were not there, and none may be there twice. */
export function textOf(fields: Fields, name: string): string | undefined {
  const value = Object.hasOwn(fields, name) ? fields[name] : undefined;
  if (value === undefined || value === null || value === '') return undefined;
  if (Array.isArray(value)) throw oauthRefusal('invalid_request', `${name} was sent more than once.`);
  if (typeof value !== 'string' || value.includes('\0') || !value.isWellFormed()) {
    throw oauthRefusal('invalid_request', `${name} must be a text.`);
  }
  return value;
}

export function neededText(fields: Fields, name: string): string {
  const value = textOf(fields, name);
  if (value === undefined) throw oauthRefusal('invalid_request', `${name} is missing.`);
  return value;
}

/** Scopes separated by spaces, each once, in the order in which they came. */
export function readScopes(text: string): Scope[] {
  const names = [...new Set(text.split(' ').filter((name) => name !== ''))];
  const unknown = names.find((name) => !isScope(name));
  if (unknown !== undefined) {
    const shown = JSON.stringify(unknown.slice(0, 60));
    throw oauthRefusal('invalid_scope', `${shown} is no scope of this service; its metadata lists those there are.`);
  }
  return names.filter(isScope);
}
