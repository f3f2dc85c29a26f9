import { refuse, notFound } from '../../platform/refusal.ts';
import { hashToken, newToken } from '../../platform/secrets/index.ts';
import type { Store } from '../../platform/store.ts';
import { insertOperator, findOperatorByHash, listOperators, setRevoked, type OperatorRow } from './operators.store.ts';
import type { Actor, Identity } from '../access/index.ts';
import { timingSafeEqual } from 'node:crypto';

/** Prefix of the tokens of operators, which no other credential has. */
export const OPERATOR_PREFIX = 'rkop_';

/** Creates the check of tokens. A revoked token is refused by the very next request. */
export function createOperatorAuthentication(
  store: Store,
): (token: string) => Promise<Identity<Extract<Actor, { kind: 'operator' }>>> {
  const find = store.db.memo(['operators'], (tokenHash) => findOperatorByHash(store.db, tokenHash));
  return async (token) => {
    const found = await find(hashToken(token));
    if (!found) throw refuse('invalid_api_key', { say: 'The operator’s token is not valid.' });
    if (found.revoked_at !== null) {
      throw refuse('restricted_api_key', { status: 403, say: 'This operator’s token has been revoked.' });
    }
    return { teamId: null, actor: { kind: 'operator', operatorId: found.id, name: found.name } };
  };
}

const SHOWN_CHARS = 12;
const NAME_CHARS_MAX = 100;

/** Makes an operator. The token is returned only once. */
export async function createOperator(
  store: Store,
  wanted: string,
): Promise<{ id: string; name: string; token: string }> {
  const name = wanted.trim();
  if (name === '' || name.length > NAME_CHARS_MAX || /[\p{Cc}\p{Zl}\p{Zp}]/u.test(name)) {
    throw refuse('validation_error', {
      status: 422,
      say: `The name of an operator must be one line of 1 to ${NAME_CHARS_MAX} characters; got ${name.length}.`,
    });
  }
  const token = newToken(OPERATOR_PREFIX);
  const row = {
    id: store.ids.uuid(),
    name,
    token_prefix: token.slice(0, SHOWN_CHARS),
    created_at: store.clock.now(),
  };
  await store.db.tx((tx) => insertOperator(tx, row, hashToken(token)));
  return { id: row.id, name, token };
}

/** Prefix of the machine's own passes, which no other credential has. */
export const PASS_PREFIX = 'rkmp_';
const PURPOSE = 'pass of the machine';
const MINUTE_MS = 60_000;
/** Bytes of a mac. */
const MAC_BYTES = 32;
/** The id of the machine's pass, which no operator has. */
const ID = '00000000-0000-0000-0000-000000000000';

type Held = Pick<Store, 'clock' | 'secrets'>;

/** Maximum length of the name of an account, in bytes. */
const NAME_BYTES_MAX = 256;

/**
 * Makes a pass that is valid for one minute. Every reader of the instance key can make one: a command on the machine
 * uses it to call its own server as an operator, so no token has to be created or stored. It is sent only to the
 * listener of this machine. `typedBy` is the account that the audit log names.
 */
export function writeMachinePass({ clock, secrets }: Held, typedBy: string | null = null): string {
  const name = Buffer.from(typedBy ?? '').subarray(0, NAME_BYTES_MAX);
  const claim = `${clock.now()}.${name.toString('hex')}`;
  return `${PASS_PREFIX}${claim}_${secrets.mac(PURPOSE, Buffer.from(claim)).toString('base64url')}`;
}

export function createMachineAuthentication({
  clock,
  secrets,
}: Held): (token: string) => Promise<Identity<Extract<Actor, { kind: 'operator' }>>> {
  return (token) => {
    const [claim = '', ...remaining] = token.slice(PASS_PREFIX.length).split('_');
    const given = Buffer.from(remaining.join('_'), 'base64url');
    const [, at = '', name = ''] = CLAIM.exec(claim) ?? [];
    const isOfNow = at !== '' && Math.abs(clock.now() - Number(at)) <= MINUTE_MS;
    const isPossible = isOfNow && given.length === MAC_BYTES;
    // A key that was replaced may have leaked: it still reads links in old mail, but opens no session.
    const macs = isPossible ? secrets.currentMacs(PURPOSE).map((mac) => mac(Buffer.from(claim))) : [];
    if (!macs.some((mac) => timingSafeEqual(mac, given)))
      throw refuse('invalid_api_key', { say: 'The credential of the machine is not valid.' });
    const typedBy = Buffer.from(name, 'hex').toString();
    return Promise.resolve({
      teamId: null,
      actor: { kind: 'operator', operatorId: ID, name: typedBy || 'a command on the machine', isOfMachine: true },
    });
  };
}

/** The time in milliseconds, and the name of the account in hexadecimal. */
const CLAIM = new RegExp(`^(\\d{1,15})\\.((?:[0-9a-f]{2}){0,${NAME_BYTES_MAX}})$`);

/** Finds the active operator with this id or name; a name that several have matches none. */
export async function findOperator(store: Store, idOrName: string): Promise<OperatorRow> {
  const inForce = (await listOperators(store.db)).filter((row) => row.revoked_at === null);
  const found = inForce.filter((row) => row.id === idOrName.toLowerCase() || row.name === idOrName);
  const [only] = found;
  if (!only || found.length > 1) throw notFound(`One operator in force called ${JSON.stringify(idOrName)}`);
  return only;
}

/** Ends the token for good. */
export async function revokeOperator(store: Store, idOrName: string): Promise<OperatorRow> {
  const row = await findOperator(store, idOrName);
  const at = store.clock.now();
  if (!(await setRevoked(store.db, row.id, at))) throw notFound('Operator');
  return { ...row, revoked_at: at };
}
