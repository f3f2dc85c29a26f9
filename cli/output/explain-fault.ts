import { ApiFault, CredentialsFault, NoAnswer, type Advice } from '../client/index.ts';
import { sayOnLine, type Say } from './advice.ts';
import { clean } from './clean.ts';
import { CliFault } from './cli-fault.ts';
import { EXIT, type Ending } from './exit-codes.ts';
import { adviceFor } from './fault-advice.ts';
import { renew, sayRefused, type KeyInUse } from './key-advice.ts';
import { meantBy } from './nearest.ts';

export interface Explanation {
  lines: string[];
  exitCode: number;
}

/** Names what was typed instead of the fields that the API names. */
export type Translate = (message: string, paths: readonly string[]) => string;

interface Reader {
  /** Says options where the API says fields. */
  inWordsOf?: Translate | undefined;
  /** The key in use. */
  key?: KeyInUse | undefined;
  say?: Say;
}

/** The cause first, then what to do next; undefined for a defect of ours, which deserves its stack trace. */
export function explainFault(
  error: unknown,
  { inWordsOf = (message) => message, key, say = sayOnLine() }: Reader = {},
): Explanation | undefined {
  if (error instanceof CliFault)
    return { lines: withAdvice(error.message.split('\n'), error.advice, say), exitCode: error.exitCode };
  if (error instanceof CredentialsFault) {
    const advice = error.advice ? [error.advice] : [];
    return { lines: withAdvice([error.message], advice, say), exitCode: error.isMisuse ? EXIT.usage : EXIT.auth };
  }
  if (error instanceof NoAnswer) return { lines: explainSilence(error, say), exitCode: EXIT.unreachable };
  if (error instanceof ApiFault)
    return { lines: explainRefusal(error, { inWordsOf, key, say }), exitCode: EXIT[endingOf(error)] };
  return undefined;
}

/** What is advised stands behind the cause; a command ends its line. */
function withAdvice([cause = '', ...details]: readonly string[], advices: readonly Advice[], say: Say): string[] {
  const lines = [cause];
  let endsInCommand = false;
  for (const advice of advices) {
    const said = say(advice);
    if (said === undefined) continue;
    if (endsInCommand) lines.push(said);
    else lines[lines.length - 1] += ` ${said}`;
    endsInCommand = advice.command !== undefined;
  }
  return [...lines, ...details].map(clean);
}

/** A 403 is about the key or about what was asked; its name says which. */
const OF_THE_KEY: readonly string[] = ['invalid_permission', 'restricted_api_key', 'suspended_api_key'];

function endingOf({ status, body }: ApiFault): Ending {
  if (status === 401 || (status === 403 && OF_THE_KEY.includes(body.name))) return 'auth';
  if (status === 404) return 'notFound';
  if (status === 429) return 'limit';
  return status >= 500 ? 'server' : 'refused';
}

function explainSilence(fault: NoAnswer, say: Say): string[] {
  const doubt = fault.isInDoubt
    ? ['The request may have been carried out all the same; look before you repeat it.']
    : [];
  return [...withAdvice([fault.message], fault.advice, say), ...doubt];
}

function explainRefusal(
  fault: ApiFault,
  { inWordsOf, key, say }: { inWordsOf: Translate; key: KeyInUse | undefined; say: Say },
): string[] {
  const { name, message, errors = [] } = fault.body;
  if (name === 'invalid_api_key') return withAdvice([sayRefused(key)], [renew(key)], say);
  const advices = adviceFor(fault, key);
  const paths = errors.map((error) => error.path);
  const meant = advices.length === 0 ? suggest(message) : [];
  const cause = `${inWordsOf(message, paths).replace(/\.?$/, '')} (${name}).`;
  // A single field's message is the message of the whole; twice it would only look like two faults.
  const isSaid = ({ path, message: said }: { path: string; message: string }): boolean =>
    message.endsWith(said.startsWith(`${path}: `) ? said.slice(path.length + 2) : said);
  const fields = errors.length === 1 && errors.every(isSaid) ? [] : errors;
  const details = fields.map((field) => `  ${inWordsOf(inWords(field), paths)}`);
  return withAdvice([cause, ...details], [...advices, ...meant], say);
}

function suggest(message: string): Advice[] {
  const meant = meantBy(message);
  return meant === undefined ? [] : [{ words: `Did you mean ${meant}?` }];
}

/** Most messages begin with the field already. */
const inWords = ({ path, message }: { path: string; message: string }): string =>
  message.startsWith(path) ? message : `${path}: ${message}`;
