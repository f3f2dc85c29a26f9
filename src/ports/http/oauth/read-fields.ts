import { isUtf8 } from 'node:buffer';
import { OauthRefusal } from '../../../features/identity/oauth/index.ts';
import { complexityFault } from '../json-complexity.ts';
import { parseQuery } from '../target.ts';

const FORM = /^application\/x-www-form-urlencoded\s*(;|$)/i;
const JSON_TYPE = /^application\/json\s*(;|$)/i;

/**
 * The body of a step of OAuth, as a form or JSON. A field that is there twice becomes a list, so that the step refuses
 * it: which of the two was meant cannot be known.
 */
export function readOauthFields(
  bytes: Buffer | undefined,
  contentType: string | undefined,
  { takesForm }: { takesForm: boolean },
): Record<string, unknown> {
  if (bytes === undefined || bytes.length === 0) return {};
  const isForm = FORM.test(contentType ?? '');
  if ((!isForm || !takesForm) && !JSON_TYPE.test(contentType ?? '')) {
    throw bad(`Content-Type must be application/json${takesForm ? ' or application/x-www-form-urlencoded' : ''}.`);
  }
  if (!isUtf8(bytes)) throw bad('The body must be in UTF-8.');
  return isForm ? { ...parseQuery(bytes.toString('utf8')) } : readJson(bytes);
}

function readJson(bytes: Buffer): Record<string, unknown> {
  const fault = complexityFault(bytes);
  if (fault !== undefined) throw bad(`The body ${fault}.`);
  const text = bytes.toString('utf8');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw bad('The body is not valid JSON.');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw bad('The body must be a JSON object.');
  const twice = nameThatIsThereTwice(text);
  if (twice !== undefined) throw bad(`${twice.slice(0, 50)} was sent more than once.`);
  return { ...value };
}

/** Of the outermost object of a text that is valid JSON; JSON.parse keeps the last value without a word. */
export function nameThatIsThereTwice(json: string): string | undefined {
  const names = new Set<string>();
  let depth = 0;
  for (const [token, colon] of json.matchAll(/[[\]{}]|"(?:[^"\\]|\\.)*"(\s*:)?/g)) {
    if (token === '{' || token === '[') depth += 1;
    else if (token === '}' || token === ']') depth -= 1;
    else if (depth === 1 && colon !== undefined) {
      const name = JSON.parse(token.slice(0, -colon.length)) as string;
      if (names.has(name)) return name;
      names.add(name);
    }
  }
  return undefined;
}

const bad = (say: string): OauthRefusal => new OauthRefusal('invalid_request', say);
