import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { nextTurn, pauseFor } from '../clock.ts';
import { createSemaphore } from '../limits/index.ts';
import { refuse } from '../refusal.ts';

const derive = promisify(argon2);

export interface PasswordCost {
  /** In KiB. */
  memory: number;
  passes: number;
}

/** RFC 9106 leaves the choice open; this is the least that OWASP asks for: 19 MiB and two passes. */
const COST: PasswordCost = { memory: 19_456, passes: 2 };
const SALT_BYTES = 16;
const TAG_BYTES = 32;

/**
 * Each hash takes the memory of COST and a thread of the pool, which also signs mail. One at a time leaves a core free
 * on a machine that has two.
 */
const AT_ONCE = 1;
/** About two seconds of work; each waiting call may hold a password of 4096 characters. */
const WAITING_MAX = 40;
const RETRY_AFTER_SECONDS = 5;

/** The reason for a hash. A flood of new passwords, as in sign-ups, must not keep people from signing in. */
type Purpose = 'to keep' | 'to compare';

/** Rests as long as it worked while others wait, so that half of the time remains for other work. */
const executor = createSemaphore(AT_ONCE, ({ tookMs, isWaiting }) => (isWaiting ? pauseFor(tookMs) : nextTurn()));

/**
 * Bounds memory and processor time, however many people sign in. When too many calls wait for the same purpose, the
 * next one is refused, before anything is read about the account.
 */
async function inTurn<T>(purpose: Purpose, work: () => Promise<T>): Promise<T> {
  if (executor.countWaiting(purpose) >= WAITING_MAX) {
    throw refuse('service_unavailable', {
      say: `Too many passwords are being checked; try again in ${RETRY_AFTER_SECONDS} seconds.`,
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    });
  }
  return executor.run(work, { tenant: purpose });
}

interface Parameters extends PasswordCost {
  nonce: Buffer;
  tagLength: number;
}

/** RFC 8265 §4: two keyboards may write one password in different forms of Unicode. */
const deriveTag = (purpose: Purpose, password: string, parameters: Parameters): Promise<Buffer> =>
  inTurn(purpose, () => derive('argon2id', { message: password.normalize('NFC'), parallelism: 1, ...parameters }));

export interface Passwords {
  /** argon2id in the usual text form, with its parameters. */
  hash(password: string): Promise<string>;
  /** Takes as long without a hash, and returns false, so that the time does not reveal whether there is one. */
  matches(password: string, hash: string | null): Promise<boolean>;
}

/** The cost applies to new hashes; no setting changes it. Stored hashes are checked at the cost that they name. */
export function createPasswords({ memory, passes }: PasswordCost = COST): Passwords {
  const makeHash = async (purpose: Purpose, password: string): Promise<string> => {
    const nonce = randomBytes(SALT_BYTES);
    const tag = await deriveTag(purpose, password, { memory, passes, nonce, tagLength: TAG_BYTES });
    return `$argon2id$v=19$m=${memory},t=${passes},p=1$${plainBase64(nonce)}$${plainBase64(tag)}`;
  };
  return {
    hash: (password) => makeHash('to keep', password),
    async matches(password, stored) {
      if (stored !== null) return isPassword(password, stored);
      await makeHash('to compare', password);
      return false;
    },
  };
}

const HASH = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=1\$([\w+/]+)\$([\w+/]+)$/;

async function isPassword(password: string, hash: string): Promise<boolean> {
  const [, memory, passes, salt = '', tag = ''] = HASH.exec(hash) ?? [];
  const expected = Buffer.from(tag, 'base64');
  if (expected.length === 0) throw new Error('a stored password has an unknown format');
  const nonce = Buffer.from(salt, 'base64');
  const parameters = { memory: Number(memory), passes: Number(passes), nonce, tagLength: expected.length };
  return timingSafeEqual(await deriveTag('to compare', password, parameters), expected);
}

const plainBase64 = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '');
