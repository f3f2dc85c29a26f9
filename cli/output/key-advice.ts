import { quoted, startOf, type Target } from '../client/index.ts';

/** Where a key came from and what it was for, to say which one is to be changed, and how. */
export type KeyInUse = Pick<Target, 'url' | 'keyFrom' | 'development'>;

const logIn = (key: KeyInUse | undefined): string =>
  key === undefined ? 'rasket login' : `rasket login --url ${quoted(key.url)}`;

export function sayRefused(key: KeyInUse | undefined): string {
  const which = key === undefined ? 'The API key' : `The API key in ${key.keyFrom}`;
  return `${which} was not accepted${key === undefined ? '' : ` by ${key.url}`} (invalid_api_key). ${renew(key)}`;
}

/** What gives another key than one that is not accepted. */
function renew(key: KeyInUse | undefined): string {
  if (key?.keyFrom === '--api-key' || key?.keyFrom === 'RASKET_API_KEY')
    return `Correct it there, or take it away and keep one with: ${logIn(key)}`;
  if (key?.development && key.keyFrom === key.development.file)
    return `Start that server again, which makes one that works: ${startOf(key.development.data)}`;
  return `Set one with: ${logIn(key)}`;
}

export const setOne = (key: KeyInUse | undefined): string => `Set one with: ${logIn(key)}`;

/** For a key that is good, and not allowed to. */
export const useAnother = (key: KeyInUse | undefined): string =>
  `Use another key${key === undefined ? '' : ` than that in ${key.keyFrom}`}: ${logIn(key)}, or --api-key`;
