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

/**
 * A pass, good for a minute, that every reader of the instance key can write: a command on the machine asks its own server as an operator
 * by it, and no token has to be made or kept. It is sent to the listener of this machine alone.
 */
export function writeMachinePass({ clock, secrets }: Held): string {
  const at = String(clock.now());
  return `${PASS_PREFIX}${at}_${secrets.mac(PURPOSE, Buffer.from(at)).toString('base64url')}`;
}

export function createMachineAuthentication({
  clock,
  secrets,
}: Held): (token: string) => Promise<Identity<Extract<Actor, { kind: 'operator' }>>> {
  return (token) => {
    const [at = '', ...rest] = token.slice(PASS_PREFIX.length).split('_');
    const given = Buffer.from(rest.join('_'), 'base64url');
    const isOfNow = /^\d{1,15}$/.test(at) && Math.abs(clock.now() - Number(at)) <= MINUTE_MS;
    const isPossible = isOfNow && given.length === MAC_BYTES;
    // A key that was replaced has perhaps leaked: it reads links in old mail, and opens no session.
    const macs = isPossible ? secrets.standingMacs(PURPOSE).map((mac) => mac(Buffer.from(at))) : [];
    if (!macs.some((mac) => timingSafeEqual(mac, given)))
      throw refuse('invalid_api_key', { say: 'The pass of the machine is not valid.' });
    return Promise.resolve({
      teamId: null,
      actor: { kind: 'operator', operatorId: ID, name: 'a command on the machine' },
    });
  };
}
