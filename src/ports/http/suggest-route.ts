import { findNearest, type OperationValidators } from '../../contract/index.ts';
import type { FindTarget } from './find-operation.ts';

/** What people write where they mean a family of the API. */
const OTHER_WORDS: Readonly<Record<string, string>> = {
  send: 'emails',
  mail: 'emails',
  message: 'emails',
  messages: 'emails',
  keys: 'api-keys',
  apikeys: 'api-keys',
  campaigns: 'broadcasts',
};

const PATH_CHARS_MAX = 200;

/** Returns a function that suggests the route that was meant by an unknown path: ` Did you mean POST /emails?`, or nothing. */
export function createRouteSuggestion(
  operations: Iterable<OperationValidators>,
  find: FindTarget,
): (method: string, url: string) => string {
  const families = [...new Set([...operations].map(({ path }) => path.split('/')[1] ?? ''))];
  return (method, url) => {
    const path = url.split(/[?#]/, 1)[0] ?? '';
    if (path.length > PATH_CHARS_MAX || path.includes('%')) return '';
    // The id of such a path is most often a variable that was empty.
    if (/[^/]\/\/+[^/]/.test(path)) return ' The path has an empty segment; is an id missing?';
    const [first = '', ...others] = path
      .toLowerCase()
      .replace(/^\/(?:api\/)?v\d+(?=\/)/, '')
      .split('/')
      .filter((segment) => segment !== '' && segment !== '.' && segment !== '..');
    if (first === '') return '';
    const family = OTHER_WORDS[first] ?? (families.includes(first) ? first : findNearest(first, families));
    if (family === undefined) return '';
    const meant = `/${[family, ...others].join('/')}`;
    const target = find(method, meant);
    // A suggestion that repeats what was sent would be no help.
    if (target === undefined || meant === path) return '';
    return ` Did you mean ${target.operation ? `${method} ` : ''}${meant}?`;
  };
}
