import { timingSafeEqual } from 'node:crypto';
import { refuse } from '../../platform/refusal/index.ts';
import type { Store } from '../../platform/store/index.ts';
import type { Actor, Identity } from '../access/index.ts';

/** What no other credential begins with. */
export const PASS_PREFIX = 'rkmp_';
const PURPOSE = 'pass of the machine';
const MINUTE_MS = 60_000;
/** Bytes of a mac. */
const MAC_BYTES = 32;
/** No operator has it. */
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
    // A key that was replaced has perhaps leaked: it reads links in old mail, and opens no session.
    const macs = isPossible ? secrets.standingMacs(PURPOSE).map((mac) => mac(Buffer.from(claim))) : [];
    if (!macs.some((mac) => timingSafeEqual(mac, given)))
      throw refuse('invalid_api_key', { say: 'The pass of the machine is not valid.' });
    const typedBy = Buffer.from(name, 'hex').toString();
    return Promise.resolve({
      teamId: null,
      actor: { kind: 'operator', operatorId: ID, name: typedBy || 'a command on the machine', isOfMachine: true },
    });
  };
}

/** The time in milliseconds, and the name of the account in hexadecimal. */
const CLAIM = new RegExp(`^(\\d{1,15})\\.((?:[0-9a-f]{2}){0,${NAME_BYTES_MAX}})$`);
