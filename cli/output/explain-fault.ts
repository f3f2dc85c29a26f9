import { ApiFault, CredentialsFault, NoAnswer } from '../client/index.ts';
import { clean } from './clean.ts';
import { CliFault } from './cli-fault.ts';
import { EXIT, type Ending } from './exit-codes.ts';
import { sayRefused, type KeyInUse } from './key-advice.ts';
import { meantBy } from './nearest.ts';
import { nextStep } from './next-steps.ts';

export interface Explanation {
  lines: string[];
  exitCode: number;
}

/** Names what was typed instead of the fields that the API names. */
export type Translate = (message: string, paths: readonly string[]) => string;

/** The cause first, then what to type next; undefined for a defect of ours, which deserves its stack trace. */
export function explainFault(
  error: unknown,
  inWordsOf: Translate = (message) => message,
  key?: KeyInUse,
): Explanation | undefined {
  if (error instanceof CliFault) return { lines: error.message.split('\n').map(clean), exitCode: error.exitCode };
  if (error instanceof CredentialsFault) {
    return { lines: [clean(error.message)], exitCode: error.isMisuse ? EXIT.usage : EXIT.auth };
  }
  if (error instanceof NoAnswer) return { lines: explainSilence(error), exitCode: EXIT.unreachable };
  if (error instanceof ApiFault)
    return { lines: explainRefusal(error, inWordsOf, key), exitCode: EXIT[endingOf(error)] };
  return undefined;
}

/** A 403 is about the key or about what was asked; its name says which. */
const OF_THE_KEY: readonly string[] = ['invalid_permission', 'restricted_api_key', 'suspended_api_key'];

function endingOf({ status, body }: ApiFault): Ending {
  if (status === 401 || (status === 403 && OF_THE_KEY.includes(body.name))) return 'auth';
  if (status === 404) return 'notFound';
  if (status === 429) return 'limit';
  return status >= 500 ? 'server' : 'refused';
}

function explainSilence(fault: NoAnswer): string[] {
  const doubt = fault.isInDoubt
    ? ['The request may have been carried out all the same; look before you repeat it.']
    : [];
  return [clean(`${fault.message} Next: ${fault.next}`), ...doubt];
}

function explainRefusal(fault: ApiFault, inWordsOf: Translate, key: KeyInUse | undefined): string[] {
  const { name, message, errors = [] } = fault.body;
  if (name === 'invalid_api_key') return [clean(sayRefused(key))];
  const next = nextStep(fault, key) ?? suggest(message);
  const paths = errors.map((error) => error.path);
  const cause = `${inWordsOf(message, paths).replace(/\.?$/, '')} (${name}).${next === undefined ? '' : ` ${next}`}`;
  // A single field's message is the message of the whole; twice it would only look like two faults.
  const isSaid = ({ path, message: said }: { path: string; message: string }): boolean =>
    message.endsWith(said.startsWith(`${path}: `) ? said.slice(path.length + 2) : said);
  const fields = errors.length === 1 && errors.every(isSaid) ? [] : errors;
  return [clean(cause), ...fields.map((field) => clean(`  ${inWordsOf(inWords(field), paths)}`))];
}

function suggest(message: string): string | undefined {
  const meant = meantBy(message);
  return meant === undefined ? undefined : `Did you mean ${meant}?`;
}

/** Most messages begin with the field already. */
const inWords = ({ path, message }: { path: string; message: string }): string =>
  message.startsWith(path) ? message : `${path}: ${message}`;
